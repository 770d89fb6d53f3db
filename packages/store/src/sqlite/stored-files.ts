import type { FileFilter, StoredFile } from "../file-store.ts";
import type { SqliteConnection } from "./connection.ts";

interface FileRow {
  owner: string;
  file_id: string;
  filename: string;
  purpose: string;
  media_type: string;
  size: number;
  created_at: number;
  expires_at: number | null;
}

const columns = "owner, file_id, filename, purpose, media_type, size, created_at, expires_at";

/** Returns false if all files together would be larger than `maxTotalBytes`. Call it in a transaction. */
export function insertFile(
  db: SqliteConnection,
  file: StoredFile,
  bytes: Uint8Array,
  maxTotalBytes: number,
): boolean {
  const total = db.get<{ size: number }>("SELECT coalesce(sum(size), 0) AS size FROM files");
  if ((total?.size ?? 0) + file.size > maxTotalBytes) return false;
  db.run(
    `INSERT INTO files (${columns}, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    file.owner,
    file.fileId,
    file.filename,
    file.purpose,
    file.mediaType,
    file.size,
    file.createdAt,
    file.expiresAt ?? null,
    bytes,
  );
  return true;
}

export function getFile(
  db: SqliteConnection,
  owner: string,
  fileId: string,
): StoredFile | undefined {
  const row = db.get<FileRow>(
    `SELECT ${columns} FROM files WHERE owner = ? AND file_id = ?`,
    owner,
    fileId,
  );
  return row && toFile(row);
}

export function getFileContent(
  db: SqliteConnection,
  owner: string,
  fileId: string,
): Uint8Array | undefined {
  const row = db.get<{ bytes: Uint8Array }>(
    "SELECT bytes FROM files WHERE owner = ? AND file_id = ?",
    owner,
    fileId,
  );
  return row?.bytes;
}

export function listFiles(
  db: SqliteConnection,
  owner: string,
  { after, limit, order, purpose }: FileFilter,
): StoredFile[] | undefined {
  const start =
    after === undefined
      ? { number: order === "asc" ? -1 : Number.MAX_SAFE_INTEGER }
      : db.get<{ number: number }>(
          "SELECT number FROM files WHERE owner = ? AND file_id = ?",
          owner,
          after,
        );
  if (start === undefined) return undefined;
  const rows = db.all<FileRow>(
    `SELECT ${columns} FROM files WHERE owner = ?1 AND number ${order === "asc" ? ">" : "<"} ?2
      AND (?3 IS NULL OR purpose = ?3) ORDER BY number ${order} LIMIT ?4`,
    owner,
    start.number,
    purpose ?? null,
    limit,
  );
  return rows.map(toFile);
}

export function deleteFile(db: SqliteConnection, owner: string, fileId: string): boolean {
  return db.run("DELETE FROM files WHERE owner = ? AND file_id = ?", owner, fileId).changes > 0;
}

/** Returns the number of deleted files. */
export function deleteExpiredFiles(db: SqliteConnection, now: number): number {
  return db.run("DELETE FROM files WHERE expires_at < ?", now).changes;
}

function toFile(row: FileRow): StoredFile {
  return {
    fileId: row.file_id,
    owner: row.owner,
    filename: row.filename,
    purpose: row.purpose,
    mediaType: row.media_type,
    size: row.size,
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  };
}
