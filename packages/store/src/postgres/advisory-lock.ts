import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { buildClientConfig } from "./connection.ts";

export interface AdvisoryLockOptions {
  url: string;
  schema: string;
  /** How long to wait for other processes to release the lock, in milliseconds. */
  timeoutMs: number;
}

const retryMs = 100;
/** PostgreSQL truncates longer names. */
const maxNameLength = 63;

/** With this name, `findLockHolders` tells which process holds a lock. */
const lockHolderName = `deltawire process ${process.pid} on ${hostname()}`.slice(0, maxNameLength);

/**
 * Acquires the lock of a schema on a separate connection, which holds the lock until it ends. Several connections can hold a
 * `shared` lock, but not while another one holds an exclusive lock. Returns undefined if the lock is not available. The schema must
 * exist.
 */
export async function acquireAdvisoryLock(
  { url, schema, timeoutMs }: AdvisoryLockOptions,
  mode: "exclusive" | "shared",
  onEnd: (client: Client) => void,
): Promise<Client | undefined> {
  const settings = { lock_timeout: `${Math.max(timeoutMs, 1000)}` };
  const client = new Client({
    ...buildClientConfig(url, schema, { settings }),
    application_name: lockHolderName,
  });
  client.on("error", () => onEnd(client));
  client.on("end", () => onEnd(client));
  await client.connect();
  try {
    const name = mode === "shared" ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock";
    for (const end = Date.now() + timeoutMs; ; await sleep(retryMs)) {
      const { rows } = await client.query<{ locked: boolean }>(
        `SELECT ${name}(${lockKeySql}) AS locked`,
        [getLockName(schema)],
      );
      if (rows[0]?.locked === true) return client;
      if (Date.now() >= end) break;
    }
  } catch (error) {
    await client.end();
    throw error;
  }
  await client.end();
  return undefined;
}

/** The first parameter is the name of the lock. */
const lockKeySql = "hashtextextended($1, 0)";

const getLockName = (schema: string): string => `${schema} writer`;

interface LockHolder {
  application_name: string | null;
  client_addr: string | null;
  pid: number;
  since: Date | null;
}

/**
 * Returns the processes that hold the lock of a schema, for error messages: "process 12 on host-a (connected from 10.0.0.2 since …,
 * PostgreSQL backend 345)". Empty if they cannot be found out.
 */
export async function findLockHolders({
  url,
  schema,
}: Pick<AdvisoryLockOptions, "url" | "schema">): Promise<string[]> {
  const client = new Client(buildClientConfig(url, schema));
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<LockHolder>(
      `SELECT application_name, host(client_addr) AS client_addr, pid, backend_start AS since
        FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND (classid::bigint << 32 | objid::bigint) = ${lockKeySql}
        ORDER BY since, pid`,
      [getLockName(schema)],
    );
    return rows.map(describeLockHolder);
  } catch {
    return [];
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Only the same user and those with `pg_read_all_stats` see more than the backend. */
function describeLockHolder({ application_name, client_addr, pid, since }: LockHolder): string {
  const name = application_name?.replace(/^deltawire /, "") || "a process";
  const from = client_addr === null ? "" : `connected from ${client_addr}`;
  const start = since === null ? "" : ` since ${since.toISOString()}`;
  return `${name} (${[`${from}${start}`.trim(), `PostgreSQL backend ${pid}`].filter(Boolean).join(", ")})`;
}
