import { setImmediate as nextTurn } from "node:timers/promises";

/** Time that all callers together may use in one turn of the event loop. */
const budgetMs = 20;

/**
 * Limits how long many callers together block the event loop. It is not enough that each of them yields: a thousand
 * connections could still all write in the same turn.
 */
export class EventLoopBudget {
  #startedAt: number | undefined;
  /** True while work that was started in this turn is running. */
  #isBusy = false;

  /** Runs the work in a turn that has time left. Work that takes longer than a turn does not delay other work. */
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
    return !this.#isBusy && now - this.#startedAt <= budgetMs;
  }
}
