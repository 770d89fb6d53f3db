import type { FileFilter, StoredFile } from "../file-store.ts";
import { decodeText, type PostgresConnection } from "./connection.ts";

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
export async function insertFile(
  db: PostgresConnection,
  file: StoredFile,
  bytes: Uint8Array,
  maxTotalBytes: number,
): Promise<boolean> {
  const total = await db.get<{ size: number }>(
    "SELECT coalesce(sum(size), 0)::bigint AS size FROM files",
  );
  if ((total?.size ?? 0) + file.size > maxTotalBytes) return false;
  await db.run(
    `INSERT INTO files (${columns}, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
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

export async function getFile(
  db: PostgresConnection,
  owner: string,
  fileId: string,
): Promise<StoredFile | undefined> {
  const row = await db.get<FileRow>(
    `SELECT ${columns} FROM files WHERE owner = $1 AND file_id = $2`,
    owner,
    fileId,
  );
  return row && toFile(row);
}

export async function getFileContent(
  db: PostgresConnection,
  owner: string,
  fileId: string,
): Promise<Uint8Array | undefined> {
  const row = await db.get<{ bytes: Uint8Array }>(
    "SELECT bytes FROM files WHERE owner = $1 AND file_id = $2",
    owner,
    fileId,
  );
  return row?.bytes;
}

export async function listFiles(
  db: PostgresConnection,
  owner: string,
  { after, limit, order, purpose }: FileFilter,
): Promise<StoredFile[] | undefined> {
  const start =
    after === undefined
      ? { number: order === "asc" ? -1 : Number.MAX_SAFE_INTEGER }
      : await db.get<{ number: number }>(
          "SELECT number FROM files WHERE owner = $1 AND file_id = $2",
          owner,
          after,
        );
  if (start === undefined) return undefined;
  const rows = await db.all<FileRow>(
    `SELECT ${columns} FROM files WHERE owner = $1 AND number ${order === "asc" ? ">" : "<"} $2
      AND ($3::text IS NULL OR purpose = $3) ORDER BY number ${order} LIMIT $4`,
    owner,
    start.number,
    purpose ?? null,
    limit,
  );
  return rows.map(toFile);
}

export async function deleteFile(
  db: PostgresConnection,
  owner: string,
  fileId: string,
): Promise<boolean> {
  return (await db.run("DELETE FROM files WHERE owner = $1 AND file_id = $2", owner, fileId)) > 0;
}

/** Returns the number of deleted files. */
export async function deleteExpiredFiles(db: PostgresConnection, now: number): Promise<number> {
  return db.run("DELETE FROM files WHERE expires_at < $1", now);
}

function toFile(row: FileRow): StoredFile {
  return {
    fileId: row.file_id,
    owner: decodeText(row.owner),
    filename: decodeText(row.filename),
    purpose: decodeText(row.purpose),
    mediaType: decodeText(row.media_type),
    size: row.size,
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  };
}
