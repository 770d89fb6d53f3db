import type { ChatChoices, ModelChoice } from "@deltawire/tasks/chats";

export function model(name: string, more: Partial<ModelChoice> = {}): ModelChoice {
  return {
    name,
    type: "chat",
    images: false,
    audio: false,
    files: false,
    tools: true,
    efforts: [],
    refuses: [],
    ...more,
  };
}

export function choices(more: Partial<ChatChoices> = {}): ChatChoices {
  return {
    models: [model("demo/clean"), model("demo/painter", { type: "image-gen" })],
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
      results: "never",
      turns: 20,
      time_zone: "UTC",
      exact_time: false,
      titles: true,
    },
    ...more,
  };
}
