import { StoreError, type DatabaseErrorCode } from "../error.ts";
import { classifySqliteError } from "./pragmas.ts";

/** Converts an error of SQLite or the file system to one whose message says what to do. */
export function toStoreError(cause: unknown, path: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const code = classifySqliteError(cause) ?? classifyFileError(cause) ?? "store_failed";
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(code, errorMessages[code](path, reason), { cause });
}

const errorMessages: Record<DatabaseErrorCode, (path: string, reason: string) => string> = {
  store_locked: (path, reason) =>
    `${path} is locked by another program (${reason}); close it, then try again`,
  store_full: (path, reason) =>
    `${path} cannot grow (${reason}): the disk is full, or a quota or file size limit is reached. ` +
    "Free some space, or reduce retention_days or max_mb. Stored data can still be read",
  store_corrupt: (path, reason) =>
    `${path} is damaged (${reason}); stop the program, move the file and its -wal and -shm files elsewhere, and ` +
    `restore a backup or start with an empty store. "sqlite3 FILE .recover" exports the readable data`,
  store_newer: (path, reason) =>
    `${path} was written by a newer version (${reason}); update Deltawire`,
  store_unreachable: (path, reason) =>
    `${path} cannot be opened or written (${reason}); check that it is a file in a folder that this user ` +
    "can write to, or choose another path",
  store_failed: (path, reason) => `${path} failed: ${reason}`,
};

function classifyFileError(cause: unknown): DatabaseErrorCode | undefined {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return fileErrorCodes[code];
}

const fileErrorCodes: Record<string, DatabaseErrorCode> = {
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
