import { runTimeSliced } from "../event-loop.ts";
import { StreamedOutput } from "../calls/streamed-output.ts";
import type { StreamedBlock, Tool, ToolStream } from "../tool.ts";
import { maskAndStore } from "./mask-and-store.ts";
import type { PlaceholderStore } from "./placeholder-table.ts";
import type { Vault } from "./vault.ts";

/**
 * Wraps a tool with `unmask: false`: it receives placeholders, as the model wrote them, and the values are filled into its
 * result, which the user reads (the model receives it masked again). New values are stored before the tool runs and before its
 * result is returned; if storing fails, the call fails. Returns every other tool unchanged.
 */
export function createMaskedTool(tool: Tool, vault: Vault, store: PlaceholderStore): Tool {
  if (tool.unmask !== false) return tool;
  const unmaskSteps = function* (text: string): Generator<void, string> {
    yield;
    return vault.unmask(text);
  };
  return {
    ...tool,
    check: (input) => tool.check(input),
    run: async (input, context) => {
      const masked = await maskAndStore(vault, store, () =>
        runTimeSliced(
          mapTexts(input, (text) => vault.maskSteps(text)),
          context.signal,
        ),
      );
      const stream = new StreamedOutput({ blobs: context.blobs });
      let result: unknown;
      try {
        result = await tool.run(masked, { ...context, stream });
      } catch (error) {
        await forwardStream(stream, context.stream);
        throw error;
      } finally {
        stream.stop();
      }
      const unmasked = await runTimeSliced(mapTexts(result, unmaskSteps));
      await forwardStream(stream, context.stream);
      await vault.storeNewPlaceholders(store);
      return unmasked;
    },
  };

  /** Forwards the streamed blocks once the tool has ended: values are filled in, and stored before they are shown. */
  async function forwardStream(source: StreamedOutput, target: ToolStream): Promise<void> {
    const { output, failure } = await source.end();
    if (failure !== undefined) throw failure;
    const blocks = (await runTimeSliced(
      mapTexts(output.block_list, unmaskSteps),
    )) as StreamedBlock[];
    await vault.storeNewPlaceholders(store);
    for (const block of blocks) target.block(block);
  }
}

function* mapTexts(
  value: unknown,
  transform: (text: string) => Generator<void, string>,
): Generator<void, unknown> {
  if (typeof value === "string") return yield* transform(value);
  if (Array.isArray(value)) {
    const elements: unknown[] = [];
    for (const element of value) elements.push(yield* mapTexts(element, transform));
    return elements;
  }
  if (!isPlainObject(value)) return value;
  const entries: [string, unknown][] = [];
  for (const [name, element] of Object.entries(value))
    entries.push([yield* transform(name), yield* mapTexts(element, transform)]);
  return Object.fromEntries(entries);
}

/** False for bytes, dates and other objects that hold no strings to mask. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
