const intervalMs = 100;

/** Hands on the latest progress of a call, ten times a second at the most: each report is stored and shown. */
export class ProgressThrottle {
  readonly #send: (message: string, fraction?: number) => void;
  #lastSent = -Infinity;
  #waiting: [message: string, fraction: number | undefined] | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (message: string, fraction?: number) => void) {
    this.#send = send;
  }

  report(message: string, fraction: number | undefined): void {
    this.#waiting = [message, fraction];
    if (this.#timer !== undefined) return;
    const wait = this.#lastSent + intervalMs - performance.now();
    if (wait <= 0) this.#flush();
    else this.#timer = setTimeout(() => this.#flush(), wait);
  }

  /** Sends what waits. To be called when the call has ended. */
  end(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting === undefined) return;
    const [message, fraction] = this.#waiting;
    this.#waiting = undefined;
    this.#lastSent = performance.now();
    this.#send(message, fraction);
  }
}
