import { insertGarbage } from "./bucket-garbage.ts";
import type { PostgresConnection } from "./connection.ts";

/** Returns a blob that the owner has stored. */
export async function getBlob(
  db: PostgresConnection,
  owner: string,
  hash: string,
): Promise<{ media_type: string; bytes: Buffer | null; object: string | null } | undefined> {
  return db.get<{ media_type: string; bytes: Buffer | null; object: string | null }>(
    "SELECT media_type, bytes, object FROM blobs JOIN blob_owners USING (hash) WHERE hash = $1 AND owner = $2",
    hash,
    owner,
  );
}

export async function insertBlobOwner(
  db: PostgresConnection,
  owner: string,
  hash: string,
): Promise<void> {
  await db.run(
    "INSERT INTO blob_owners (hash, owner) VALUES ($1, $2) ON CONFLICT (hash, owner) DO NOTHING",
    hash,
    owner,
  );
}

/**
 * Renews a blob's grace period. Returns undefined if the blob does not exist. `putAt` may be in the future for blobs that may
 * stay unused for longer.
 */
export async function touchBlob(
  db: PostgresConnection,
  hash: string,
  putAt: number,
): Promise<{ object: string | null } | undefined> {
  return db.get<{ object: string | null }>(
    "UPDATE blobs SET put_at = greatest(put_at, $2) WHERE hash = $1 RETURNING object",
    hash,
    putAt,
  );
}

export interface NewBlobRow {
  hash: string;
  mediaType: string;
  size: number;
  /** Null: the bytes are in the bucket. */
  bytes: Uint8Array | null;
  /** The name of the object in the bucket. Null: the bytes are in the row. */
  object: string | null;
  putAt: number;
}

/**
 * An existing blob keeps its media type, and its object unless that is `replacedObject`. Returns the object of the stored row.
 */
export async function upsertBlob(
  db: PostgresConnection,
  blob: NewBlobRow,
  replacedObject: string | null = null,
): Promise<string | null> {
  const row = await db.get<{ object: string | null }>(
    `INSERT INTO blobs (hash, media_type, size, bytes, object, put_at) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (hash) DO UPDATE SET put_at = greatest(blobs.put_at, excluded.put_at),
        object = CASE WHEN blobs.object = $7 THEN excluded.object ELSE blobs.object END
      RETURNING object`,
    blob.hash,
    blob.mediaType,
    blob.size,
    blob.bytes,
    blob.object,
    blob.putAt,
    replacedObject,
  );
  return row?.object ?? null;
}

export async function insertBlobRefs(
  db: PostgresConnection,
  refs: readonly { root: number; hash: string }[],
): Promise<void> {
  await db.run(
    `INSERT INTO blob_refs (root, hash) SELECT * FROM unnest($1::bigint[], $2::text[])
      ON CONFLICT (root, hash) DO NOTHING`,
    refs.map(({ root }) => root),
    refs.map(({ hash }) => hash),
  );
}

export async function deleteBlobRef(
  db: PostgresConnection,
  root: number,
  hash: string,
): Promise<void> {
  await db.run("DELETE FROM blob_refs WHERE root = $1 AND hash = $2", root, hash);
}

export async function insertChatBlobRefs(
  db: PostgresConnection,
  chat: number,
  hashes: Iterable<string>,
): Promise<void> {
  await db.run(
    `INSERT INTO chat_blob_refs (chat, hash) SELECT $1, hash FROM unnest($2::text[]) AS new (hash)
      ON CONFLICT (chat, hash) DO NOTHING`,
    chat,
    [...hashes],
  );
}

/** Deletes the rows that link a chat to those of the blobs that it no longer references. */
export async function deleteUnusedChatBlobRefs(
  db: PostgresConnection,
  chat: number,
  hashes: Iterable<string>,
): Promise<void> {
  const isReferencedIn = (table: string) =>
    `EXISTS (SELECT 1 FROM ${table} AS source WHERE source.chat = $1 AND strpos(source.json, refs.hash) > 0)`;
  const tables = ["chat_nodes", "chat_replays", "chat_removals", "chat_variables"];
  await db.run(
    `DELETE FROM chat_blob_refs AS refs WHERE refs.chat = $1 AND refs.hash = ANY($2::text[])
      AND NOT (${tables.map(isReferencedIn).join(" OR ")})`,
    chat,
    [...hashes],
  );
}

