import { createS3Bucket, type S3BucketOptions } from "./bucket/s3-bucket.ts";
import { checkTables, type StoreCheckReport } from "./copy/check-tables.ts";
import { copyTables, type CopyProgress, type CopyResult } from "./copy/copy-tables.ts";
import { assertFinishedCopy, type StoreTables, type TablesAccess } from "./copy/tables.ts";
import { StoreError } from "./error.ts";
import { defaultSchema } from "./open-store.ts";
import { openSqliteTables } from "./sqlite/open-sqlite-store.ts";

/** The location of a store: a SQLite file, or a schema of a PostgreSQL database (default "deltawire"), with its bucket if it has one. */
export type StoreLocation =
  | { path: string }
  | { url: string; schema?: string; s3?: S3BucketOptions };

/** How long to wait for another process to release a store. */
const timeoutMs = 1000;

/**
 * Copies all data of a store to an empty one and compares both. The source is not changed, and no other process can write to it
 * meanwhile. Data that only concerns running processes is not copied: leases, commands between processes, when jobs last ran, and which titles
 * are being generated. Shared secrets are copied, and replace those of the target.
 * Blobs whose files or objects are missing are skipped and counted. An interrupted copy is continued by the next call with the same stores; after a
 * finished one, that call only compares them. The target is created only if the source can be copied. Throws a StoreError if the target
 * has other data, or if the stores differ afterwards; its message begins with FROM or TO if that store cannot be opened.
 */
export async function copyStore(
  from: StoreLocation,
  to: StoreLocation,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<CopyResult> {
  const source = await openLabeled("FROM", from, "exclusive read");
  try {
    await assertFinishedCopy(source);
    const target = await openLabeled("TO", to, "write");
    try {
      return await copyTables(source, target, onProgress);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/**
 * Reads all data of a store and reports inconsistencies. Nothing is changed. If a gateway uses the store meanwhile,
 * its latest changes may be reported as gaps.
 */
export async function checkStore(
  location: StoreLocation,
  onTable?: (name: string) => void,
): Promise<StoreCheckReport> {
  const tables = await openTables(location, "shared read");
  try {
    return await checkTables(tables, onTable);
  } finally {
    await tables.close();
  }
}

async function openLabeled(
  label: "FROM" | "TO",
  location: StoreLocation,
  access: TablesAccess,
): Promise<StoreTables> {
  try {
    return await openTables(location, access);
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    throw new StoreError(cause.code, `${label}: ${cause.message}`, { cause });
  }
}

async function openTables(location: StoreLocation, access: TablesAccess): Promise<StoreTables> {
  if ("path" in location) return openSqliteTables(location.path, { access, timeoutMs });
  const { url, schema = defaultSchema, s3 } = location;
  const { openPostgresTables } = await import("./postgres/open-postgres-store.ts");
  const bucket = s3 && createS3Bucket(s3);
  return openPostgresTables({ url, schema, bucket }, { access, timeoutMs });
}
