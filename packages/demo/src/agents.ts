import { defineAgent, timeGroup, type Agent } from "@deltawire/agent";
import {
  drawPicture,
  failOnPurpose,
  getWeather,
  openPrivateNote,
  sendMessage,
  slowCount,
  writeReport,
} from "./demo-tools.ts";

/**
 * Returns agents for a gateway without configured ones. They use the demo model and show tools, approvals, references
 * and two levels of sub-agents.
 */
export function createDemoAgents(model: string): Agent[] {
  const messenger = defineAgent({
    name: "messenger",
    description: "Sends messages. Each one needs your approval.",
    instructions: "You send messages.",
    model,
    tools: [sendMessage],
  });
  const forecaster = defineAgent({
    name: "forecaster",
    description: "Knows the weather everywhere and can send forecasts through the messenger.",
    instructions: "You report the weather.",
    model,
    tools: [getWeather],
    agents: [messenger],
  });
  const assistant = defineAgent({
    name: "demo-agent",
    description: "Shows what an agent can do, without an API key.",
    instructions: "You help the user.",
    model,
    tools: [
      timeGroup(),
      getWeather,
      sendMessage,
      drawPicture,
      openPrivateNote,
      slowCount,
      writeReport,
      failOnPurpose,
    ],
    agents: [forecaster, messenger],
  });
  return [assistant, forecaster, messenger];
}
