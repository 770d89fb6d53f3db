import type { ChatChange, ChatListOptions, ChatSummary } from "@deltawire/tasks/chats";
import { chatSpan } from "./chat-nodes.ts";
import type { Connection } from "./connection.ts";

export interface ChatRow {
  number: number;
  stamp: number;
  deleted_at: string | null;
  /** The numbers that its next node and the next words of it get. */
  next_node: number;
  next_words: number;
}

export function chatRow(db: Connection, chatId: string): ChatRow | undefined {
  return db.get<ChatRow>(
    "SELECT number, stamp, deleted_at, next_node, next_words FROM chats WHERE chat_id = ?",
    chatId,
  );
}

/** Answers with its number. */
export function insertChat(db: Connection, summary: ChatSummary): number {
  return db.run(
    `INSERT INTO chats
      (chat_id, first_stamp, stamp, pinned, updated, summary, next_node, next_words)
      VALUES (?, ?, ?, ?, ?, ?, 1, 0)`,
    summary.chat_id,
    summary.stamp,
    ...columnsOf(summary),
  ).lastId;
}

export function updateChat(
  db: Connection,
  { number, next_node, next_words }: ChatRow,
  summary: ChatSummary,
): void {
  db.run(
    `UPDATE chats SET stamp = ?, pinned = ?, updated = ?, summary = ?, next_node = ?, next_words = ?
      WHERE number = ?`,
    ...columnsOf(summary),
    next_node,
    next_words,
    number,
  );
}

/** The number that the next words of a chat get; undefined where the chat is gone. */
export function takeWordsNumber(db: Connection, chat: number): number | undefined {
  const taken = db.get<{ next: number }>(
    "UPDATE chats SET next_words = next_words + 1 WHERE number = ? RETURNING next_words - 1 AS next",
    chat,
  );
  return taken && chat * chatSpan + taken.next;
}

function columnsOf(summary: ChatSummary): [number, number, number, string] {
  const { stamp, deleted_at: _, ...shown } = summary;
  const updated = milliseconds(summary.updated_at);
  return [stamp, summary.pinned ? 1 : 0, updated, JSON.stringify(shown)];
}

/** What is no time counts as the oldest of all. */
export function milliseconds(time: string): number {
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? 0 : parsed;
}

export function setDeleted(
  db: Connection,
  { number }: ChatRow,
  stamp: number,
  deletedAt: string | null,
): void {
  db.run(
    "UPDATE chats SET stamp = ?, deleted_at = ?, deleted = ? WHERE number = ?",
    stamp,
    deletedAt,
    deletedAt === null ? null : milliseconds(deletedAt),
    number,
  );
}

export function nextStamp(db: Connection): number {
  db.run("UPDATE chat_stamps SET head = head + 1");
  return chatStamps(db).head;
}

export function chatStamps(db: Connection): { head: number; oldest: number } {
  const { head = 0, oldest = 0 } =
    db.get<{ head: number; oldest: number }>("SELECT head, oldest FROM chat_stamps") ?? {};
  return { head, oldest };
}

export function setTags(db: Connection, chat: number, tags: readonly string[]): void {
  db.run("DELETE FROM chat_tags WHERE chat = ?", chat);
  for (const tag of tags)
    db.run("INSERT INTO chat_tags (chat, tag) VALUES (?, ?) ON CONFLICT DO NOTHING", chat, tag);
}

export function chatTags(db: Connection): { tag: string; chats: number }[] {
  return db
    .all<{ tag: string; chats: number }>(
      `SELECT tag, count(*) AS chats FROM chat_tags JOIN chats ON chats.number = chat_tags.chat
        WHERE deleted IS NULL GROUP BY tag ORDER BY tag`,
    )
    .map(({ tag, chats }) => ({ tag, chats }));
}

export interface SummaryRow {
  number: number;
  stamp: number;
  updated: number;
  deleted_at: string | null;
  summary: string;
}

const summaryColumns = "number, stamp, updated, deleted_at, summary";

export function summaryFrom({ summary, stamp, deleted_at }: SummaryRow): ChatSummary {
  const shown = JSON.parse(summary) as Omit<ChatSummary, "stamp" | "deleted_at">;
  return { ...shown, stamp, ...(deleted_at === null ? {} : { deleted_at }) };
}

/**
 * The plus keeps SQLite from looking up and sorting all that have the tag: of 10,000 chats that took 14 ms for a tag that a
 * third has, where going through the list in its order takes 1.3 at the most.
 */
const withTag = "+number IN (SELECT chat FROM chat_tags WHERE tag = ?)";

/** Pinned ones first, then the last changed first. */
export function listChats(db: Connection, options: ChatListOptions): ChatSummary[] {
  const { before, tag, deleted = false, limit } = options;
  const conditions = [deleted ? "deleted IS NOT NULL" : "deleted IS NULL"];
  const values: string[] = [];
  if (before !== undefined) {
    conditions.push(
      "(pinned, updated, number) < (SELECT pinned, updated, number FROM chats WHERE chat_id = ?)",
    );
    values.push(before);
  }
  if (tag !== undefined) {
    conditions.push(withTag);
    values.push(tag);
  }
  return db
    .all<SummaryRow>(
      `SELECT ${summaryColumns} FROM chats WHERE ${conditions.join(" AND ")}
        ORDER BY pinned DESC, updated DESC, number DESC LIMIT ?`,
      ...values,
      limit,
    )
    .map(summaryFrom);
}

/** Of those that are not deleted: the last changed first, after another one, and among some. */
export function chatsByChange(
  db: Connection,
  options: {
    after?: SummaryRow | undefined;
    among?: readonly number[];
    tag: string | undefined;
    limit: number;
  },
): SummaryRow[] {
  const { after, among, tag, limit } = options;
  const conditions = ["deleted IS NULL"];
  const values: (string | number)[] = [];
  if (after !== undefined) {
    conditions.push("(updated, number) < (?, ?)");
    values.push(after.updated, after.number);
  }
  if (among !== undefined) {
    conditions.push("number IN (SELECT value FROM json_each(?))");
    values.push(JSON.stringify(among));
  }
  if (tag !== undefined) {
    conditions.push(withTag);
    values.push(tag);
  }
  return db.all<SummaryRow>(
    `SELECT ${summaryColumns} FROM chats WHERE ${conditions.join(" AND ")}
      ORDER BY updated DESC, number DESC LIMIT ?`,
    ...values,
    limit,
  );
}

export function chatChanges(db: Connection, after: number, limit: number): ChatChange[] {
  const changed = db.all<SummaryRow>(
    `SELECT ${summaryColumns} FROM chats WHERE stamp > ? ORDER BY stamp LIMIT ?`,
    after,
    limit,
  );
  const removed = db.all<{ stamp: number; chat_id: string }>(
    "SELECT stamp, chat_id FROM removed_chats WHERE stamp > ? ORDER BY stamp LIMIT ?",
    after,
    limit,
  );
  const changes: ChatChange[] = [
    ...changed.map((row): ChatChange => {
      const chat = summaryFrom(row);
      return { type: "chat.changed", stamp: chat.stamp, chat };
    }),
    ...removed.map(({ stamp, chat_id }): ChatChange => ({ type: "chat.removed", stamp, chat_id })),
  ];
  return changes.toSorted((a, b) => a.stamp - b.stamp).slice(0, limit);
}
