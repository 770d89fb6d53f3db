/** Called once per tick. */
export interface TickListener {
  onTick(): void;
}

/**
 * One timer for all open streams. Streams count ticks instead of reading the clock for every chunk: 5,000 streams cost one
 * iteration over a set per second.
 */
export class Ticker {
  readonly #listeners = new Set<TickListener>();
  readonly #tickMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(tickMs = 1000) {
    this.#tickMs = tickMs;
  }

  add(listener: TickListener): void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => {
      for (const listener of this.#listeners) listener.onTick();
    }, this.#tickMs).unref();
  }

  remove(listener: TickListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
