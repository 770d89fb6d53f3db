import { existsSync, statSync } from "node:fs";
import { StoreError } from "../error.ts";
import type { RetentionOptions } from "../retention-options.ts";
import { createUnfinishedCopyError, type StoreTables, type TablesAccess } from "../copy/tables.ts";
import type { Store } from "../store.ts";
import { BlobFiles } from "./blob-files.ts";
import type { SqliteConnection } from "./connection.ts";
import { openForReading, openForWriting, openInMemory } from "./database.ts";
import {
  createFolder,
  createPrivateFile,
  findWriteError,
  resolveStoreFiles,
  syncFolder,
  type StoreFiles,
} from "./files.ts";
import { SqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";
import { deleteAllLeases } from "./leases.ts";
import { getUnfinishedCopy, SqliteTables } from "./sqlite-tables.ts";
import { toStoreError } from "./to-store-error.ts";
import { getWriter } from "./writer.ts";
import { WriterLock } from "./writer-lock.ts";

export interface OpenSqliteOptions extends RetentionOptions {
  /** The database file, or ":memory:". */
  path: string;
  readOnly: boolean;
  /** How long to wait for another process to release the lock, in milliseconds. */
  timeoutMs: number;
  now: () => number;
  warn: (message: string) => void;
}

/** Opens a store in a file. Opens it read-only if the file cannot be written. */
export async function openSqliteStore(options: OpenSqliteOptions): Promise<Store> {
  const { path, readOnly, warn } = options;
  if (path === ":memory:") return createStore(options, path, { db: openInMemory() });
  const files = resolveStoreFiles(path);
  try {
    const writeError = findWriteError(files);
    if (readOnly) return openReadOnly(options, files, "opened with readOnly");
    if (writeError === undefined) return await openWritable(options, files);
    const { message } = toStoreError(writeError, files.database);
    const readOnlyStore = openReadOnly(options, files, message);
    warn(`opened read-only: ${message}`);
    return readOnlyStore;
  } catch (error) {
    throw toStoreError(error, files.database);
  }
}

async function openWritable(options: OpenSqliteOptions, files: StoreFiles): Promise<Store> {
  const { timeoutMs, now, warn } = options;
  createFolder(files.folder);
  assertNotFolder(files.database);
  const privateFlags = [files.lock, files.database].map(createPrivateFile);
  const onRepaired = () => warn(`${files.lock} was damaged and has been reset`);
  const lock = await WriterLock.acquire(files.lock, timeoutMs, onRepaired);
  if (lock === undefined) throw createInUseError(files.database);
  try {
    const db = openForWriting(files.database, { timeoutMs, now });
    assertCopyFinished(db, files.database);
    deleteAllLeases(db);
    await syncFolder(files.folder);
    if (privateFlags.includes(false))
      warn(`${files.database} belongs to another user and is readable by others`);
    const blobs = new BlobFiles(files.blobs);
    return createStore(options, files.database, {
      db,
      blobFiles: blobs,
      onClose: () => lock.release(),
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openReadOnly(
  options: OpenSqliteOptions,
  files: StoreFiles,
  readOnlyReason: string,
): Store {
  const db = openForReading(files.database, options.timeoutMs);
  assertCopyFinished(db, files.database);
  const blobs = new BlobFiles(files.blobs);
  return createStore(options, files.database, { db, blobFiles: blobs, readOnlyReason });
}

function assertCopyFinished(db: SqliteConnection, path: string): void {
  const source = getUnfinishedCopy(db);
  if (source === undefined) return;
  db.close();
  throw createUnfinishedCopyError(path, source);
}

function createStore(
  options: OpenSqliteOptions,
  path: string,
  parts: { db: SqliteConnection } & Partial<SqliteStoreOptions>,
): Store {
  return new SqliteStore({
    ...options,
    path,
    blobFiles: undefined,
    readOnlyReason: undefined,
    onClose: () => {},
    ...parts,
  });
}

function assertNotFolder(path: string): void {
  if (existsSync(path) && !statSync(path).isFile())
    throw new StoreError(
      "store_unreachable",
      `${path} is not a file; choose another path, for example a file in it`,
    );
}

function createInUseError(path: string): StoreError {
  const writerDescription = describeWriter(path);
  return new StoreError(
    "store_locked",
    `${path} is in use by ${writerDescription}; stop it, or use another path`,
  );
}

function describeWriter(path: string): string {
  try {
    const db = openForReading(path, 0);
    try {
      const writer = getWriter(db);
      return writer ? `process ${writer.pid} since ${writer.since}` : "another process";
    } finally {
      db.close();
    }
  } catch {
    return "another process";
  }
}

/** Opens the tables of a store in a file, for copying and checking. */
export async function openSqliteTables(
  path: string,
  { access, timeoutMs }: { access: TablesAccess; timeoutMs: number },
): Promise<StoreTables> {
  const files = resolveStoreFiles(path);
  const { database } = files;
  try {
    if (access !== "write" && !existsSync(database))
      throw new StoreError("store_unreachable", `${database} does not exist; check the path`);
    const blobFiles = new BlobFiles(files.blobs);
    if (access === "shared read") {
      const db = openForReading(database, timeoutMs);
      return new SqliteTables({ location: database, db, blobFiles, onClose: () => {} });
    }
    if (!existsSync(files.folder))
      throw new StoreError(
        "store_unreachable",
        `the folder ${files.folder} does not exist; create it, or correct the path`,
      );
    assertNotFolder(database);
    createPrivateFile(files.lock);
    const lock = await WriterLock.acquire(files.lock, timeoutMs, () => {});
    if (lock === undefined) throw createInUseError(database);
    try {
      if (access === "write") createPrivateFile(database);
      const db =
        access === "write"
          ? openForWriting(database, { timeoutMs, now: Date.now })
          : openForReading(database, timeoutMs);
      return new SqliteTables({ location: database, db, blobFiles, onClose: () => lock.release() });
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    throw toStoreError(error, database);
  }
}
