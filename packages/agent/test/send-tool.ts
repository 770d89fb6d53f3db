import { defineTool, type AgentDefinition, type CallPolicy, type Tool } from "@deltawire/agent";
import { z } from "zod";
import { scriptedAgent, type Script } from "./runtime-fixture.ts";
import type { ScriptStep } from "./scripted-model.ts";

/** A tool that records its inputs. */
export function createSendTool(
  call: CallPolicy,
  overrides: Partial<Parameters<typeof defineTool>[0]> = {},
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
    ...(overrides as object),
  });
  return { tool, ran };
}

export const sendCalls = (...to: string[]): ScriptStep[] =>
  to.map((name) => ({ call: "send", args: { to: name } }));

export function createAgentWithTool(
  tool: Tool,
  script: Script,
  overrides: Partial<AgentDefinition> = {},
): ReturnType<typeof scriptedAgent> {
  return scriptedAgent(script, { tools: [tool], ...overrides });
}
