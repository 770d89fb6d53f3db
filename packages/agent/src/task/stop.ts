/** Why a run ends before it is done. It is the reason of an abort signal. */
export type Stop =
  | { why: "canceled"; by: string; reason?: string }
  | { why: "expired"; reason: string }
  /** The process ends or cannot write: nothing more is said, and another process goes on. */
  | { why: "left" };

export class Stopped extends Error {
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(`stopped: ${stop.why}`);
    this.name = "Stopped";
    this.stop = stop;
  }
}

export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw stoppedBy(signal);
}

export function stoppedBy(signal: AbortSignal): Stopped {
  const reason: unknown = signal.reason;
  return reason instanceof Stopped ? reason : new Stopped({ why: "canceled", by: "signal" });
}

/** Whether another process goes on with what this one was stopped in. */
export function isLeft(signal: AbortSignal): boolean {
  return signal.aborted && stoppedBy(signal).stop.why === "left";
}

/** Resolves with what it waits for, or throws as soon as the signal is aborted. */
export function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(stoppedBy(signal));
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(stoppedBy(signal));
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
