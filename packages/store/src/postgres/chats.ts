import type { ChatChange, ListChatsOptions, ChatSummary } from "@deltawire/tasks/chats";
import { parseChatSummary, toSummaryColumns, type SummaryRow } from "../chats/summary-row.ts";
import { decodeText, type PostgresConnection, type SqlValue } from "./connection.ts";
import { serverTimeSql } from "./server-time.ts";

export interface StoredChatRow {
  number: number;
  owner: string;
  stamp: number;
  deleted_at: string | null;
  /** The next free numbers for nodes and texts. */
  next_node: number;
  next_text: number;
}

export async function getChatRow(
  db: PostgresConnection,
  chatId: string,
): Promise<StoredChatRow | undefined> {
  const row = await db.get<{
    number: number;
    owner: string;
    stamp: number;
    deleted_at: string | null;
    next_node: number;
    next_text: number;
  }>(
    "SELECT number, owner, stamp, deleted_at, next_node, next_text FROM chats WHERE chat_id = $1",
    chatId,
  );
  return row && { ...row, owner: decodeText(row.owner) };
}

/**
 * Returns the number of a chat, which no other transaction can lock, change or remove until the end of this one. Undefined if it
 * does not exist.
 */
export async function lockChat(
  db: PostgresConnection,
  chatId: string,
): Promise<number | undefined> {
  const row = await db.get<{ number: number }>(
    "SELECT number FROM chats WHERE chat_id = $1 FOR NO KEY UPDATE",
    chatId,
  );
  return row?.number;
}

/** Returns the number of the new chat. */
export async function insertChat(
  db: PostgresConnection,
  owner: string,
  summary: ChatSummary,
): Promise<number> {
  const row = await db.get<{ number: number }>(
    `INSERT INTO chats
      (chat_id, first_stamp, stamp, pinned, updated, summary, owner, next_node, next_text)
      VALUES ($1, $2, $2, $3, $4, $5, $6, 1, 0) RETURNING number`,
    summary.chat_id,
    ...toSummaryColumns(summary),
    owner,
  );
  if (row === undefined) throw new Error("INSERT returned no row");
  return row.number;
}

export async function updateChat(
  db: PostgresConnection,
  { number, next_node, next_text }: StoredChatRow,
  summary: ChatSummary,
): Promise<void> {
  await db.run(
    `UPDATE chats SET stamp = $2, pinned = $3, updated = $4, summary = $5, next_node = $6, next_text = $7
      WHERE number = $1`,
    number,
    ...toSummaryColumns(summary),
    next_node,
    next_text,
  );
}

export async function setChatDeleted(
  db: PostgresConnection,
  { number }: StoredChatRow,
  stamp: number,
  deletedAt: string | null,
): Promise<void> {
  await db.run(
    `UPDATE chats SET stamp = $2, deleted_at = $3, deleted = CASE WHEN $3::text IS NOT NULL THEN ${serverTimeSql} END
      WHERE number = $1`,
    number,
    stamp,
    deletedAt,
  );
}

/**
 * Returns the next stamp. Locks the row until the end of the transaction, so that all changes of chats are committed in the
 * order of their stamps.
 */
export async function incrementStamp(db: PostgresConnection): Promise<number> {
  const row = await db.get<{ head: number }>(
    "UPDATE chat_stamps SET head = head + 1 RETURNING head",
  );
  return row?.head ?? 0;
}

export async function getChatStamps(
  db: PostgresConnection,
): Promise<{ head: number; oldest: number }> {
  const row = await db.get<{ head: number; oldest: number }>(
    "SELECT head, oldest FROM chat_stamps",
  );
  return { head: row?.head ?? 0, oldest: row?.oldest ?? 0 };
}

export async function replaceChatTags(
  db: PostgresConnection,
  chat: number,
  tags: readonly string[],
): Promise<void> {
  await db.run("DELETE FROM chat_tags WHERE chat = $1", chat);
  await db.run(
    `INSERT INTO chat_tags (chat, tag) SELECT $1, tag FROM unnest($2::text[]) AS new (tag)
      ON CONFLICT DO NOTHING`,
    chat,
    tags,
  );
}