/** No task and no chat refers to the blob. */
const unusedCondition = `NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)
        AND NOT EXISTS (SELECT 1 FROM chat_blob_refs WHERE chat_blob_refs.hash = blobs.hash)`;

/** Ends longer grace periods of blobs that are in use: they are removed with the last reference. */
export async function endUsedBlobsGrace(db: PostgresConnection, now: number): Promise<void> {
  await db.run(`UPDATE blobs SET put_at = $1 WHERE put_at > $1 AND NOT (${unusedCondition})`, now);
}

/** Ends the grace periods of a chat's blobs, before the chat is removed. */
export async function endChatBlobsGrace(
  db: PostgresConnection,
  chat: number,
  now: number,
): Promise<void> {
  await db.run(
    `UPDATE blobs SET put_at = $2 WHERE put_at > $2
      AND hash IN (SELECT hash FROM chat_blob_refs WHERE chat = $1)`,
    chat,
    now,
  );
}

/** Returns the size of unused blobs within their grace period. */
export async function sumGraceBytes(db: PostgresConnection, putSince: number): Promise<number> {
  const row = await db.get<{ bytes: number | null }>(
    `SELECT sum(size)::bigint AS bytes FROM blobs WHERE put_at >= $1 AND ${unusedCondition}`,
    putSince,
  );
  return row?.bytes ?? 0;
}

/** Deletes up to `limit` unused blobs that were stored before a time. Returns their number. */
export async function deleteUnusedBlobs(
  db: PostgresConnection,
  putBefore: number,
  limit: number,
): Promise<number> {
  const removedBlobs = await db.all<RemovedBlob>(
    `DELETE FROM blobs WHERE put_at < $1 AND ${unusedCondition} AND hash IN (
      SELECT hash FROM blobs WHERE put_at < $1 AND ${unusedCondition} LIMIT $2) RETURNING hash, object`,
    putBefore,
    limit,
  );
  await deleteBlobData(db, removedBlobs);
  return removedBlobs.length;
}

interface RemovedBlob {
  hash: string;
  object: string | null;
}

/** Deletes the owners of removed blobs, and records their objects for deletion. */
async function deleteBlobData(
  db: PostgresConnection,
  blobs: readonly RemovedBlob[],
): Promise<void> {
  const hashes = blobs.map(({ hash }) => hash);
  if (hashes.length > 0)
    await db.run("DELETE FROM blob_owners WHERE hash = ANY($1::text[])", hashes);
  const objects = blobs.flatMap(({ object }) => (object === null ? [] : [object]));
  if (objects.length > 0) await insertGarbage(db, objects, 0);
}

/**
 * Deletes the references of a task and the blobs that only it used, if they were stored before a time. Returns the sizes of
 * the deleted blobs.
 */
export async function deleteTaskBlobs(
  db: PostgresConnection,
  root: number,
  putBefore: number,
): Promise<number[]> {
  const rows = await db.all<{ hash: string }>(
    "DELETE FROM blob_refs WHERE root = $1 RETURNING hash",
    root,
  );
  const removedBlobs = await db.all<RemovedBlob & { size: number }>(
    `DELETE FROM blobs WHERE hash = ANY($1::text[]) AND put_at < $2 AND ${unusedCondition} RETURNING hash, object, size`,
    rows.map(({ hash }) => hash),
    putBefore,
  );
  await deleteBlobData(db, removedBlobs);
  return removedBlobs.map(({ size }) => size);
}

/** Deletes the blob references of a task. Unused blobs are deleted by the next pruning. */
export async function deleteTaskBlobRefs(db: PostgresConnection, root: number): Promise<void> {
  await db.run("DELETE FROM blob_refs WHERE root = $1", root);
}
