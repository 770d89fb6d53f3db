import { StoreError } from "../error.ts";
import type { Connection } from "./connection.ts";
import { applicationId, fileMarks, markFile } from "./dialect.ts";

/**
 * Says what has to be done to a file before this version can use it, and refuses one that is not for it. Nothing has
 * been written by then: a file that is not ours stays as it is.
 */
export function pendingMigrations(
  db: Connection,
  path: string,
  migrations: readonly string[],
): { from: number; steps: readonly string[] } {
  const { applicationId: id, version, tables } = fileMarks(db);
  if (id !== applicationId && tables > 0)
    throw new StoreError(
      "store_unreachable",
      `${path} is a database of another program: choose another path`,
    );
  if (version > migrations.length)
    throw new StoreError(
      "store_newer",
      `${path} was written by a later version of Deltawire (format ${version}, this one reads up to ` +
        `${migrations.length}): update Deltawire, or choose another path`,
    );
  return { from: version, steps: migrations.slice(version) };
}

/** All steps or none. */
export function migrate(db: Connection, from: number, steps: readonly string[]): void {
  db.transaction(() => {
    for (const step of steps) db.execute(step);
    markFile(db, from + steps.length);
  });
}
