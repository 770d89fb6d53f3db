import { StoreError } from "../error.ts";
import type { SqliteConnection } from "./connection.ts";
import { applicationId, readFileHeader, writeFileHeader } from "./pragmas.ts";

/**
 * Returns the migrations that a file needs. Throws if the file belongs to another program or a newer version. Nothing
 * is written.
 */
export function findPendingMigrations(
  db: SqliteConnection,
  path: string,
  migrations: readonly string[],
): { from: number; steps: readonly string[] } {
  const { applicationId: id, version, tables } = readFileHeader(db);
  if (id !== applicationId && tables > 0)
    throw new StoreError(
      "store_unreachable",
      `${path} is a database of another program; choose another path`,
    );
  if (version > migrations.length)
    throw new StoreError(
      "store_newer",
      `${path} was written by a later version of Deltawire (format ${version}, this one reads up to ` +
        `${migrations.length}); update Deltawire, or choose another path`,
    );
  return { from: version, steps: migrations.slice(version) };
}

/** Runs all steps in one transaction. */
export function migrate(db: SqliteConnection, from: number, steps: readonly string[]): void {
  db.transaction(() => {
    for (const step of steps) db.execute(step);
    writeFileHeader(db, from + steps.length);
  });
}
