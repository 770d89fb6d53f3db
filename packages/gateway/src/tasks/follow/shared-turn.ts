import { setImmediate as nextTurn } from "node:timers/promises";

/** How much of one turn of the event loop all workers together may use before others are served. */
const shareMs = 20;

/**
 * Shares turns of the event loop among many workers. It is not enough that each yields: what a thousand connections have to
 * write at once would still be written in one turn.
 */
export class SharedTurn {
  #startedAt: number | undefined;
  /** Whether work that was started in this turn goes on. */
  #isBusy = false;

  /** Runs a piece of work in a turn that has time left. What takes longer than a turn keeps no other from starting. */
  async run(work: () => Promise<void>): Promise<void> {
    while (!this.#hasTime()) await nextTurn();
    this.#isBusy = true;
    try {
      await work();
    } finally {
      this.#isBusy = false;
    }
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (this.#startedAt === undefined) {
      this.#startedAt = now;
      setImmediate(() => {
        this.#startedAt = undefined;
        this.#isBusy = false;
      });
    }
    return !this.#isBusy && now - this.#startedAt <= shareMs;
  }
}
