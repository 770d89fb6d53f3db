import { defineAgent, defineTool, timeGroup, type Agent } from "@deltawire/agent";

/** Agents for a gateway without any: they show a tool, a question to a person and a sub-agent, on the demo model. */
export function demoAgents(model: string): Agent[] {
  const weather = defineTool<{ city: string }>({
    name: "get_weather",
    description: "The weather in a city. Invented: this is a demonstration.",
    input: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    effect: "pure",
    run: ({ city }) => {
      const text = JSON.stringify({ city, temperature: "15C", condition: "sunny" });
      const group = { type: "text", text, id: city, title: `The weather in ${city}` };
      return { message_content: [group], block_list: [group] };
    },
  });
  const message = defineTool<{ to: string; text: string }>({
    name: "send_message",
    description: "Sends a message to somebody. Only pretended, but a person is asked before it.",
    input: {
      type: "object",
      properties: { to: { type: "string" }, text: { type: "string" } },
      required: ["to", "text"],
      additionalProperties: false,
    },
    effect: "once",
    approval: "ask always",
    run: ({ to }) => `The message to ${to} would have been sent. This is a demonstration.`,
  });
  const forecaster = defineAgent({
    name: "forecaster",
    description: "Knows the weather everywhere.",
    instructions: "You tell the weather.",
    model,
    tools: [weather],
  });
  const assistant = defineAgent({
    name: "demo-agent",
    description: "Shows what an agent can do, without a key.",
    instructions: "You help with what you are asked.",
    model,
    tools: [timeGroup(), weather, message],
    agents: [forecaster],
  });
  return [assistant, forecaster];
}
