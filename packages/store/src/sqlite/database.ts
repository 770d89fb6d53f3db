import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreError } from "../error.ts";
import { restrictToOwner, createPrivateFile } from "./files.ts";
import { SqliteConnection } from "./connection.ts";
import { backUpTo, prepareForWriting } from "./pragmas.ts";
import { migrate, findPendingMigrations } from "./migrate.ts";
import { migrations as allMigrations } from "./migrations.ts";
import { setWriter } from "./writer.ts";

/** Opens the database and migrates an older file, after a backup. The caller must hold the writer lock. */
export function openForWriting(
  path: string,
  options: { timeoutMs: number; now: () => number; migrations?: readonly string[] },
): SqliteConnection {
  const { timeoutMs, now, migrations = allMigrations } = options;
  for (const suffix of ["-wal", "-shm"]) restrictToOwner(path + suffix); // new files inherit the mode of the database
  const db = new SqliteConnection(new DatabaseSync(path, { timeout: timeoutMs }));
  try {
    const { from, steps } = findPendingMigrations(db, path, migrations);
    prepareForWriting(db);
    if (from > 0 && steps.length > 0) backUpDatabase(db, path, from);
    if (steps.length > 0) migrate(db, from, steps);
    db.transaction(() => setWriter(db, { pid: process.pid, since: new Date(now()).toISOString() }));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export function openInMemory(): SqliteConnection {
  const db = new SqliteConnection(new DatabaseSync(":memory:"));
  migrate(db, 0, allMigrations);
  return db;
}

export function openForReading(path: string, timeoutMs: number): SqliteConnection {
  const db = openReadableDatabase(path, timeoutMs);
  try {
    const { steps } = findPendingMigrations(db, path, allMigrations);
    if (steps.length > 0)
      throw new StoreError(
        "store_unreachable",
        `${path} has an older format: open it once with write access to migrate it`,
      );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function openReadableDatabase(path: string, timeoutMs: number): SqliteConnection {
  const options = { readOnly: true, timeout: timeoutMs };
  // If the -shm file cannot be created, a cleanly closed database can still be opened as immutable.
  const locations = isCleanlyClosed(path)
    ? [path, `${pathToFileURL(path).href}?immutable=1`]
    : [path];
  let failure: unknown;
  for (const location of locations) {
    const database = new DatabaseSync(location, options);
    try {
      database.prepare("SELECT count(*) FROM sqlite_schema").get();
      return new SqliteConnection(database);
    } catch (error) {
      database.close();
      failure ??= error;
    }
  }
  throw failure;
}

function isCleanlyClosed(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

function backUpDatabase(db: SqliteConnection, path: string, version: number): void {
  const backup = `${path}-v${version}.bak`;
  const temporaryPath = `${backup}.part`;
  rmSync(temporaryPath, { force: true });
  createPrivateFile(temporaryPath);
  backUpTo(db, temporaryPath);
  const file = openSync(temporaryPath, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporaryPath, backup);
}
