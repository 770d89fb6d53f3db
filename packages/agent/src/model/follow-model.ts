import type { JsonObject, ResponseEvent, ResponsesRequest } from "@deltawire/wire";
import { withDataUrls } from "../log/blobs.ts";
import { messageOf } from "../event-text.ts";
import { ModelError, type Model, type RoundNotes } from "../model.ts";
import type { Failure } from "./model-waits.ts";
import { warningsOf } from "./round-notes.ts";
import { stoppedBy, throwIfStopped, unlessStopped } from "../task/stop.ts";
import type { RoundContext } from "./round-context.ts";

type Batch = readonly (ResponseEvent | JsonObject)[];

/** A model has this long, behind its last event, to tell what the reply took. */
const notesMs = 100;

/**
 * Hands on what the model says until `take` has enough, and tells in the task what else there is to tell of it. Stops when
 * the run does, whether or not the model listens to its signal.
 */
export async function followModel(
  run: RoundContext,
  model: Model,
  request: ResponsesRequest,
  take: (batch: Batch) => boolean | Promise<boolean>,
): Promise<void> {
  const { tree, signal } = run;
  const sent = await withDataUrls(request, tree.options.blobs);
  throwIfStopped(signal);
  let notes: RoundNotes | undefined;
  let fail: (error: unknown) => void = () => undefined;
  const stop = (): void => fail(stoppedBy(signal));
  const report = (told: RoundNotes): void => void (notes ??= told);
  const batches = model.stream(sent, signal, report)[Symbol.asyncIterator]();
  const next = (): Promise<IteratorResult<Batch>> =>
    new Promise((resolve, reject) => {
      fail = reject;
      batches.next().then(resolve, reject);
    });
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await next();
      throwIfStopped(signal);
      if (done === true) break;
      const taken = take(value);
      // No await for each batch of words.
      const isWhole = typeof taken === "boolean" ? taken : await taken;
      throwIfStopped(signal);
      if (!isWhole) continue;
      // It is whole now, also if the run is stopped meanwhile.
      if (notes === undefined) await endOf(next());
      break;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // Frees the connection; nothing waits for it.
    new Promise((resolve) => resolve(batches.return?.())).catch(() => undefined);
    if (notes !== undefined && !signal.aborted) tell(run, notes);
  }
}

/** What comes behind the end is not looked at. */
async function endOf(rest: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, notesMs)));
  await Promise.race([rest.catch(() => undefined), late]);
  clearTimeout(timer);
}

/** Every round has the same parameters: those that the server does not take are reported once. */
const sameInEveryRound = "parameter_dropped";

function tell(run: RoundContext, notes: RoundNotes): void {
  const { [sameInEveryRound]: dropped = 0, ...repairs } = notes.repairs ?? {};
  const { leftOut = [] } = notes;
  const isNews = dropped + leftOut.length > 0 && !run.hasToldDropped;
  run.hasToldDropped ||= isNews;
  const reported: RoundNotes = isNews
    ? { ...notes, repairs: { ...repairs, [sameInEveryRound]: dropped } }
    : { ...notes, repairs, leftOut: [] };
  for (const { code, message, ...more } of warningsOf(reported))
    run.task.warning(code, run.tree.eventText(message), more);
}

export function asModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError("model_failed", messageOf(error), { cause: error });
}

/** What a reply failed with that had begun. */
export function failedReply(code: string, message: string): ModelError {
  return new ModelError(code, message, { retryable: isPassing(code) });
}

/** Why a reply failed: the error of its response, or of an event that is an error itself. */
export function replyFailure(reply: JsonObject): { code: string; message: string } {
  const { code, message } = { ...reply, ...(reply["error"] as JsonObject | null | undefined) };
  return {
    code: typeof code === "string" && code !== "" ? code : "upstream_error",
    message: typeof message === "string" && message !== "" ? message : "the model failed",
  };
}

/** What asking again may mend. */
function isPassing(code: string): boolean {
  return /truncated|timeout|overloaded|rate_limit|unavailable|unreachable|server_error|upstream_error|reply_failed/.test(
    code,
  );
}

/** A server that said nothing at all was not there to be asked; half a reply is none of its absence. */
export function failureOf(error: ModelError, hasSpoken: boolean): Failure {
  return { error, isAway: !hasSpoken && !/truncated/.test(error.code) };
}

/** Tells that the model will be asked again, and waits until then. */
export async function waitFor(
  { task, tree, signal }: RoundContext,
  { error }: Failure,
  ms: number,
  attempt: number,
): Promise<void> {
  task.warning("model_asked_again", tree.eventText(error.message), { retry_in_ms: ms, attempt });
  let timer: NodeJS.Timeout | undefined;
  try {
    await unlessStopped(new Promise((resolve) => (timer = setTimeout(resolve, ms))), signal);
  } finally {
    clearTimeout(timer);
  }
}
