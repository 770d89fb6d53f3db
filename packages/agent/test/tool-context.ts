import type { Tool, ToolContext, ToolGroup } from "@deltawire/agent";
import { StreamedOutput } from "../src/calls/streamed-output.ts";

/** Creates the context of a tool call. Progress messages are collected in `progressMessages`. */
export function toolContext(
  overrides: Partial<ToolContext> = {},
): ToolContext & { readonly progressMessages: string[] } {
  const progressMessages: string[] = [];
  const blobs = { put: async () => "", get: async () => undefined };
  return {
    signal: new AbortController().signal,
    taskId: "task_1",
    callId: "call_1",
    idempotencyKey: "key_1",
    attempt: 1,
    blobs,
    stream: new StreamedOutput({ blobs }),
    progress: (message) => void progressMessages.push(message),
    progressMessages,
    ...overrides,
  };
}

export function getTool(group: ToolGroup, name: string): Tool {
  const tool = group.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`${group.name} has no ${name}`);
  return tool;
}

/** Checks the input as the runtime does, and runs the tool. */
export async function runTool(
  group: ToolGroup,
  name: string,
  input: unknown,
  context: ToolContext = toolContext(),
): Promise<unknown> {
  const tool = getTool(group, name);
  const checked = await tool.check(input);
  if (!checked.ok) throw new Error(`bad input: ${checked.problems.join("; ")}`);
  return tool.run(checked.value, context);
}
