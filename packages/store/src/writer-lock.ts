import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { sqliteFault } from "./sql/dialect.ts";

const retryMs = 20;

/**
 * The right to write to a store, held by one process at a time. It is a transaction on an empty database that is never
 * committed: SQLite locks the file on every platform, and the system lets go of the lock when the process ends, however
 * it ends. The store's own database is not locked, so that others may read it.
 */
export class WriterLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Undefined where another one holds it for longer than `timeoutMs`. */
  static async take(path: string, timeoutMs: number): Promise<WriterLock | undefined> {
    const until = performance.now() + timeoutMs;
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      while (!takes(database)) {
        if (performance.now() >= until) {
          database.close();
          return undefined;
        }
        await sleep(retryMs);
      }
    } catch (error) {
      database.close();
      throw error;
    }
    return new WriterLock(database);
  }

  release(): void {
    this.#database.close();
  }
}

function takes(database: DatabaseSync): boolean {
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE"); // without a journal file beside it
    return true;
  } catch (error) {
    if (sqliteFault(error) === "store_locked") return false;
    throw error;
  }
}
