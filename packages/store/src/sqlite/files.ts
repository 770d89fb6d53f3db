import { accessSync, chmodSync, constants, mkdirSync, realpathSync, statSync } from "node:fs";
import { existsSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** All files of a store are in the folder of its database and start with its name. */
export interface StoreFiles {
  folder: string;
  database: string;
  lock: string;
  blobs: string;
}

/** Resolves symbolic links, so that each database file has exactly one lock. */
export function resolveStoreFiles(path: string): StoreFiles {
  const absolutePath = resolve(path);
  const folder = existsSync(dirname(absolutePath))
    ? realpathSync(dirname(absolutePath))
    : dirname(absolutePath);
  const namedPath = join(folder, basename(absolutePath));
  const database = existsSync(namedPath) ? realpathSync(namedPath) : namedPath;
  return {
    folder: dirname(database),
    database,
    lock: `${database}-lock`,
    blobs: `${database}-blobs`,
  };
}

/** Returns true if the folder was created. The permissions of an existing folder are not changed. */
export function createFolder(path: string): boolean {
  return mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined;
}

/** Returns false if the file belongs to another user and cannot be restricted to its owner. */
export function createPrivateFile(path: string): boolean {
  // Existing files are never opened here: POSIX locks belong to the process, so closing the file would drop the locks
  // that SQLite has on it.
  try {
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (getSystemErrorCode(error) !== "EEXIST") throw error;
    return restrictToOwner(path);
  }
}

export function restrictToOwner(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (process.platform === "win32" || !stats?.isFile() || (stats.mode & 0o077) === 0) return true;
  try {
    chmodSync(path, 0o600);
    return true;
  } catch (error) {
    if (getSystemErrorCode(error) !== "EPERM") throw error;
    return false;
  }
}

/** Returns the error if an existing database is not writable. Undefined if it is writable or does not exist. */
export function findWriteError({ folder, database }: StoreFiles): unknown {
  if (!existsSync(database)) return undefined;
  try {
    accessSync(folder, constants.W_OK);
    accessSync(database, constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Makes renames and new files in this folder durable. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return; // folders cannot be opened on Windows
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function getSystemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
