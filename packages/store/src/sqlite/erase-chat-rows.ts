import { rowsPerChat } from "./chat-nodes.ts";
import type { SqliteConnection } from "./connection.ts";

/**
 * Makes a chat unreachable and reports it in the change feed. Its index entries, nodes and large data are then deleted
 * with `listIndexSources`, `deleteRemovedNodes` and `deleteRemovedSideData`.
 */
export function removeChatRow(
  db: SqliteConnection,
  chat: { number: number; chatId: string; owner: string; stamp: number; now: number },
): void {
  const { number, chatId, owner, stamp, now } = chat;
  db.run("INSERT INTO removed_chat_numbers (number) VALUES (?)", number);
  db.run(
    "INSERT INTO removed_chats (stamp, chat_id, owner, removed) VALUES (?, ?, ?, ?)",
    stamp,
    chatId,
    owner,
    now,
  );
  db.run("DELETE FROM grants WHERE owner = ? AND session_id = ?", owner, chatId);
  for (const table of sideDataTables) db.run(`DELETE FROM ${table} WHERE chat = ?`, number);
  db.run("DELETE FROM chats WHERE number = ?", number);
}

const sideDataTables = [
  "chat_tags",
  "running_answers",
  "gone_nodes",
  "chat_placeholders",
  "chat_blob_refs",
  "untitled_chats",
];

/**
 * Deletes large data in steps: a row of `chat_removals` may contain as much text as the chat. Returns false if
 * no data remains.
 */
export function deleteRemovedSideData(
  db: SqliteConnection,
  number: number,
  limit: number,
): boolean {
  const rows = { chat_removals: 1, chat_replays: limit, chat_variables: limit };
  for (const [table, maxRows] of Object.entries(rows)) {
    const { changes } = db.run(
      `DELETE FROM ${table} WHERE number IN (SELECT number FROM ${table} WHERE chat = ? LIMIT ?)`,
      number,
      maxRows,
    );
    if (changes > 0) return true;
  }
  return false;
}

/** Deletes the record of a removed chat. Call it when a chat with the same id is created again. */
export function deleteRemovedChatMark(db: SqliteConnection, chatId: string): void {
  db.run("DELETE FROM removed_chats WHERE chat_id = ?", chatId);
}

export function findRemovedChat(db: SqliteConnection): number | undefined {
  return db.get<{ number: number }>("SELECT number FROM removed_chat_numbers LIMIT 1")?.number;
}

export function isChatRemoved(db: SqliteConnection, number: number): boolean {
  return db.get("SELECT 1 FROM removed_chat_numbers WHERE number = ?", number) !== undefined;
}

/** Deletes about `limit` nodes. If there are none, marks the removal of the chat as complete. */
export function deleteRemovedNodes(db: SqliteConnection, number: number, limit: number): void {
  const first = db.get<{ place: number }>(
    "SELECT place FROM chat_nodes WHERE place >= ? AND place < ? ORDER BY place LIMIT 1",
    number * rowsPerChat,
    (number + 1) * rowsPerChat,
  )?.place;
  if (first === undefined) db.run("DELETE FROM removed_chat_numbers WHERE number = ?", number);
  else
    db.run(
      "DELETE FROM chat_nodes WHERE place >= ? AND place < ?",
      first,
      Math.min(first + limit, (number + 1) * rowsPerChat),
    );
}

/** Returns the chat that was deleted first among those deleted before a time. */
export function findFirstDeletedChat(
  db: SqliteConnection,
  deletedBefore: number,
): string | undefined {
  return db.get<{ chat_id: string }>(
    `SELECT chat_id FROM chats WHERE deleted IS NOT NULL AND deleted < ?
      ORDER BY deleted, number LIMIT 1`,
    deletedBefore,
  )?.chat_id;
}

/** Deletes the records of chats that were removed before a time. The change feed then no longer reports them. */
export function deleteRemovedChatMarksBefore(db: SqliteConnection, time: number): void {
  db.run(
    `UPDATE chat_stamps SET oldest =
      max(oldest, coalesce((SELECT max(stamp) FROM removed_chats WHERE removed < ?), 0))`,
    time,
  );
  db.run("DELETE FROM removed_chats WHERE removed < ?", time);
}
