import { join } from "node:path";
import { createS3Bucket, type S3BucketOptions } from "./bucket/s3-bucket.ts";
import type { StoreError } from "./error.ts";
import { openSqliteStore } from "./sqlite/open-sqlite-store.ts";
import type { Store } from "./store.ts";

export type StoreOptions = (
  | {
      /** The database file, or ":memory:". */
      path: string;
    }
  | {
      /** The folder of the database file, deltawire.db. */
      folder: string;
    }
  | {
      /** A PostgreSQL database: `postgres://user:password@host:port/database`. */
      url: string;
      /** The schema of all tables, created if it does not exist; default "deltawire". */
      schema?: string;
      /** False: other processes may write at the same time, and share tasks by leases. Default true. */
      exclusive?: boolean;
      /** Maximum number of connections, without the two for appends and for the lock; default 10. */
      maxConnections?: number;
      /** How long to wait for a reply of the server, in milliseconds; default 60000. Waiting for a lock is limited to half of this. */
      replyTimeoutMs?: number;
      /** Where large blobs are stored. Undefined: in the database. */
      s3?: S3BucketOptions;
    }
) & {
  /** Opens the store read-only: while another process writes, or in a folder without write access. */
  readOnly?: boolean;
  /** Days to keep tasks after their end. Default: forever. */
  retentionDays?: number;
  /** Maximum size in megabytes. Default: no limit. */
  maxMb?: number;
  /** Days during which deleted chats and messages can be restored; default 30. */
  deletedDays?: number;
  /** How long to wait for another process to release the store, in milliseconds; default 1000. */
  timeoutMs?: number;
  /** Returns the time in milliseconds; default `Date.now`. PostgreSQL stores use the clock of the server instead. */
  now?: () => number;
  /** Called if another process has taken over a PostgreSQL store. All writes are rejected from then on: close the store. */
  onLost?: (error: StoreError) => void;
  /** Called with problems that do not cause a failure. */
  onWarning?: (message: string) => void;
};

const defaultDeletedDays = 30;
const defaultTimeoutMs = 1000;
const defaultMaxConnections = 10;
const defaultReplyTimeoutMs = 60_000;
export const defaultSchema = "deltawire";

export async function openStore(options: StoreOptions): Promise<Store> {
  const common = {
    retentionDays: options.retentionDays,
    maxMb: options.maxMb,
    deletedDays: options.deletedDays ?? defaultDeletedDays,
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    warn: options.onWarning ?? (() => {}),
  };
  if ("url" in options) {
    const { url, schema = defaultSchema, exclusive = true, readOnly = false, s3 } = options;
    // Imported on demand: most installations use SQLite.
    const { openPostgresStore } = await import("./postgres/open-postgres-store.ts");
    return openPostgresStore({
      ...common,
      url,
      schema,
      exclusive,
      readOnly,
      maxConnections: options.maxConnections ?? defaultMaxConnections,
      replyTimeoutMs: options.replyTimeoutMs ?? defaultReplyTimeoutMs,
      bucket: s3 && createS3Bucket(s3),
      onLost: options.onLost ?? (() => {}),
    });
  }
  return openSqliteStore({
    ...common,
    now: options.now ?? Date.now,
    path: "path" in options ? options.path : join(options.folder, "deltawire.db"),
    readOnly: options.readOnly ?? false,
  });
}
