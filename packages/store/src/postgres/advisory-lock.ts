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
  const client = new Client(buildClientConfig(url, schema, { settings }));
  client.on("error", () => onEnd(client));
  client.on("end", () => onEnd(client));
  await client.connect();
  try {
    const name = mode === "shared" ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock";
    for (const end = Date.now() + timeoutMs; ; await sleep(retryMs)) {
      const { rows } = await client.query<{ locked: boolean }>(
        `SELECT ${name}(hashtextextended($1, 0)) AS locked`,
        [`${schema} writer`],
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
