import { truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "./error.ts";
import { storeError } from "./fault.ts";
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

  /**
   * Returns undefined if another process holds it for longer than `timeoutMs`. `onRepaired` is called if the file was
   * damaged and had to be emptied. Throws a StoreError that names the lock file.
   */
  static async take(
    path: string,
    timeoutMs: number,
    onRepaired: () => void,
  ): Promise<WriterLock | undefined> {
    try {
      return await WriterLock.#takeWithin(path, timeoutMs).catch((error: unknown) => {
        if (sqliteFault(error) !== "store_corrupt") throw error;
        // Nothing is ever stored in it, and nobody holds it, or the answer would have been that it is locked. It is emptied in
        // place: a new file would have a lock of its own beside that of a process that has the old one open.
        truncateSync(path);
        onRepaired();
        return WriterLock.#takeWithin(path, timeoutMs);
      });
    } catch (error) {
      throw lockError(error, path);
    }
  }

  static async #takeWithin(path: string, timeoutMs: number): Promise<WriterLock | undefined> {
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

function lockError(cause: unknown, path: string): StoreError {
  const { code, message } = storeError(cause, path);
  if (code === "store_full") return new StoreError(code, message, { cause });
  const said = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(
    "store_unreachable",
    `${path} cannot be used as the lock of its store (${said}): stop every program that uses the store, remove this ` +
      "file and start again. The database itself is not affected",
    { cause },
  );
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
