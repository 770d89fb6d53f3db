import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreError } from "./error.ts";
import { closeToOthers, makeOwnFile } from "./files.ts";
import { Connection } from "./sql/connection.ts";
import { backUpInto, prepareForWriting } from "./sql/dialect.ts";
import { migrate, pendingMigrations } from "./sql/migrate.ts";
import { migrations as allMigrations } from "./sql/migrations.ts";
import { setWriter } from "./sql/writer.ts";

/** By the holder of the lock. Brings an older file up to this version, with a backup of how it was. */
export function openForWriting(
  path: string,
  options: { timeoutMs: number; now: () => number; migrations?: readonly string[] },
): Connection {
  const { timeoutMs, now, migrations = allMigrations } = options;
  for (const beside of ["-wal", "-shm"]) closeToOthers(path + beside); // new ones take after the database
  const db = new Connection(new DatabaseSync(path, { timeout: timeoutMs }));
  try {
    const { from, steps } = pendingMigrations(db, path, migrations);
    prepareForWriting(db);
    if (from > 0 && steps.length > 0) backUp(db, path, from);
    if (steps.length > 0) migrate(db, from, steps);
    db.transaction(() => setWriter(db, { pid: process.pid, since: new Date(now()).toISOString() }));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export function openInMemory(): Connection {
  const db = new Connection(new DatabaseSync(":memory:"));
  migrate(db, 0, allMigrations);
  return db;
}

export function openForReading(path: string, timeoutMs: number): Connection {
  const db = readableDatabase(path, timeoutMs);
  try {
    const { steps } = pendingMigrations(db, path, allMigrations);
    if (steps.length > 0)
      throw new StoreError(
        "store_unreachable",
        `${path} is of an earlier version: open it once where it can be written to, so that it is brought up to date`,
      );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function readableDatabase(path: string, timeoutMs: number): Connection {
  const options = { readOnly: true, timeout: timeoutMs };
  // Where the -shm file cannot be made, a file that was closed well can still be read as one that nobody changes.
  const places = isClosedWell(path) ? [path, `${pathToFileURL(path).href}?immutable=1`] : [path];
  let failure: unknown;
  for (const place of places) {
    const database = new DatabaseSync(place, options);
    try {
      database.prepare("SELECT count(*) FROM sqlite_schema").get();
      return new Connection(database);
    } catch (error) {
      database.close();
      failure ??= error;
    }
  }
  throw failure;
}

function isClosedWell(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

function backUp(db: Connection, path: string, version: number): void {
  const backup = `${path}-v${version}.bak`;
  const aside = `${backup}.part`;
  rmSync(aside, { force: true });
  makeOwnFile(aside);
  backUpInto(db, aside);
  const file = openSync(aside, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(aside, backup);
}
