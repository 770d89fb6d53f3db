import type { Socket } from "node:net";
import { Client } from "pg";
import type { BlobBucket } from "../bucket/blob-bucket.ts";
import { StoreError } from "../error.ts";
import type { RetentionOptions } from "../retention-options.ts";
import { createUnfinishedCopyError, type StoreTables, type TablesAccess } from "../copy/tables.ts";
import type { Store } from "../store.ts";
import { buildClientConfig } from "./connection.ts";
import { ExclusiveLock } from "./exclusive-lock.ts";
import { assertCurrentSchema, migrate } from "./migrate.ts";
import { PostgresPool } from "./postgres-pool.ts";
import { PostgresStore } from "./postgres-store.ts";
import { getUnfinishedCopy, PostgresTables } from "./postgres-tables.ts";
import { SharedLock } from "./shared-lock.ts";
import { toStoreError } from "./to-store-error.ts";

export interface OpenPostgresOptions extends RetentionOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  schema: string;
  /** True: no other process may write. False: only other processes that are not exclusive may write. */
  exclusive: boolean;
  /** Rejects writes, and opens only a schema of the current version. */
  readOnly: boolean;
  /** How long to wait for another process to release the store, in milliseconds. */
  timeoutMs: number;
  /** Maximum number of connections, without the four for appends, leases and the lock. */
  maxConnections: number;
  /** How long to wait for a reply of the server, in milliseconds. */
  replyTimeoutMs: number;
  /** For large blobs. Undefined: all blobs are stored in rows. */
  bucket: BlobBucket | undefined;
  onLost: (error: StoreError) => void;
  warn: (message: string) => void;
}

/** Enough for copies and checks, which run one statement after the other. */
const tableConnections = 2;
/** Copies and checks count and read complete tables. */
const tableReplyTimeoutMs = 600_000;

/** Opens a store in a schema of a PostgreSQL database, and creates or updates the schema. */
export async function openPostgresStore(options: OpenPostgresOptions): Promise<Store> {
  const { exclusive, readOnly } = options;
  // Readers neither wait for a writer nor block one.
  const mode = readOnly ? "none" : exclusive ? "exclusive" : "shared";
  const connection = await connect(options, mode);
  const store = new PostgresStore({ ...options, ...connection, isShared: mode === "shared" });
  try {
    const source = await connection.pool.query(getUnfinishedCopy);
    if (source !== undefined) throw createUnfinishedCopyError(connection.location, source);
    return store;
  } catch (error) {
    await store.close();
    throw toStoreError(error, connection.location);
  }
}

/** Opens the tables of a store, for copies and checks. */
export async function openPostgresTables(
  { url, schema, bucket }: { url: string; schema: string; bucket: BlobBucket | undefined },
  { access, timeoutMs }: { access: TablesAccess; timeoutMs: number },
): Promise<StoreTables> {
  const readOnly = access !== "write";
  const limits = { maxConnections: tableConnections, replyTimeoutMs: tableReplyTimeoutMs };
  const options = { url, schema, readOnly, timeoutMs, ...limits, onLost: () => {} };
  const mode = access === "shared read" ? "none" : "exclusive";
  const { pool, appendPool, leasePool, lock, location } = await connect(options, mode);
  await Promise.all([appendPool.close(), leasePool.close()]);
  return new PostgresTables({ pool, lock, location, bucket });
}

async function connect(
  options: Pick<
    OpenPostgresOptions,
    "url" | "schema" | "readOnly" | "timeoutMs" | "maxConnections" | "replyTimeoutMs" | "onLost"
  >,
  lockMode: "exclusive" | "shared" | "none",
): Promise<{
  pool: PostgresPool;
  appendPool: PostgresPool;
  leasePool: PostgresPool;
  lock: ExclusiveLock | SharedLock | undefined;
  location: string;
}> {
  const { url, schema, readOnly, timeoutMs, maxConnections, replyTimeoutMs, onLost } = options;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new StoreError(
      "store_unreachable",
      `invalid schema name "${schema}"; use lower-case letters, digits and _`,
    );
  const location = `${describeUrl(url)} (schema ${schema})`;
  const session = { url, schema, readOnly, replyTimeoutMs };
  const pool = new PostgresPool({ ...session, maxConnections });
  // Events never wait for changes of chats, and their connection cannot be taken by other programs.
  const appendPool = new PostgresPool({ ...session, maxConnections: 1, staysOpen: true });
  // Many or slow requests must not let the lease of a healthy process expire. One connection is for renewals, one for claims.
  const leasePool = new PostgresPool({ ...session, maxConnections: 2, staysOpen: true });
  let lock: ExclusiveLock | SharedLock | undefined;
  try {
    await withSeparateClient(url, schema, (client) =>
      readOnly ? assertCurrentSchema(client, schema) : migrate(client, { schema, timeoutMs }),
    );
    const lockOptions = { url, schema, location, timeoutMs };
    if (lockMode === "shared") lock = await SharedLock.acquire(lockOptions);
    if (lockMode === "exclusive") {
      const exclusiveLock = await ExclusiveLock.acquire({ ...lockOptions, readOnly, onLost });
      if (!readOnly) pool.guard = (db) => exclusiveLock.assertCurrentEpoch(db);
      appendPool.guard = pool.guard;
      leasePool.guard = pool.guard;
      lock = exclusiveLock;
    }
    return { pool, appendPool, leasePool, lock, location };
  } catch (error) {
    await lock?.release();
    await Promise.all([pool.close(), appendPool.close(), leasePool.close()]);
    throw toStoreError(error, location);
  }
}

/**
 * Runs work on a separate connection, without a limit for replies: a migration of a large database takes long. The pool would
 * leave the socket of a failed login open, so that a command could not exit before the server closes it.
 */
async function withSeparateClient(
  url: string,
  schema: string,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = new Client(buildClientConfig(url, schema, { replyTimeoutMs: 0 }));
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    (client as Client & { connection?: { stream?: Socket } }).connection?.stream?.destroy();
    throw error;
  }
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Returns the URL without user, password and parameters. */
function describeUrl(url: string): string {
  try {
    const { protocol, host, pathname, search, hash } = new URL(url);
    // An unescaped /, ? or # in a password ends the host, and the password would be shown as the port or path.
    const rest = `${pathname === "" ? search : pathname}${hash}`;
    if (rest.includes("@")) throw new Error("@ after the host");
    return `${protocol}//${host}${pathname}`;
  } catch {
    throw new StoreError(
      "store_unreachable",
      "the URL of the store is invalid; it must have the form postgres://user:password@host:5432/database, with %2F for /, %40 for @ and %23 for # in the password",
    );
  }
}
