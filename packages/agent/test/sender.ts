import { defineTool, type AgentDefinition, type CallPolicy, type Tool } from "@deltawire/agent";
import { z } from "zod";
import { scriptedAgent, type Script } from "./run-kit.ts";
import type { Saying } from "./scripted-model.ts";

/** A tool that counts what it was run with. */
export function sender(
  call: CallPolicy,
  more: Partial<Parameters<typeof defineTool>[0]> = {},
): { tool: Tool; ran: unknown[] } {
  const ran: unknown[] = [];
  const tool = defineTool({
    name: "send",
    description: "Sends.",
    input: z.object({ to: z.string() }),
    approval: call,
    run: (input) => {
      ran.push(input);
      return "sent";
    },
    ...(more as object),
  });
  return { tool, ran };
}

export const send = (...to: string[]): Saying[] =>
  to.map((name) => ({ call: "send", args: { to: name } }));

export function agentWith(
  tool: Tool,
  script: Script,
  more: Partial<AgentDefinition> = {},
): ReturnType<typeof scriptedAgent> {
  return scriptedAgent(script, { tools: [tool], ...more });
}
