import type { StoreErrorCode } from "@deltawire/tasks";
import type { Connection } from "./connection.ts";

/*
 * What is SQLite's own: pragmas, error numbers and the marks of a file. The queries beside this file keep to what
 * PostgreSQL says too (upserts by ON CONFLICT, RETURNING), but for `?` and WITHOUT ROWID.
 */

/** Marks a file as ours, in its header: "dwst". */
export const applicationId = 0x64777374;

/** For a new or existing file, before its first transaction. */
export function prepareForWriting(db: Connection): void {
  // auto_vacuum only takes while the file is empty, so it stands first.
  db.execute(`
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA secure_delete = FAST;
  `);
}

/**
 * In WAL mode a commit is a write to the operating system, which outlives this process; FULL adds an fsync, which
 * outlives the machine, and covers all commits before it.
 */
export function setDurable(db: Connection, durable: boolean): void {
  db.execute(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
}

/**
 * What the work removes is not only given up but written over, so that it is in no unused page of the file either. FAST,
 * the usual mode, does so where it costs no write; without it, copies that SQLite left behind when it split a page stay.
 */
export function overwriting<Result>(db: Connection, work: () => Result): Result {
  db.execute("PRAGMA secure_delete = ON");
  try {
    return work();
  } finally {
    db.execute("PRAGMA secure_delete = FAST");
  }
}

export function fileMarks(db: Connection): {
  applicationId: number;
  version: number;
  tables: number;
} {
  return {
    applicationId: pragma(db, "application_id"),
    version: pragma(db, "user_version"),
    tables: db.get<{ n: number }>("SELECT count(*) AS n FROM sqlite_schema")?.n ?? 0,
  };
}

/** In the transaction that changes the schema. */
export function markFile(db: Connection, version: number): void {
  db.execute(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
}

/** Into a file that does not exist or is empty. Reads every page, so that a damaged file is not taken for a backup. */
export function backUpInto(db: Connection, path: string): void {
  db.run("VACUUM INTO ?", path);
}

/** Bytes of the pages that hold something. */
export function usedBytes(db: Connection): number {
  return (pragma(db, "page_count") - pragma(db, "freelist_count")) * pragma(db, "page_size");
}

/** Gives pages that hold nothing back to the file system; answers whether there may be more. */
export function shrink(db: Connection, pages: number): boolean {
  const before = pragma(db, "freelist_count");
  // As a prepared statement the pragma frees one page per step; exec runs it to its end.
  db.execute(`PRAGMA incremental_vacuum(${pages})`);
  const after = pragma(db, "freelist_count");
  // A file that another tool wrote anew may have no auto_vacuum: then nothing is ever given back.
  return after > 0 && after < before;
}

/** Moves the write-ahead log into the file and empties it. */
export function checkpoint(db: Connection): void {
  db.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

function pragma(
  db: Connection,
  name: "application_id" | "user_version" | "page_count" | "freelist_count" | "page_size",
): number {
  return db.get<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0;
}

/** The result codes of https://sqlite.org/rescode.html that a user can do something about. */
export function sqliteFault(error: unknown): StoreErrorCode | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  const code = Number(error.errcode);
  return extendedCodes[code] ?? primaryCodes[code & 0xff];
}

const primaryCodes: Record<number, StoreErrorCode> = {
  5: "store_locked", // BUSY
  8: "store_unreachable", // READONLY
  11: "store_corrupt", // CORRUPT
  13: "store_full", // FULL
  14: "store_unreachable", // CANTOPEN
  26: "store_corrupt", // NOTADB
};

const extendedCodes: Record<number, StoreErrorCode> = {
  522: "store_corrupt", // IOERR_SHORT_READ
  8458: "store_corrupt", // IOERR_CORRUPTFS
  // What a quota (EDQUOT) and a limit on file sizes (EFBIG) come as; FULL is for ENOSPC alone.
  778: "store_full", // IOERR_WRITE
  4874: "store_full", // IOERR_SHMSIZE
};
