import type { DatabaseErrorCode } from "../error.ts";
import type { SqliteConnection } from "./connection.ts";

/*
 * SQLite-specific parts: pragmas, error codes and file headers. The queries in the other files also work in PostgreSQL
 * (ON CONFLICT, RETURNING), except for `?` and WITHOUT ROWID.
 */

/** Identifies the databases of Deltawire in the file header: "dwst". */
export const applicationId = 0x64777374;

/** Call it for a new or existing file before its first transaction. */
export function prepareForWriting(db: SqliteConnection): void {
  // auto_vacuum only works on an empty file, so it comes first.
  db.execute(`
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA secure_delete = FAST;
  `);
}

/**
 * In WAL mode a commit is a write to the operating system, which survives a crash of this process. FULL adds an fsync,
 * which survives a crash of the machine and covers all earlier commits.
 */
export function setDurable(db: SqliteConnection, durable: boolean): void {
  db.execute(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
}

/**
 * Overwrites the data that `work` deletes, so that no unused page contains it. FAST, the default, overwrites only if that costs no
 * extra write, and leaves copies that page splits have made.
 */
export function withSecureDelete<Result>(db: SqliteConnection, work: () => Result): Result {
  db.execute("PRAGMA secure_delete = ON");
  try {
    return work();
  } finally {
    db.execute("PRAGMA secure_delete = FAST");
  }
}

export function readFileHeader(db: SqliteConnection): {
  applicationId: number;
  version: number;
  tables: number;
} {
  return {
    applicationId: readPragma(db, "application_id"),
    version: readPragma(db, "user_version"),
    tables: db.get<{ n: number }>("SELECT count(*) AS n FROM sqlite_schema")?.n ?? 0,
  };
}

/** Call it in the transaction that changes the schema. */
export function writeFileHeader(db: SqliteConnection, version: number): void {
  db.execute(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
}

/** The target file must be empty or missing. Reads every page, so a damaged file is not accepted as a backup. */
export function backUpTo(db: SqliteConnection, path: string): void {
  db.run("VACUUM INTO ?", path);
}

/** Returns the size of the pages in use. */
export function getUsedBytes(db: SqliteConnection): number {
  return (
    (readPragma(db, "page_count") - readPragma(db, "freelist_count")) * readPragma(db, "page_size")
  );
}

/** Gives free pages back to the file system. Returns true if there may be more. */
export function vacuumIncrementally(db: SqliteConnection, pages: number): boolean {
  const freePagesBefore = readPragma(db, "freelist_count");
  // As a prepared statement the pragma frees one page per step; exec runs it completely.
  db.execute(`PRAGMA incremental_vacuum(${pages})`);
  const freePagesAfter = readPragma(db, "freelist_count");
  // A file that another tool rewrote may lack auto_vacuum; then no pages are freed.
  return freePagesAfter > 0 && freePagesAfter < freePagesBefore;
}

/** Writes the write-ahead log to the database and truncates the log. */
export function checkpoint(db: SqliteConnection): void {
  db.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

function readPragma(
  db: SqliteConnection,
  name: "application_id" | "user_version" | "page_count" | "freelist_count" | "page_size",
): number {
  return db.get<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0;
}

/** Classifies the result codes of https://sqlite.org/rescode.html that a user can act on. */
export function classifySqliteError(error: unknown): DatabaseErrorCode | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  const code = Number(error.errcode);
  return extendedCodes[code] ?? primaryCodes[code & 0xff];
}

const primaryCodes: Record<number, DatabaseErrorCode> = {
  5: "store_locked", // BUSY
  8: "store_unreachable", // READONLY
  11: "store_corrupt", // CORRUPT
  13: "store_full", // FULL
  14: "store_unreachable", // CANTOPEN
  26: "store_corrupt", // NOTADB
};

const extendedCodes: Record<number, DatabaseErrorCode> = {
  522: "store_corrupt", // IOERR_SHORT_READ
  8458: "store_corrupt", // IOERR_CORRUPTFS
  // Codes for an exceeded quota (EDQUOT) or file size limit (EFBIG); FULL is for ENOSPC only.
  778: "store_full", // IOERR_WRITE
  4874: "store_full", // IOERR_SHMSIZE
};
