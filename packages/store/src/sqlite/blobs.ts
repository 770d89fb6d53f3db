import type { SqliteConnection } from "./connection.ts";

export interface BlobRow {
  media_type: string;
  size: number;
  in_file: 0 | 1;
  bytes: Uint8Array | null;
}

/** Returns a blob that the owner has stored. */
export function getBlob(db: SqliteConnection, owner: string, hash: string): BlobRow | undefined {
  return db.get<BlobRow>(
    `SELECT media_type, size, in_file, bytes FROM blobs JOIN blob_owners USING (hash)
      WHERE hash = ? AND owner = ?`,
    hash,
    owner,
  );
}

export function insertBlobOwner(db: SqliteConnection, owner: string, hash: string): void {
  db.run(
    "INSERT INTO blob_owners (hash, owner) VALUES (?, ?) ON CONFLICT (hash, owner) DO NOTHING",
    hash,
    owner,
  );
}

function deleteBlobOwners(db: SqliteConnection, blobs: readonly RemovedBlob[]): void {
  for (const { hash } of blobs) db.run("DELETE FROM blob_owners WHERE hash = ?", hash);
}

export function getBlobLocation(
  db: SqliteConnection,
  hash: string,
): Pick<BlobRow, "size" | "in_file"> | undefined {
  return db.get("SELECT size, in_file FROM blobs WHERE hash = ?", hash);
}

/**
 * Renews a blob's grace period. Returns where its bytes are stored. `put_at` may be in the future for blobs that may
 * stay unused for longer.
 */
export function touchBlob(
  db: SqliteConnection,
  hash: string,
  now: number,
): Pick<BlobRow, "size" | "in_file"> | undefined {
  return db.get(
    "UPDATE blobs SET put_at = max(put_at, ?) WHERE hash = ? RETURNING size, in_file",
    now,
    hash,
  );
}

/** Inserts a blob. `bytes` is null if they are in a file. An existing blob keeps its location and media type. */
export function upsertBlob(
  db: SqliteConnection,
  blob: { hash: string; mediaType: string; size: number; bytes: Uint8Array | null; now: number },
): void {
  db.run(
    `INSERT INTO blobs (hash, media_type, size, in_file, bytes, put_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (hash) DO UPDATE SET put_at = max(put_at, excluded.put_at)`,
    blob.hash,
    blob.mediaType,
    blob.size,
    blob.bytes === null ? 1 : 0,
    blob.bytes,
    blob.now,
  );
}

export function insertBlobRef(db: SqliteConnection, root: number, hash: string): void {
  db.run(
    "INSERT INTO blob_refs (root, hash) VALUES (?, ?) ON CONFLICT (root, hash) DO NOTHING",
    root,
    hash,
  );
}

export function deleteBlobRef(db: SqliteConnection, root: number, hash: string): void {
  db.run("DELETE FROM blob_refs WHERE root = ? AND hash = ?", root, hash);
}

export function insertChatBlobRef(db: SqliteConnection, chat: number, hash: string): void {
  db.run(
    "INSERT INTO chat_blob_refs (chat, hash) VALUES (?, ?) ON CONFLICT (chat, hash) DO NOTHING",
    chat,
    hash,
  );
}

export function deleteChatBlobRef(db: SqliteConnection, chat: number, hash: string): void {
  db.run("DELETE FROM chat_blob_refs WHERE chat = ? AND hash = ?", chat, hash);
}

/** True if no task and no chat refers to the blob. */
const unusedCondition = `NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)
        AND NOT EXISTS (SELECT 1 FROM chat_blob_refs WHERE chat_blob_refs.hash = blobs.hash)`;

/** Ends longer grace periods of blobs that are in use: they are removedBlobs with the last reference. */
export function endUsedBlobsGrace(db: SqliteConnection, now: number): void {
  db.run(`UPDATE blobs SET put_at = ?1 WHERE put_at > ?1 AND NOT (${unusedCondition})`, now);
}

/** Ends the grace periods of a chat's blobs, before the chat is removedBlobs. */
export function endChatBlobsGrace(db: SqliteConnection, chat: number, now: number): void {
  db.run(
    `UPDATE blobs SET put_at = ?1 WHERE put_at > ?1
      AND hash IN (SELECT hash FROM chat_blob_refs WHERE chat = ?2)`,
    now,
    chat,
  );
}

export function sumFileBytes(db: SqliteConnection): number {
  return (
    db.get<{ bytes: number | null }>("SELECT sum(size) AS bytes FROM blobs WHERE in_file = 1")
      ?.bytes ?? 0
  );
}

/** Returns the size of unused blobs within their grace period. */
export function sumGraceBytes(db: SqliteConnection, storedSince: number): number {
  return (
    db.get<{ bytes: number | null }>(
      `SELECT sum(size) AS bytes FROM blobs WHERE put_at >= ?
        AND ${unusedCondition}`,
      storedSince,
    )?.bytes ?? 0
  );
}

export interface RemovedBlob {
  hash: string;
  in_file: 0 | 1;
}

/** Deletes up to `limit` unused blobs that were stored before a time. */
export function deleteUnusedBlobs(
  db: SqliteConnection,
  storedBefore: number,
  limit: number,
): RemovedBlob[] {
  const removedBlobs = db.all<RemovedBlob>(
    `DELETE FROM blobs WHERE hash IN (
      SELECT hash FROM blobs WHERE put_at < ?
        AND ${unusedCondition}
        LIMIT ?)
      RETURNING hash, in_file`,
    storedBefore,
    limit,
  );
  deleteBlobOwners(db, removedBlobs);
  return removedBlobs;
}

/** Deletes the blob references of a task. Unused blobs are deleted by the next pruning. */
export function deleteTaskBlobRefs(db: SqliteConnection, root: number): void {
  db.run("DELETE FROM blob_refs WHERE root = ?", root);
}

/** Deletes the blobs of a task that have no other references, if they were stored before a time. */
export function deleteTaskBlobs(
  db: SqliteConnection,
  root: number,
  storedBefore: number,
): RemovedBlob[] {
  const removedBlobs = db
    .all<{ hash: string }>("DELETE FROM blob_refs WHERE root = ? RETURNING hash", root)
    .flatMap(({ hash }) =>
      db.all<RemovedBlob>(
        `DELETE FROM blobs WHERE hash = ? AND put_at < ?
          AND ${unusedCondition}
          RETURNING hash, in_file`,
        hash,
        storedBefore,
      ),
    );
  deleteBlobOwners(db, removedBlobs);
  return removedBlobs;
}
