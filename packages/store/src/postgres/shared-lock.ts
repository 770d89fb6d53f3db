import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { StoreError } from "../error.ts";
import { acquireAdvisoryLock, findLockHolders, type AdvisoryLockOptions } from "./advisory-lock.ts";

export interface SharedLockOptions extends AdvisoryLockOptions {
  /** For error messages: the URL without password. */
  location: string;
}

const reconnectMs = 500;

/**
 * Keeps out processes that need exclusive access to the store, such as copies. If its connection is lost, for example by a restart of the
 * server, the lock is acquired again in the background: no write waits for it, because appends are protected by leases.
 */
export class SharedLock {
  readonly #options: SharedLockOptions;
  readonly #releasing = new AbortController();
  #client: Client | undefined;
  #reconnecting: Promise<void> | undefined;

  private constructor(options: SharedLockOptions) {
    this.#options = options;
  }

  /** Throws a StoreError if another process has exclusive access to the store. The schema must exist. */
  static async acquire(options: SharedLockOptions): Promise<SharedLock> {
    const lock = new SharedLock(options);
    if (await lock.#acquire(options.timeoutMs)) return lock;
    const [holder] = await findLockHolders(options);
    throw new StoreError(
      "store_locked",
      `${options.location} is in use by a process that needs exclusive access, such as "store copy"${holder === undefined ? "" : `: ${holder}`}; try again when it has ended`,
    );
  }

  async release(): Promise<void> {
    this.#releasing.abort();
    await this.#reconnecting;
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  async #acquire(timeoutMs: number): Promise<boolean> {
    let isLost = false;
    const client = await acquireAdvisoryLock(
      { ...this.#options, timeoutMs },
      "shared",
      (lostClient) => {
        isLost = true;
        if (this.#client !== lostClient) return;
        this.#client = undefined;
        this.#reconnecting = this.#reconnect();
      },
    );
    if (client === undefined) return false;
    // The connection was lost before this method continued.
    if (isLost)
      throw new StoreError("store_unreachable", `${this.#options.location} closed the connection`);
    this.#client = client;
    return true;
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#releasing;
    while (!signal.aborted) {
      if (await this.#acquire(0).catch(() => false)) return;
      await sleep(reconnectMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
