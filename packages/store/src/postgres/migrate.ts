import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { StoreError } from "../error.ts";
import { wrapClient, type PostgresConnection } from "./connection.ts";
import { isDeadlock } from "./postgres-pool.ts";
import {
  getOldestCompatibleVersion,
  migrations as allMigrations,
  type SchemaMigration,
} from "./migrations.ts";

export interface MigrateOptions {
  schema: string;
  /** How long to wait for other processes, if a migration needs exclusive access to the database, in milliseconds. */
  timeoutMs: number;
  /** Default: all. */
  migrations?: readonly SchemaMigration[];
}

const retryMs = 100;
/** How many times a migration is repeated after a deadlock with transactions of processes that use the tables. */
const maxAttempts = 20;
/** How long to wait for a migration by another process. */
const maxMigrationTime = "1h";

/**
 * Creates or updates the schema in one transaction. Processes that start at the same time wait for each other. Throws a StoreError
 * if a later release has written the database and this one cannot use it.
 */
export async function migrate(client: Client, options: MigrateOptions): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await migrateOnce(client, options);
    } catch (error) {
      if (!isDeadlock(error) || attempt >= maxAttempts) throw error;
      await sleep(retryMs);
    }
}

async function migrateOnce(
  client: Client,
  { schema, timeoutMs, migrations = allMigrations }: MigrateOptions,
): Promise<void> {
  const db = wrapClient(client);
  await client.query("BEGIN");
  try {
    await client.query(`SET LOCAL lock_timeout = '${maxMigrationTime}'`);
    await db.run("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", `${schema} migrations`);
    await client.query("RESET lock_timeout");
    const name = quoteIdentifier(schema);
    // Without this test, users without permission to create schemas could not open an existing one.
    const existing = await db.get("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema);
    if (existing === undefined) await client.query(`CREATE SCHEMA ${name}`);
    const current = await readVersion(db, schema);
    if (current === undefined)
      await client.query(`CREATE TABLE ${name}.schema_version (version INTEGER NOT NULL)`);
    assertCompatible(current, migrations);
    const { version } = current ?? { version: 0 };
    const steps = migrations.slice(version);
    const breaksOthers = steps.some((step) => step.breaksEarlierReleases === true);
    if (version > 0 && breaksOthers) await lockForMigration(db, schema, timeoutMs);
    for (const { sql } of steps) await client.query(sql);
    if (current === undefined)
      await client.query("INSERT INTO schema_version (version) VALUES (0)");
    if (steps.length > 0) await writeVersion(db, migrations);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Throws if the schema does not exist or cannot be used without a migration. */
export async function assertCurrentSchema(client: Client, schema: string): Promise<void> {
  const current = await readVersion(wrapClient(client), schema);
  if (current === undefined)
    throw new StoreError(
      "store_unreachable",
      `the database has no Deltawire schema named "${schema}"; check the name, or start a gateway with it first`,
    );
  assertCompatible(current, allMigrations);
  if (current.version < allMigrations.length)
    throw new StoreError(
      "store_unreachable",
      `the schema "${schema}" was written by an earlier version of Deltawire; start a gateway with it first, which updates it`,
    );
}

interface SchemaVersion {
  version: number;
  /** The version of the first release that can use the database. */
  compatibleFrom: number;
}

function assertCompatible(
  current: SchemaVersion | undefined,
  migrations: readonly SchemaMigration[],
): void {
  if (current === undefined || current.version <= migrations.length) return;
  if (current.compatibleFrom <= migrations.length) return;
  throw new StoreError(
    "store_newer",
    `the database was written by a later version of Deltawire (format ${current.version}, this one reads up to ` +
      `${migrations.length}); update Deltawire on this machine, or choose another database or schema`,
  );
}

/** Waits until no process has the database open, and prevents others from opening it until the end of the transaction. */
async function lockForMigration(
  db: PostgresConnection,
  schema: string,
  timeoutMs: number,
): Promise<void> {
  for (const end = Date.now() + timeoutMs; ; await sleep(retryMs)) {
    // The lock of processes that have the database open, see `acquireAdvisoryLock`.
    const row = await db.get<{ locked: boolean }>(
      "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked",
      `${schema} writer`,
    );
    if (row?.locked === true) return;
    if (Date.now() >= end) break;
  }
  throw new StoreError(
    "store_locked",
    `the schema "${schema}" must be updated for this version of Deltawire, and earlier versions cannot use it afterwards; stop all ` +
      "processes that use it, then start this one again",
  );
}

/** Returns undefined if the schema is new. */
async function readVersion(
  db: PostgresConnection,
  schema: string,
): Promise<SchemaVersion | undefined> {
  const table = await db.get(
    "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_version'",
    schema,
  );
  if (table === undefined) return undefined;
  // As JSON, because the first version has no column `compatible_from`.
  const row = await db.get<{ version: number; compatible_from: string | null }>(
    "SELECT version, to_jsonb(schema_version) ->> 'compatible_from' AS compatible_from FROM schema_version",
  );
  const version = row?.version ?? 0;
  return { version, compatibleFrom: Number(row?.compatible_from ?? version) };
}

async function writeVersion(
  db: PostgresConnection,
  migrations: readonly SchemaMigration[],
): Promise<void> {
  const compatibleFrom = getOldestCompatibleVersion(migrations);
  // Only the first version has no column `compatible_from`.
  if (compatibleFrom > 0)
    await db.run(
      "UPDATE schema_version SET version = $1, compatible_from = $2",
      migrations.length,
      compatibleFrom,
    );
  else await db.run("UPDATE schema_version SET version = $1", migrations.length);
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
