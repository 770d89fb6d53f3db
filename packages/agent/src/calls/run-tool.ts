import { setLongTimeout } from "../event-loop.ts";
import { getErrorMessage, clampFraction, safeToString } from "../event-text.ts";
import { getStopError } from "../task/stop-reason.ts";
import type { Tool, ToolContext } from "../tool.ts";

export type ToolRunResult =
  | { status: "returned"; value: unknown }
  | { status: "threw"; message: string }
  | { status: "timeout" }
  /** `hasEnded` is false if the tool did not react to the abort signal and may still be running. */
  | { status: "stopped"; hasEnded: boolean };

/** Time that a tool has to end after it was aborted. Process groups are killed within this time. */
const graceMs = 700;

/** Runs a tool with its timeout. Always resolves, even if the tool throws or never ends. */
export async function runTool(
  tool: Tool,
  input: unknown,
  context: Omit<ToolContext, "signal">,
  signal: AbortSignal,
): Promise<ToolRunResult> {
  const controller = new AbortController();
  const stop = (): void => controller.abort(getStopError(signal));
  signal.addEventListener("abort", stop, { once: true });
  let hasTimedOut = false;
  let hasEnded = false;
  const cancelTimeout = setLongTimeout(tool.timeoutMs, () => {
    hasTimedOut = true;
    controller.abort(new Error(`no result within ${tool.timeoutMs} ms`));
  });
  const progress = (message: string, fraction?: number): void => {
    if (!hasEnded) context.progress(safeToString(message), clampFraction(fraction));
  };
  let graceTimer: NodeJS.Timeout | undefined;
  const abandoned = new Promise<"abandoned">((resolve) => {
    controller.signal.addEventListener("abort", () => {
      graceTimer = setTimeout(() => resolve("abandoned"), graceMs);
    });
  });
  if (signal.aborted) stop();
  try {
    const work = (async () =>
      tool.run(input, { ...context, progress, signal: controller.signal }))();
    const outcome = await Promise.race([
      work.then(
        (value): ToolRunResult => ({ status: "returned", value }),
        (error: unknown): ToolRunResult => ({ status: "threw", message: getErrorMessage(error) }),
      ),
      abandoned,
    ]);
    // An aborted tool may still have completed its work.
    if (outcome !== "abandoned" && outcome.status === "returned") return outcome;
    if (hasTimedOut) return { status: "timeout" };
    if (outcome === "abandoned") return { status: "stopped", hasEnded: false };
    if (signal.aborted) return { status: "stopped", hasEnded: true };
    return outcome;
  } finally {
    hasEnded = true;
    cancelTimeout();
    clearTimeout(graceTimer);
    signal.removeEventListener("abort", stop);
  }
}
