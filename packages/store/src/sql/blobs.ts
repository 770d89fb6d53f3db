import type { Connection } from "./connection.ts";

export interface BlobRow {
  media_type: string;
  size: number;
  in_file: 0 | 1;
  bytes: Uint8Array | null;
}

export function blobOf(db: Connection, hash: string): BlobRow | undefined {
  return db.get<BlobRow>("SELECT media_type, size, in_file, bytes FROM blobs WHERE hash = ?", hash);
}

export function blobPlace(
  db: Connection,
  hash: string,
): Pick<BlobRow, "size" | "in_file"> | undefined {
  return db.get("SELECT size, in_file FROM blobs WHERE hash = ?", hash);
}

/** Says that it is wanted again, and where it is. `put_at` is later than now for one that may stay unused for longer. */
export function touchBlob(
  db: Connection,
  hash: string,
  now: number,
): Pick<BlobRow, "size" | "in_file"> | undefined {
  return db.get(
    "UPDATE blobs SET put_at = max(put_at, ?) WHERE hash = ? RETURNING size, in_file",
    now,
    hash,
  );
}

/** `bytes` null: they are in a file. The same bytes a second time keep their place and their media type. */
export function upsertBlob(
  db: Connection,
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

export function insertBlobRef(db: Connection, root: number, hash: string): void {
  db.run(
    "INSERT INTO blob_refs (root, hash) VALUES (?, ?) ON CONFLICT (root, hash) DO NOTHING",
    root,
    hash,
  );
}

export function deleteBlobRef(db: Connection, root: number, hash: string): void {
  db.run("DELETE FROM blob_refs WHERE root = ? AND hash = ?", root, hash);
}

export function insertChatBlobRef(db: Connection, chat: number, hash: string): void {
  db.run(
    "INSERT INTO chat_blob_refs (chat, hash) VALUES (?, ?) ON CONFLICT (chat, hash) DO NOTHING",
    chat,
    hash,
  );
}

export function deleteChatBlobRef(db: Connection, chat: number, hash: string): void {
  db.run("DELETE FROM chat_blob_refs WHERE chat = ? AND hash = ?", chat, hash);
}

/** Neither a task nor a chat refers to it. */
const isUnused = `NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)
        AND NOT EXISTS (SELECT 1 FROM chat_blob_refs WHERE chat_blob_refs.hash = blobs.hash)`;

/** What is referred to goes with what refers to it, however long it was promised to stay unused. */
export function endGraceOfUsedBlobs(db: Connection, now: number): void {
  db.run(`UPDATE blobs SET put_at = ?1 WHERE put_at > ?1 AND NOT (${isUnused})`, now);
}

/** The same for what a chat refers to, before it is removed. */
export function endGraceOfChatBlobs(db: Connection, chat: number, now: number): void {
  db.run(
    `UPDATE blobs SET put_at = ?1 WHERE put_at > ?1
      AND hash IN (SELECT hash FROM chat_blob_refs WHERE chat = ?2)`,
    now,
    chat,
  );
}

export function bytesInFiles(db: Connection): number {
  return (
    db.get<{ bytes: number | null }>("SELECT sum(size) AS bytes FROM blobs WHERE in_file = 1")
      ?.bytes ?? 0
  );
}

/** Bytes of blobs that nothing refers to, but that were put since a time. */
export function bytesAwaited(db: Connection, putSince: number): number {
  return (
    db.get<{ bytes: number | null }>(
      `SELECT sum(size) AS bytes FROM blobs WHERE put_at >= ?
        AND ${isUnused}`,
      putSince,
    )?.bytes ?? 0
  );
}

export interface RemovedBlob {
  hash: string;
  in_file: 0 | 1;
}

/** Removes blobs, `limit` at the most, that nothing refers to and that were put before a time. */
export function deleteUnusedBlobs(db: Connection, putBefore: number, limit: number): RemovedBlob[] {
  return db.all(
    `DELETE FROM blobs WHERE hash IN (
      SELECT hash FROM blobs WHERE put_at < ?
        AND ${isUnused}
        LIMIT ?)
      RETURNING hash, in_file`,
    putBefore,
    limit,
  );
}

/** What a task referred to; what nothing else refers to goes with the next pruning. */
export function deleteBlobRefsOf(db: Connection, root: number): void {
  db.run("DELETE FROM blob_refs WHERE root = ?", root);
}

/** Removes those blobs of a task that nothing else refers to, if they were put before a time. */
export function deleteBlobsOf(db: Connection, root: number, putBefore: number): RemovedBlob[] {
  return db
    .all<{ hash: string }>("DELETE FROM blob_refs WHERE root = ? RETURNING hash", root)
    .flatMap(({ hash }) =>
      db.all<RemovedBlob>(
        `DELETE FROM blobs WHERE hash = ? AND put_at < ?
          AND ${isUnused}
          RETURNING hash, in_file`,
        hash,
        putBefore,
      ),
    );
}