export async function listChatTags(
  db: PostgresConnection,
  owner: string,
): Promise<{ tag: string; chats: number }[]> {
  const rows = await db.all<{ tag: string; chats: number }>(
    `SELECT tag, count(*) AS chats FROM chat_tags JOIN chats ON chats.number = chat_tags.chat
      WHERE owner = $1 AND deleted IS NULL GROUP BY tag ORDER BY tag`,
    owner,
  );
  return rows.map(({ tag, chats }) => ({ tag: decodeText(tag), chats }));
}

const summaryColumns = "number, stamp, updated, deleted_at, summary";

/** Lists pinned chats first, then by last change, newest first. */
export async function listChats(
  db: PostgresConnection,
  { owner, before, tag, deleted = false, limit }: ListChatsOptions,
): Promise<ChatSummary[]> {
  const values: SqlValue[] = [owner];
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  const conditions = ["owner = $1", deleted ? "deleted IS NOT NULL" : "deleted IS NULL"];
  if (before !== undefined)
    conditions.push(
      `(pinned, updated, number) < (SELECT pinned, updated, number FROM chats WHERE chat_id = ${bind(before)} AND owner = $1)`,
    );
  if (tag !== undefined)
    conditions.push(`number IN (SELECT chat FROM chat_tags WHERE tag = ${bind(tag)})`);
  const rows = await db.all<SummaryRowResult>(
    `SELECT ${summaryColumns} FROM chats WHERE ${conditions.join(" AND ")}
      ORDER BY pinned DESC, updated DESC, number DESC LIMIT ${bind(limit)}`,
    ...values,
  );
  return rows.map(parseChatSummary);
}

type SummaryRowResult = SummaryRow & Record<string, unknown>;

/**
 * Lists chats of an owner that are not deleted and have a title or message with all of these terms, most recently changed
 * first. `after` is the last row of the previous page.
 */
export async function listChatsWithTerms(
  db: PostgresConnection,
  terms: readonly string[],
  options: {
    owner: string;
    after: SummaryRow | undefined;
    tag: string | undefined;
    limit: number;
  },
): Promise<SummaryRow[]> {
  const { owner, after, tag, limit } = options;
  const values: SqlValue[] = [terms, owner];
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  const conditions = [
    "owner = $2",
    "deleted IS NULL",
    "number IN (SELECT chat FROM chat_texts WHERE terms @> $1::text[])",
  ];
  if (after !== undefined)
    conditions.push(`(updated, number) < (${bind(after.updated)}, ${bind(after.number)})`);
  if (tag !== undefined)
    conditions.push(`number IN (SELECT chat FROM chat_tags WHERE tag = ${bind(tag)})`);
  return db.all<SummaryRowResult>(
    `SELECT ${summaryColumns} FROM chats WHERE ${conditions.join(" AND ")}
      ORDER BY updated DESC, number DESC LIMIT ${bind(limit)}`,
    ...values,
  );
}

/** Lists the last change of each chat of an owner, and removals, after a stamp. */
export async function listChatChanges(
  db: PostgresConnection,
  owner: string,
  after: number,
  limit: number,
): Promise<ChatChange[]> {
  const rows = await db.all<{ stamp: number; chat_id: string | null } & SummaryRowResult>(
    `SELECT ${summaryColumns}, NULL AS chat_id FROM chats WHERE owner = $3 AND stamp > $1
      UNION ALL
      SELECT 0, stamp, 0, NULL, '', chat_id FROM removed_chats WHERE owner = $3 AND stamp > $1
      ORDER BY stamp LIMIT $2`,
    after,
    limit,
    owner,
  );
  return rows.map((row): ChatChange => {
    const { stamp, chat_id } = row;
    return chat_id === null
      ? { type: "chat.changed", stamp, chat: parseChatSummary(row) }
      : { type: "chat.removed", stamp, chat_id: decodeText(chat_id) };
  });
}
