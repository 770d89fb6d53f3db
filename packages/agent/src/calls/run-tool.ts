import { callAfter } from "../event-loop.ts";
import { messageOf, partOfOne, textOf } from "../event-text.ts";
import { stoppedBy } from "../task/stop.ts";
import type { Tool, ToolContext } from "../tool.ts";

export type ToolRun =
  | { is: "returned"; value: unknown }
  | { is: "threw"; message: string }
  | { is: "timeout" }
  /** `ended`: it came to an end when it was told to; else nobody knows what it still does. */
  | { is: "stopped"; ended: boolean };

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
  let timedOut = false;
  let ended = false;
  const clear = callAfter(tool.timeoutMs, () => {
    timedOut = true;
    own.abort(new Error(`no result within ${tool.timeoutMs} ms`));
  });
  const progress = (message: string, fraction?: number): void => {
    if (!ended) context.progress(textOf(message), partOfOne(fraction));
  };
  let grace: NodeJS.Timeout | undefined;
  const abandoned = new Promise<"abandoned">((resolve) => {
    own.signal.addEventListener("abort", () => {
      grace = setTimeout(() => resolve("abandoned"), graceMs);
    });
  });
  if (signal.aborted) stop();
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
    if (outcome === "abandoned") return { is: "stopped", ended: false };
    if (signal.aborted) return { is: "stopped", ended: true };
    return outcome;
  } finally {
    ended = true;
    clear();
    clearTimeout(grace);
    signal.removeEventListener("abort", stop);
  }
}
