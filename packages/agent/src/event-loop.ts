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
