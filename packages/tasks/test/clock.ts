/** A fake clock whose timers run when a test advances it. */
export class Clock {
  #now = 0;
  readonly #timers = new Map<object, { at: number; run: () => void }>();

  get now(): number {
    return this.#now;
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  readonly schedule = (ms: number, run: () => void): (() => void) => {
    const key = {};
    this.#timers.set(key, { at: this.#now + ms, run });
    return () => void this.#timers.delete(key);
  };

  /** Advances the clock and runs all timers that are due. */
  advance(ms = 0): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, timer]) => timer.at <= end);
      due.sort(([, a], [, b]) => a.at - b.at);
      const [first] = due;
      if (first === undefined) break;
      this.#timers.delete(first[0]);
      this.#now = Math.max(this.#now, first[1].at);
      first[1].run();
    }
    this.#now = end;
  }
}
