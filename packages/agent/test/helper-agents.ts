import { defineAgent, type Agent, type AgentDefinition } from "@deltawire/agent";
import type { Script } from "./runtime-fixture.ts";
import { scriptedModel, type ScriptStep } from "./scripted-model.ts";

/** Calls these sub-agents in one round. */
export const askForHelpCalls = (...names: string[]): ScriptStep[] =>
  names.map((name) => ({
    call: "ask_for_help",
    args: { name, description: "", prompt: `Help, ${name}.` },
  }));

export function createHelperAgent(
  name: string,
  script: Script,
  overrides: Partial<AgentDefinition> = {},
): Agent {
  return defineAgent({
    name,
    description: `${name} helps`,
    instructions: `You are ${name}.`,
    model: scriptedModel(script),
    ...overrides,
  });
}
