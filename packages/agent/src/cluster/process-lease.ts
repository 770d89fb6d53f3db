import type { ClusterStore } from "./cluster-options.ts";

export interface ProcessLeaseOptions {
  store: Pick<ClusterStore, "renewLease">;
  processId: string;
  leaseMs: number;
  /** Returns a monotonic time in milliseconds. */
  now: () => number;
}

/**
 * The lease with which this process holds its tasks. The store decides with its own clock whether it is valid; this class knows
 * how long it is certainly valid, without asking the store.
 */
export class ProcessLease {
  readonly #options: ProcessLeaseOptions;
  #validUntil = Number.NEGATIVE_INFINITY;
  #hasStarted = false;
  #hasLapsed = false;
  #renewing: Promise<void> | undefined;

  constructor(options: ProcessLeaseOptions) {
    this.#options = options;
  }

  /**
   * False if other processes may have claimed the tasks of this process. A margin is left for what happens between this check and
   * an effect that depends on it.
   */
  get isValid(): boolean {
    const { now, leaseMs } = this.#options;
    return !this.#hasLapsed && now() < this.#validUntil - leaseMs / 6;
  }

  /** True if the lease has expired since it started, and the loss of tasks has not been confirmed since. */
  get hasLapsed(): boolean {
    return this.#hasLapsed;
  }

  /** Must be called when the tasks that were lost by a lapse have been stopped. */
  confirm(): void {
    this.#hasLapsed = false;
  }

  /** Extends the lease. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<void> {
    const { store, processId, leaseMs, now } = this.#options;
    // The store's lease starts later than this, so it ends later too.
    const startedAt = now();
    const isContinued = await store.renewLease(processId, leaseMs);
    // The store may have compared the times before it waited for a lock, and extended the lease after it had expired.
    const isLate = now() >= this.#validUntil;
    this.#validUntil = startedAt + leaseMs;
    this.#hasLapsed ||= this.#hasStarted && (isLate || !isContinued);
    this.#hasStarted = true;
  }
}
