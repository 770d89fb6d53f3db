import type { Placeholder } from "@deltawire/tasks/chats";
import { runInTurns } from "../event-loop.ts";
import { StreamedOutput } from "../calls/streamed-output.ts";
import type { StreamedBlock, Tool, ToolStream } from "../tool.ts";
import type { Vault } from "./vault.ts";

/**
 * A tool that says it wants no private values gets placeholders, as the model wrote them, and what it answers is told with
 * the values in it: the user reads it, and the model gets it masked again. Values that are new then are stored by `keep`
 * before; else the call fails. Every other tool is as it is.
 */
export function maskedTool(
  tool: Tool,
  vault: Vault,
  keep: (fresh: readonly Placeholder[]) => Promise<void>,
): Tool {
  if (tool.unmask !== false) return tool;
  const unmaskSteps = function* (text: string): Generator<void, string> {
    yield;
    return vault.unmask(text);
  };
  return {
    ...tool,
    check: (input) => tool.check(input),
    run: async (input, context) => {
      const masked = await runInTurns(
        eachText(input, (text) => vault.maskSteps(text)),
        context.signal,
      );
      const stream = new StreamedOutput({ blobs: context.blobs });
      let result: unknown;
      try {
        result = await tool.run(masked, { ...context, stream });
      } catch (error) {
        await passOn(stream, context.stream);
        throw error;
      } finally {
        stream.stop();
      }
      const shown = await runInTurns(eachText(result, unmaskSteps));
      await passOn(stream, context.stream);
      await vault.keepFresh(keep);
      return shown;
    },
  };

  /** What such a tool streams is shown when it has ended: values are filled in, and stored before they are shown. */
  async function passOn(from: StreamedOutput, to: ToolStream): Promise<void> {
    const { output, failure } = await from.end();
    if (failure !== undefined) throw failure;
    const blocks = (await runInTurns(eachText(output.block_list, unmaskSteps))) as StreamedBlock[];
    await vault.keepFresh(keep);
    for (const block of blocks) to.block(block);
  }
}

function* eachText(
  value: unknown,
  change: (text: string) => Generator<void, string>,
): Generator<void, unknown> {
  if (typeof value === "string") return yield* change(value);
  if (Array.isArray(value)) {
    const changed: unknown[] = [];
    for (const one of value) changed.push(yield* eachText(one, change));
    return changed;
  }
  if (!isPlain(value)) return value;
  const changed: [string, unknown][] = [];
  for (const [name, one] of Object.entries(value))
    changed.push([yield* change(name), yield* eachText(one, change)]);
  return Object.fromEntries(changed);
}

/** Bytes, dates and the like have no texts of their own. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
