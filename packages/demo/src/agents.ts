import { defineAgent, timeGroup, type Agent } from "@deltawire/agent";
import {
  drawPicture,
  failOnPurpose,
  getWeather,
  openNote,
  sendMessage,
  slowCount,
  writeReport,
} from "./tools.ts";

/**
 * Agents for a gateway without any: they show tools, questions to a person, references and sub-agents two deep, on the
 * demo model.
 */
export function demoAgents(model: string): Agent[] {
  const messenger = defineAgent({
    name: "messenger",
    description: "Sends messages. A person is asked before each.",
    instructions: "You send messages.",
    model,
    tools: [sendMessage],
  });
  const forecaster = defineAgent({
    name: "forecaster",
    description: "Knows the weather everywhere, and has it told by the messenger.",
    instructions: "You tell the weather.",
    model,
    tools: [getWeather],
    agents: [messenger],
  });
  const assistant = defineAgent({
    name: "demo-agent",
    description: "Shows what an agent can do, without a key.",
    instructions: "You help with what you are asked.",
    model,
    tools: [
      timeGroup(),
      getWeather,
      sendMessage,
      drawPicture,
      openNote,
      slowCount,
      writeReport,
      failOnPurpose,
    ],
    agents: [forecaster, messenger],
  });
  return [assistant, forecaster, messenger];
}
