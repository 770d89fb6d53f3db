import type { PostgresConnection } from "./connection.ts";
import { serverTimeSql } from "./server-time.ts";

/* Chats without a title in which an answer has ended, until the title is stored or a process claims them. */

export async function upsertUntitledChat(db: PostgresConnection, chat: number): Promise<void> {
  await db.run(
    `INSERT INTO untitled_chats (chat, since) VALUES ($1, ${serverTimeSql})
      ON CONFLICT (chat) DO UPDATE SET since = excluded.since`,
    chat,
  );
}

export async function deleteUntitledChat(db: PostgresConnection, chat: number): Promise<void> {
  await db.run("DELETE FROM untitled_chats WHERE chat = $1", chat);
}

/** Deletes the records that are at least `minAgeMs` old, and returns the chats of those that are not older than `maxAgeMs`. */
export async function claimUntitledChats(
  db: PostgresConnection,
  { minAgeMs, maxAgeMs, limit }: { minAgeMs: number; maxAgeMs: number; limit: number },
): Promise<string[]> {
  const rows = await db.all<{ chat_id: string }>(
    `WITH claimed AS (
        DELETE FROM untitled_chats WHERE chat IN (
          SELECT chat FROM untitled_chats WHERE since <= ${serverTimeSql} - $1::bigint
            ORDER BY since LIMIT $2 FOR UPDATE SKIP LOCKED
        ) RETURNING chat, since
      )
      SELECT chat_id FROM claimed JOIN chats ON chats.number = claimed.chat
        WHERE claimed.since >= ${serverTimeSql} - $3::bigint AND chats.deleted IS NULL ORDER BY claimed.since`,
    minAgeMs,
    limit,
    maxAgeMs,
  );
  return rows.map(({ chat_id }) => chat_id);
}
