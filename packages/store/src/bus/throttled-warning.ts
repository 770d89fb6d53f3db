/** A problem that begins within this time after a warning is only reported if it outlasts this time. */
const minIntervalMs = 60_000;
/** How often a lasting problem is reported. */
const repeatIntervalMs = 600_000;

/** Reports a recurring problem, such as a failing connection, without flooding the log. */
export class ThrottledWarning {
  readonly #warn: (message: string) => void;
  readonly #now: () => number;
  #lastWarningAt = Number.NEGATIVE_INFINITY;
  #isReported = false;

  constructor(warn: (message: string) => void, now: () => number = Date.now) {
    this.#warn = warn;
    this.#now = now;
  }

  /** Call it each time the problem occurs. */
  report(message: string): void {
    const now = this.#now();
    const interval = this.#isReported ? repeatIntervalMs : minIntervalMs;
    if (now - this.#lastWarningAt < interval) return;
    this.#lastWarningAt = now;
    this.#isReported = true;
    this.#warn(message);
  }

  /** Call it when the problem is solved. The message is only reported if the problem was. */
  resolve(message: string): void {
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#warn(message);
  }
}
