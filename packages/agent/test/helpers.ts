import { defineAgent, type Agent, type AgentDefinition } from "@deltawire/agent";
import type { Script } from "./run-kit.ts";
import { scriptedModel, type Saying } from "./scripted-model.ts";

/** Asks these agents, all at once. */
export const help = (...names: string[]): Saying[] =>
  names.map((name) => ({
    call: "ask_for_help",
    args: { name, description: "", prompt: `Help, ${name}.` },
  }));

export function helper(name: string, script: Script, more: Partial<AgentDefinition> = {}): Agent {
  return defineAgent({
    name,
    description: `${name} helps`,
    instructions: `You are ${name}.`,
    model: scriptedModel(script),
    ...more,
  });
}
