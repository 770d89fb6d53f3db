const intervalMs = 100;

/** Forwards the latest progress of a call at most ten times a second, since each report is stored and shown. */
export class ProgressThrottle {
  readonly #send: (message: string, fraction?: number) => void;
  #lastSentAt = -Infinity;
  #pending: [message: string, fraction: number | undefined] | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (message: string, fraction?: number) => void) {
    this.#send = send;
  }

  report(message: string, fraction: number | undefined): void {
    this.#pending = [message, fraction];
    if (this.#timer !== undefined) return;
    const delayMs = this.#lastSentAt + intervalMs - performance.now();
    if (delayMs <= 0) this.#flush();
    else this.#timer = setTimeout(() => this.#flush(), delayMs);
  }

  /** Sends the pending report. Must be called when the call has ended. */
  end(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending === undefined) return;
    const [message, fraction] = this.#pending;
    this.#pending = undefined;
    this.#lastSentAt = performance.now();
    this.#send(message, fraction);
  }
}
