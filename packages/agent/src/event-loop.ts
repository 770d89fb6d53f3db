import { setImmediate } from "node:timers/promises";

/** Resolves in the next turn of the event loop, after pending I/O events were handled. */
export const yieldToEventLoop = (): Promise<void> => setImmediate();

/** Maximum time that a slice may block the event loop. */
const timeSliceMs = 20;

/**
 * Runs a generator to completion, in slices of about 20 ms between which the event loop handles other events. Rejects with
 * the reason of `signal` if it is aborted before a slice.
 */
export async function runTimeSliced<Result>(
  steps: Generator<void, Result>,
  signal?: AbortSignal,
): Promise<Result> {
  for (;;) {
    signal?.throwIfAborted();
    const end = performance.now() + timeSliceMs;
    do {
      const { done, value } = steps.next();
      if (done === true) return value;
    } while (performance.now() < end);
    await yieldToEventLoop();
  }
}

/** Runs a generator to its end without interruption. Only for input that is known to be short. */
export function runSync<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Longest delay of `setTimeout`, about 24 days; with a longer one it would fire immediately. */
const maxTimeoutMs = 2 ** 31 - 1;

/** `setTimeout` for delays of any length. Returns a function that clears the timer. */
export function setLongTimeout(ms: number, callback: () => void): () => void {
  const deadline = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const schedule = (): void => {
    const remainingMs = deadline - performance.now();
    timer =
      remainingMs > maxTimeoutMs
        ? setTimeout(schedule, maxTimeoutMs)
        : setTimeout(callback, Math.max(0, remainingMs));
  };
  schedule();
  return () => clearTimeout(timer);
}
