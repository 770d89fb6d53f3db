import { callAfter } from "./call-after.ts";
import { stoppedBy } from "./stop.ts";
import type { Tool, ToolContext } from "./tool.ts";

export type ToolRun =
  | { is: "returned"; value: unknown }
  | { is: "threw"; message: string }
  | { is: "timeout" }
  | { is: "stopped" };

/** How long a tool may take to end after it was told to; a process group is killed within this. */
const graceMs = 700;

/** Runs a tool within its time. It always answers, whatever the tool does. */
export async function runTool(
  tool: Tool,
  input: unknown,
  context: Omit<ToolContext, "signal">,
  signal: AbortSignal,
): Promise<ToolRun> {
  const own = new AbortController();
  const stop = (): void => own.abort(stoppedBy(signal));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  let timedOut = false;
  let ended = false;
  const clear = callAfter(tool.timeoutMs, () => {
    timedOut = true;
    own.abort(new Error(`no result within ${tool.timeoutMs} ms`));
  });
  const progress = (message: string, fraction?: number): void => {
    if (!ended) context.progress(brief(textOf(message)), partOfOne(fraction));
  };
  let grace: NodeJS.Timeout | undefined;
  const abandoned = new Promise<"abandoned">((resolve) => {
    own.signal.addEventListener("abort", () => {
      grace = setTimeout(() => resolve("abandoned"), graceMs);
    });
  });
  try {
    const work = (async () => tool.run(input, { ...context, progress, signal: own.signal }))();
    const outcome = await Promise.race([
      work.then(
        (value): ToolRun => ({ is: "returned", value }),
        (error: unknown): ToolRun => ({ is: "threw", message: messageOf(error) }),
      ),
      abandoned,
    ]);
    // A tool that was told to stop may still have done all of its work.
    if (outcome !== "abandoned" && outcome.is === "returned") return outcome;
    if (timedOut) return { is: "timeout" };
    if (signal.aborted || outcome === "abandoned") return { is: "stopped" };
    return outcome;
  } finally {
    ended = true;
    clear();
    clearTimeout(grace);
    signal.removeEventListener("abort", stop);
  }
}

/** Whatever was thrown, as a text. */
export function messageOf(error: unknown): string {
  return textOf(error instanceof Error ? error.message : error);
}

const longestBrief = 2000;

/** A text for a field of an event, which is no place for a whole listing. */
export function brief(text: string): string {
  if (text.length <= longestBrief) return text;
  return `${wellFormed(text.slice(0, longestBrief - 1))}…`;
}

export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\u{FFFD}");
}

/** An object may have no way to be told as a text, or one that throws. */
function textOf(value: unknown): string {
  try {
    return wellFormed(String(value));
  } catch {
    return "something that has no text";
  }
}

function partOfOne(fraction: number | undefined): number | undefined {
  if (typeof fraction !== "number" || Number.isNaN(fraction)) return undefined;
  return Math.min(1, Math.max(0, fraction));
}
