import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { StoreError } from "../error.ts";
import { acquireAdvisoryLock, findLockHolders, type AdvisoryLockOptions } from "./advisory-lock.ts";
import type { PostgresConnection } from "./connection.ts";

export interface ExclusiveLockOptions extends AdvisoryLockOptions {
  /** For error messages: the URL without password. */
  location: string;
  /** True: only prevents other processes from writing, and leaves the epoch unchanged. */
  readOnly: boolean;
  /** Called once if another process takes over after the connection of the lock was lost. Nothing can be written from then on. */
  onLost: (error: StoreError) => void;
}

const reconnectMs = 500;

/**
 * A lock that only one process can hold, as long as its connection lasts. If the connection is lost, for example by a restart of
 * the server, the lock is acquired again. If another process has acquired it in between, it is lost permanently: what this process
 * has in memory may be outdated.
 *
 * Each process that acquires it increments the epoch in the database. A process that was stopped or cut off while another
 * one took over has an earlier epoch, with which `assertCurrentEpoch` rejects its transactions.
 */
export class ExclusiveLock {
  readonly #options: ExclusiveLockOptions;
  #client: Client | undefined;
  #epoch: string | undefined;
  #acquiring: Promise<void> | undefined;
  #isReleased = false;
  #isLost = false;

  private constructor(options: ExclusiveLockOptions) {
    this.#options = options;
  }

  /** Throws a StoreError if another process holds the lock. The schema must exist. */
  static async acquire(options: ExclusiveLockOptions): Promise<ExclusiveLock> {
    const lock = new ExclusiveLock(options);
    await lock.assertHeld();
    return lock;
  }

  /** Resolves if this process holds the lock. Call it before each write. */
  async assertHeld(): Promise<void> {
    if (this.#client !== undefined) return;
    if (this.#isLost) throw this.#createInUseError();
    this.#acquiring ??= this.#acquire().finally(() => {
      this.#acquiring = undefined;
    });
    await this.#acquiring;
  }

  get isHeld(): boolean {
    return this.#client !== undefined;
  }

  /** Throws a StoreError if another process has acquired the lock since this one did. Call it in each transaction that writes. */
  async assertCurrentEpoch(db: PostgresConnection): Promise<void> {
    // The row stays locked until the end of the transaction, so that no process takes over before it is committed.
    const row = await db.get<{ value: string }>(
      "SELECT value FROM meta WHERE name = 'epoch' FOR SHARE",
    );
    if (row?.value === this.#epoch) return;
    // While the connection of the lock is being replaced, this process itself may have incremented it.
    await this.#acquiring;
    if (row?.value === this.#epoch) return;
    throw this.#lose();
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  async #acquire(): Promise<void> {
    const { location, readOnly } = this.#options;
    const client = await acquireAdvisoryLock(this.#options, "exclusive", (endedClient) =>
      this.#forget(endedClient),
    );
    if (client === undefined) {
      if (this.#epoch !== undefined) throw this.#lose();
      throw this.#createInUseError(await findLockHolders(this.#options));
    }
    try {
      const epoch = readOnly ? undefined : await incrementEpoch(client);
      if (this.#epoch !== undefined && Number(epoch) !== Number(this.#epoch) + 1)
        throw this.#lose();
      this.#epoch = epoch;
      if (this.#isReleased) throw new StoreError("store_failed", `${location} is closed`);
      this.#client = client;
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  #createInUseError(holders: readonly string[] = []): StoreError {
    const { location } = this.#options;
    const [users, advice] =
      holders.length > 1
        ? [`${holders.length} other processes`, "stop them"]
        : ["another process", "stop it"];
    const list = holders.length === 0 ? "" : `, ${holders.join(", ")}`;
    return new StoreError(
      "store_locked",
      `${location} is in use by ${users}${list}; ${advice}, or use another schema or database`,
    );
  }

  #forget(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    void this.#reconnect();
  }

  /** Acquires the lock again before another process does. */
  async #reconnect(): Promise<void> {
    while (this.#client === undefined && !this.#isReleased && !this.#isLost) {
      await this.assertHeld().catch(() => sleep(reconnectMs, undefined, { ref: false }));
    }
  }

  /** Returns the error for everything that is written from now on. */
  #lose(): StoreError {
    const error = this.#createInUseError();
    const client = this.#client;
    this.#client = undefined;
    void client?.end();
    if (!this.#isLost && !this.#isReleased) {
      this.#isLost = true;
      this.#options.onLost(error);
    }
    return error;
  }
}

async function incrementEpoch(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>(
    `INSERT INTO meta (name, value) VALUES ('epoch', '1')
      ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + 1)::text RETURNING value`,
  );
  return rows[0]?.value;
}
