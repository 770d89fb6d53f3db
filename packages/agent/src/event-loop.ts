import { setImmediate } from "node:timers/promises";

/** Lets events that have arrived meanwhile be served. */
export const yieldToEventLoop = (): Promise<void> => setImmediate();

/** How long work may go on before others have a turn. */
const turnMs = 20;

/**
 * Runs work that is written as a generator to its end, in turns of the event loop of about 20 ms each. Throws the reason of
 * `signal` if it is aborted between two turns.
 */
export async function runInTurns<Result>(
  steps: Generator<void, Result>,
  signal?: AbortSignal,
): Promise<Result> {
  for (;;) {
    signal?.throwIfAborted();
    const end = performance.now() + turnMs;
    do {
      const { done, value } = steps.next();
      if (done === true) return value;
    } while (performance.now() < end);
    await yieldToEventLoop();
  }
}

/** Runs the same work in one turn, for texts that are known to be short. */
export function runAtOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** `setTimeout` counts to 24 days; what is to wait for longer it would call at once. */
const longestMs = 2 ** 31 - 1;

/** Calls back after a time of any length. The answer ends it. */
export function callAfter(ms: number, callback: () => void): () => void {
  const until = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const left = until - performance.now();
    timer =
      left > longestMs ? setTimeout(wait, longestMs) : setTimeout(callback, Math.max(0, left));
  };
  wait();
  return () => clearTimeout(timer);
}
