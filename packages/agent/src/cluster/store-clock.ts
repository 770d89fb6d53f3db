import type { ClusterStore } from "./cluster-options.ts";

/** How often the clocks are compared. */
const syncMs = 10_000;

/**
 * The clock of a store that several processes share. Times in the log are read by processes on other machines, whose clocks may
 * differ.
 */
export class StoreClock {
  readonly #store: Pick<ClusterStore, "getTime">;
  readonly #localNow: () => number;
  #offsetMs = 0;
  #syncedAt = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<ClusterStore, "getTime">, localNow: () => number) {
    this.#store = store;
    this.#localNow = localNow;
  }

  /** Returns the time of the store in milliseconds; before the first `sync`, that of this process. */
  now(): number {
    return this.#localNow() + this.#offsetMs;
  }

  /** Reads the time of the store, at most every ten seconds. */
  async sync(): Promise<void> {
    const startedAt = performance.now();
    if (startedAt - this.#syncedAt < syncMs) return;
    const storeTime = await this.#store.getTime();
    const uncertaintyMs = (performance.now() - startedAt) / 2;
    const offsetMs = storeTime - (this.#localNow() - uncertaintyMs);
    // A smaller difference may be caused by the round trip.
    if (Math.abs(offsetMs - this.#offsetMs) > uncertaintyMs + 1) this.#offsetMs = offsetMs;
    this.#syncedAt = startedAt;
  }
}
