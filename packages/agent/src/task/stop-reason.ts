/** Why a run stops before it is complete. Part of the error with which the signal of the run is aborted. */
export type StopReason =
  | { type: "canceled"; by: string; reason?: string }
  | { type: "expired"; reason: string }
  /** The process is ending or cannot write the log. It writes nothing more; another process resumes the task. */
  | { type: "detached" };

export class StoppedError extends Error {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`stopped: ${reason.type}`);
    this.name = "StoppedError";
    this.reason = reason;
  }
}

export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw getStopError(signal);
}

export function getStopError(signal: AbortSignal): StoppedError {
  const reason: unknown = signal.reason;
  return reason instanceof StoppedError
    ? reason
    : new StoppedError({ type: "canceled", by: "signal" });
}

/** True if the run was stopped so that another process can resume it. */
export function isDetached(signal: AbortSignal): boolean {
  return signal.aborted && getStopError(signal).reason.type === "detached";
}

/** Settles like `work`, or rejects as soon as the signal is aborted. */
export function raceWithAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(getStopError(signal));
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(getStopError(signal));
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
