import type { JsonObject, ResponseEvent, ResponsesRequest } from "@deltawire/wire";
import { inlineBlobs } from "../blobs/inline-blobs.ts";
import { getErrorMessage } from "../event-text.ts";
import { ModelError, type Model, type RoundReport } from "../model.ts";
import type { ModelFailure } from "./model-retry.ts";
import { buildRoundWarnings } from "./round-warnings.ts";
import { getStopError, throwIfStopped, raceWithAbort } from "../task/stop-reason.ts";
import type { RoundContext } from "./round-context.ts";

type Batch = readonly (ResponseEvent | JsonObject)[];

/** How long to wait for the report of a model after its last event. */
const reportTimeoutMs = 100;

/**
 * Passes batches of events to `onBatch` until that returns true, and writes the model's report to the task as warnings. Throws
 * when the run is stopped, even if the model ignores its signal.
 */
export async function streamModel(
  context: RoundContext,
  model: Model,
  request: ResponsesRequest,
  onBatch: (batch: Batch) => boolean | Promise<boolean>,
): Promise<void> {
  const { tree, signal } = context;
  const inlinedRequest = await inlineBlobs(request, tree.options.blobs);
  throwIfStopped(signal);
  let roundReport: RoundReport | undefined;
  let fail: (error: unknown) => void = () => undefined;
  const stop = (): void => fail(getStopError(signal));
  const report = (received: RoundReport): void => void (roundReport ??= received);
  const batches = model.stream(inlinedRequest, signal, report)[Symbol.asyncIterator]();
  const readNext = (): Promise<IteratorResult<Batch>> =>
    new Promise((resolve, reject) => {
      fail = reject;
      batches.next().then(resolve, reject);
    });
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await readNext();
      throwIfStopped(signal);
      if (done === true) break;
      const batchResult = onBatch(value);
      // Awaiting a boolean would cost a microtask per batch.
      const isComplete = typeof batchResult === "boolean" ? batchResult : await batchResult;
      throwIfStopped(signal);
      if (!isComplete) continue;
      // The reply is complete, even if the run is stopped while waiting for the report.
      if (roundReport === undefined) await waitForEnd(readNext());
      break;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // Releases the connection without waiting for it.
    new Promise((resolve) => resolve(batches.return?.())).catch(() => undefined);
    if (roundReport !== undefined && !signal.aborted) reportWarnings(context, roundReport);
  }
}

/** Waits up to `reportTimeoutMs` for the end of the stream. Ignores events and errors until then. */
async function waitForEnd(rest: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, reportTimeoutMs)));
  await Promise.race([rest.catch(() => undefined), timeout]);
  clearTimeout(timer);
}

/** Reported once per task, because every round has the same parameters. */
const droppedParameterRepair = "parameter_dropped";

function reportWarnings(context: RoundContext, roundReport: RoundReport): void {
  const { [droppedParameterRepair]: droppedCount = 0, ...repairs } = roundReport.repairs ?? {};
  const { droppedOptions = [] } = roundReport;
  const isFirstReport =
    droppedCount + droppedOptions.length > 0 && !context.hasReportedDroppedOptions;
  context.hasReportedDroppedOptions ||= isFirstReport;
  const shownReport: RoundReport = isFirstReport
    ? { ...roundReport, repairs: { ...repairs, [droppedParameterRepair]: droppedCount } }
    : { ...roundReport, repairs, droppedOptions: [] };
  for (const { code, message, ...details } of buildRoundWarnings(shownReport))
    context.task.warning(code, context.tree.eventText(message), details);
}

export function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError("model_failed", getErrorMessage(error), { cause: error });
}

/** Creates the error of a reply that failed after it had started. */
export function createReplyError(code: string, message: string): ModelError {
  return new ModelError(code, message, { retryable: isTransient(code) });
}

/** Returns the error of a failed response, or of an `error` event. */
export function parseReplyFailure(reply: JsonObject): { code: string; message: string } {
  const { code, message } = { ...reply, ...(reply["error"] as JsonObject | null | undefined) };
  return {
    code: typeof code === "string" && code !== "" ? code : "upstream_error",
    message: typeof message === "string" && message !== "" ? message : "the model failed",
  };
}

/** True if a retry may succeed. */
function isTransient(code: string): boolean {
  return /truncated|timeout|overloaded|rate_limit|unavailable|unreachable|server_error|upstream_error|reply_failed/.test(
    code,
  );
}

/** A server that sent no output counts as unavailable; an incomplete reply shows that it is available. */
export function toModelFailure(error: ModelError, hasOutput: boolean): ModelFailure {
  return { error, isUnavailable: !hasOutput && !/truncated/.test(error.code) };
}

/** Writes a warning that the request will be retried, and waits for `ms`. */
export async function waitForRetry(
  { task, tree, signal }: RoundContext,
  { error }: ModelFailure,
  ms: number,
  attempt: number,
): Promise<void> {
  task.warning("model_retry_scheduled", tree.eventText(error.message), {
    retry_in_ms: ms,
    attempt,
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    await raceWithAbort(new Promise((resolve) => (timer = setTimeout(resolve, ms))), signal);
  } finally {
    clearTimeout(timer);
  }
}
