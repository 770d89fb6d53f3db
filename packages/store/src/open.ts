import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { BlobFiles } from "./blob-files.ts";
import { openForReading, openForWriting, openInMemory } from "./database.ts";
import { StoreError } from "./error.ts";
import { storeError } from "./fault.ts";
import { makeFolder, makeOwnFile, type StoreFiles, storeFiles } from "./files.ts";
import { syncFolder, writeRefusal } from "./files.ts";
import type { Connection } from "./sql/connection.ts";
import { writerOf } from "./sql/writer.ts";
import { SqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";
import type { Store } from "./store.ts";
import { WriterLock } from "./writer-lock.ts";

export type StoreOptions = (
  | {
      /** The database file, or ":memory:". */
      path: string;
    }
  | {
      /** Where the database file lies, as deltawire.db. */
      folder: string;
    }
) & {
  /** Only to read: beside a process that writes, or in a folder that cannot be written to. */
  readOnly?: boolean;
  /** How long tasks are kept after their end; for ever unless it is set. */
  keepDays?: number;
  /** How much is kept, in megabytes; without a limit unless it is set. */
  maxMb?: number;
  /** How long a deleted chat, and what was deleted within one, can be restored; 30 unless it is set. */
  deletedDays?: number;
  /** How long to wait for another process to let go of the file. */
  timeoutMs?: number;
  now?: () => number;
  /** What the user should know and nothing fails of. */
  onWarning?: (message: string) => void;
};

const defaultTimeoutMs = 1000;
const defaultDeletedDays = 30;

export async function openStore(options: StoreOptions): Promise<Store> {
  const path = "path" in options ? options.path : join(options.folder, "deltawire.db");
  if (path === ":memory:") return store(options, path, { db: openInMemory() });
  const files = storeFiles(path);
  try {
    const refusal = writeRefusal(files);
    if (options.readOnly === true) return readOnly(options, files, "as it was asked for");
    if (refusal === undefined) return await writing(options, files);
    const { message } = storeError(refusal, files.database);
    const opened = readOnly(options, files, message);
    options.onWarning?.(`only to be read: ${message}`);
    return opened;
  } catch (error) {
    throw storeError(error, files.database);
  }
}

async function writing(options: StoreOptions, files: StoreFiles): Promise<Store> {
  const { timeoutMs = defaultTimeoutMs, now = Date.now, onWarning } = options;
  makeFolder(files.folder);
  refuseFolder(files.database);
  const isOurs = [files.lock, files.database].map(makeOwnFile);
  const onRepaired = () => onWarning?.(`${files.lock} was damaged and has been emptied`);
  const lock = await WriterLock.take(files.lock, timeoutMs, onRepaired);
  if (lock === undefined) throw inUse(files.database);
  try {
    const db = openForWriting(files.database, { timeoutMs, now });
    await syncFolder(files.folder);
    if (isOurs.includes(false))
      onWarning?.(`${files.database} belongs to another user and stays open to others`);
    const blobs = new BlobFiles(files.blobs);
    return store(options, files.database, { db, files: blobs, onClosed: () => lock.release() });
  } catch (error) {
    lock.release();
    throw error;
  }
}

function readOnly(options: StoreOptions, files: StoreFiles, readOnlyBecause: string): Store {
  const db = openForReading(files.database, options.timeoutMs ?? defaultTimeoutMs);
  const blobs = new BlobFiles(files.blobs);
  return store(options, files.database, { db, files: blobs, readOnlyBecause });
}

function store(
  options: StoreOptions,
  path: string,
  parts: { db: Connection } & Partial<SqliteStoreOptions>,
): Store {
  return new SqliteStore({
    path,
    files: undefined,
    readOnlyBecause: undefined,
    keepDays: options.keepDays,
    maxMb: options.maxMb,
    deletedDays: options.deletedDays ?? defaultDeletedDays,
    now: options.now ?? Date.now,
    warn: options.onWarning ?? (() => {}),
    onClosed: () => {},
    ...parts,
  });
}

function refuseFolder(path: string): void {
  if (existsSync(path) && !statSync(path).isFile())
    throw new StoreError(
      "store_unreachable",
      `${path} is not a file: name a file in it, or choose another path`,
    );
}

function inUse(path: string): StoreError {
  const by = whoWrites(path);
  return new StoreError(
    "store_locked",
    `${path} is in use by ${by}: stop it, or give this one a path of its own`,
  );
}

function whoWrites(path: string): string {
  try {
    const db = openForReading(path, 0);
    try {
      const writer = writerOf(db);
      return writer ? `process ${writer.pid} since ${writer.since}` : "another process";
    } finally {
      db.close();
    }
  } catch {
    return "another process"; // which is all that the answer needs
  }
}
