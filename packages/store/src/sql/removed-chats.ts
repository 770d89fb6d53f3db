import { chatSpan } from "./chat-nodes.ts";
import type { Connection } from "./connection.ts";

/**
 * From here on nobody finds the chat, and the feed says so. Its words, nodes and large belongings go by `wordsOfChat`,
 * `deleteRemovedNodes` and `deleteRemovedBelongings`.
 */
export function removeChatRow(
  db: Connection,
  chat: { number: number; chatId: string; stamp: number; now: number },
): void {
  const { number, chatId, stamp, now } = chat;
  db.run("INSERT INTO removed_chat_numbers (number) VALUES (?)", number);
  db.run(
    "INSERT INTO removed_chats (stamp, chat_id, removed) VALUES (?, ?, ?)",
    stamp,
    chatId,
    now,
  );
  db.run("DELETE FROM grants WHERE session_id = ?", chatId);
  for (const table of belongings) db.run(`DELETE FROM ${table} WHERE chat = ?`, number);
  db.run("DELETE FROM chats WHERE number = ?", number);
}

const belongings = [
  "chat_tags",
  "running_answers",
  "gone_nodes",
  "chat_placeholders",
  "chat_blob_refs",
];

/** What may be large goes in steps, as nodes do: a row of `chat_removals` may have as much text as the chat. */
export function deleteRemovedBelongings(db: Connection, number: number, limit: number): boolean {
  const rows = { chat_removals: 1, chat_replays: limit, chat_variables: limit };
  for (const [table, most] of Object.entries(rows)) {
    const { changes } = db.run(
      `DELETE FROM ${table} WHERE number IN (SELECT number FROM ${table} WHERE chat = ? LIMIT ?)`,
      number,
      most,
    );
    if (changes > 0) return true;
  }
  return false;
}

/** A chat of the same id is there again. */
export function forgetRemovalOf(db: Connection, chatId: string): void {
  db.run("DELETE FROM removed_chats WHERE chat_id = ?", chatId);
}

export function firstRemovedChat(db: Connection): number | undefined {
  return db.get<{ number: number }>("SELECT number FROM removed_chat_numbers LIMIT 1")?.number;
}

export function isChatRemoved(db: Connection, number: number): boolean {
  return db.get("SELECT 1 FROM removed_chat_numbers WHERE number = ?", number) !== undefined;
}

/** About `limit` of them. When none is left, the chat is gone for good. */
export function deleteRemovedNodes(db: Connection, number: number, limit: number): void {
  const first = db.get<{ place: number }>(
    "SELECT place FROM chat_nodes WHERE place >= ? AND place < ? ORDER BY place LIMIT 1",
    number * chatSpan,
    (number + 1) * chatSpan,
  )?.place;
  if (first === undefined) db.run("DELETE FROM removed_chat_numbers WHERE number = ?", number);
  else
    db.run(
      "DELETE FROM chat_nodes WHERE place >= ? AND place < ?",
      first,
      Math.min(first + limit, (number + 1) * chatSpan),
    );
}

/** The chat that was deleted first, if that was before a time. */
export function firstDeletedChat(db: Connection, before: number): string | undefined {
  return db.get<{ chat_id: string }>(
    `SELECT chat_id FROM chats WHERE deleted IS NOT NULL AND deleted < ?
      ORDER BY deleted, number LIMIT 1`,
    before,
  )?.chat_id;
}

/** The feed no longer tells of removals before a time. */
export function forgetRemovals(db: Connection, before: number): void {
  db.run(
    `UPDATE chat_stamps SET oldest =
      max(oldest, coalesce((SELECT max(stamp) FROM removed_chats WHERE removed < ?), 0))`,
    before,
  );
  db.run("DELETE FROM removed_chats WHERE removed < ?", before);
}
