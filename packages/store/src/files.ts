import { accessSync, chmodSync, constants, mkdirSync, realpathSync, statSync } from "node:fs";
import { existsSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** Everything of a store lies beside its database, under names that begin with its name. */
export interface StoreFiles {
  folder: string;
  database: string;
  lock: string;
  blobs: string;
}

/** One file has one lock, by whatever links it is reached. */
export function storeFiles(path: string): StoreFiles {
  const given = resolve(path);
  const folder = existsSync(dirname(given)) ? realpathSync(dirname(given)) : dirname(given);
  const named = join(folder, basename(given));
  const database = existsSync(named) ? realpathSync(named) : named;
  return {
    folder: dirname(database),
    database,
    lock: `${database}-lock`,
    blobs: `${database}-blobs`,
  };
}

/** Answers whether it was missing. One that exists is left as open as its owner made it. */
export function makeFolder(path: string): boolean {
  return mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined;
}

/** Answers false where somebody else's file could not be closed to others. */
export function makeOwnFile(path: string): boolean {
  // A file that exists is never opened here: to close it again would drop the locks that SQLite holds on it, for
  // POSIX locks belong to the process and the file.
  try {
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return closeToOthers(path);
  }
}

export function closeToOthers(path: string): boolean {
  const is = statSync(path, { throwIfNoEntry: false });
  if (process.platform === "win32" || !is?.isFile() || (is.mode & 0o077) === 0) return true;
  try {
    chmodSync(path, 0o600);
    return true;
  } catch (error) {
    if (codeOf(error) !== "EPERM") throw error;
    return false;
  }
}

/** Why a database that exists cannot be written to; undefined where it can, or where there is none. */
export function writeRefusal({ folder, database }: StoreFiles): unknown {
  if (!existsSync(database)) return undefined;
  try {
    accessSync(folder, constants.W_OK);
    accessSync(database, constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A rename and a new file last when their folder is written. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return; // a folder cannot be opened there
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
