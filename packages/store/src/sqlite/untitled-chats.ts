import type { SqliteConnection } from "./connection.ts";

/* Chats without a title in which an answer has ended, until the title is stored or a process claims them. */

export function upsertUntitledChat(db: SqliteConnection, chat: number, now: number): void {
  db.run(
    `INSERT INTO untitled_chats (chat, since) VALUES (?, ?)
      ON CONFLICT (chat) DO UPDATE SET since = excluded.since`,
    chat,
    now,
  );
}

export function deleteUntitledChat(db: SqliteConnection, chat: number): void {
  db.run("DELETE FROM untitled_chats WHERE chat = ?", chat);
}

/**
 * Deletes the records from before `until`, and returns the chats of those that are not from before `from`. Call it in a
 * transaction.
 */
export function claimUntitledChats(
  db: SqliteConnection,
  { until, from, limit }: { until: number; from: number; limit: number },
): string[] {
  const rows = db.all<{ chat: number; since: number; chat_id: string | null }>(
    `SELECT chat, since, chat_id FROM untitled_chats
      LEFT JOIN chats ON chats.number = untitled_chats.chat AND chats.deleted IS NULL
      WHERE since <= ? ORDER BY since LIMIT ?`,
    until,
    limit,
  );
  return rows.flatMap(({ chat, since, chat_id }) => {
    deleteUntitledChat(db, chat);
    return chat_id === null || since < from ? [] : [chat_id];
  });
}
