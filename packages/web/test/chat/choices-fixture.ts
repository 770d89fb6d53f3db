import type { ChatChoices, ModelChoice } from "@deltawire/tasks/chats";

export function createModelChoice(name: string, overrides: Partial<ModelChoice> = {}): ModelChoice {
  return {
    name,
    type: "chat",
    images: false,
    audio: false,
    files: false,
    tools: true,
    efforts: [],
    unsupported_options: [],
    ...overrides,
  };
}

export function createChatChoices(overrides: Partial<ChatChoices> = {}): ChatChoices {
  return {
    models: [
      createModelChoice("demo/clean"),
      createModelChoice("demo/painter", { type: "image-gen" }),
    ],
    upstreams: [{ name: "demo" }],
    agents: [{ name: "demo-agent", description: "Shows what it can", model: "demo/clean" }],
    tool_groups: ["web", "time"],
    skills: [],
    defaults: {
      model: "demo/clean",
      tool_groups: [],
      skills: [],
      options: {},
      limits: { rounds: 10 },
      result_approval: "never",
      turns: 20,
      time_zone: "UTC",
      message_times: false,
      titles: true,
    },
    ...overrides,
  };
}
