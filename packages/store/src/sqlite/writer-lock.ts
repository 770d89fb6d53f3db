import { truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../error.ts";
import { toStoreError } from "./to-store-error.ts";
import { classifySqliteError } from "./pragmas.ts";

const retryDelayMs = 20;

/**
 * The exclusive right to write to a store. Implemented as an uncommitted transaction on an empty database: SQLite locks
 * the file on every platform, and the operating system releases the lock when the process ends for any reason. The
 * database of the store is not locked, so that other processes can read it.
 */
export class WriterLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Returns undefined if another process does not release the lock within `timeoutMs`. `onRepaired` is called if the lock file
   * was damaged and has been emptied. Throws a StoreError that names the lock file if it cannot be used.
   */
  static async acquire(
    path: string,
    timeoutMs: number,
    onRepaired: () => void,
  ): Promise<WriterLock | undefined> {
    try {
      return await WriterLock.#acquireWithin(path, timeoutMs).catch((error: unknown) => {
        if (classifySqliteError(error) !== "store_corrupt") throw error;
        // The file never contains data, and no process has locked it: otherwise the error would be store_locked. It is
        // truncated in place, because another process may still have it open, and a new file would have a separate lock.
        truncateSync(path);
        onRepaired();
        return WriterLock.#acquireWithin(path, timeoutMs);
      });
    } catch (error) {
      throw toLockError(error, path);
    }
  }

  static async #acquireWithin(path: string, timeoutMs: number): Promise<WriterLock | undefined> {
    const deadline = performance.now() + timeoutMs;
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      while (!tryLock(database)) {
        if (performance.now() >= deadline) {
          database.close();
          return undefined;
        }
        await sleep(retryDelayMs);
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

function toLockError(cause: unknown, path: string): StoreError {
  const { code, message } = toStoreError(cause, path);
  if (code === "store_full") return new StoreError(code, message, { cause });
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(
    "store_unreachable",
    `${path} cannot be used as lock file (${reason}): stop every program that uses the store, delete this ` +
      "file and start again. The database is not affected",
    { cause },
  );
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE"); // without a journal file
    return true;
  } catch (error) {
    if (classifySqliteError(error) === "store_locked") return false;
    throw error;
  }
}
