import type { StoreErrorCode } from "@deltawire/tasks";
import { StoreError } from "./error.ts";
import { sqliteFault } from "./sql/dialect.ts";

/** What SQLite or the file system threw, as an error that tells the user of the store what to do. */
export function storeError(cause: unknown, path: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const code = sqliteFault(cause) ?? fileFault(cause) ?? "store_failed";
  const said = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(code, advice[code](path, said), { cause });
}

const advice: Record<StoreErrorCode, (path: string, said: string) => string> = {
  store_locked: (path, said) =>
    `${path} is held by another program (${said}): close what has it open for writing, then try again`,
  store_full: (path, said) =>
    `${path} cannot grow (${said}): the disk is full, or a quota or a limit on file sizes is reached. ` +
    "Free some space, or keep less (keep_days, max_mb). What is stored can still be read",
  store_corrupt: (path, said) =>
    `${path} is damaged (${said}): stop the program, move the file and its -wal and -shm aside, and ` +
    `put a backup in its place or start with an empty store. "sqlite3 FILE .recover" saves what is readable`,
  store_newer: (path, said) => `${path} was written by a later version (${said}): update this one`,
  store_unreachable: (path, said) =>
    `${path} cannot be opened or written (${said}): check that it is a file in a folder that this user ` +
    "may write to, or choose another path",
  store_failed: (path, said) => `${path} failed: ${said}`,
};

function fileFault(cause: unknown): StoreErrorCode | undefined {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return fileFaults[code];
}

const fileFaults: Record<string, StoreErrorCode> = {
  ENOSPC: "store_full",
  EDQUOT: "store_full",
  EFBIG: "store_full",
  EACCES: "store_unreachable",
  EPERM: "store_unreachable",
  EROFS: "store_unreachable",
  ENOENT: "store_unreachable",
  ENOTDIR: "store_unreachable",
  EISDIR: "store_unreachable",
  EEXIST: "store_unreachable",
  ELOOP: "store_unreachable",
  ENAMETOOLONG: "store_unreachable",
};
