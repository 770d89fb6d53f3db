import type {
  ConversationItem,
  ListItemsOptions,
  StoredConversation,
} from "../conversation-store.ts";
import type { SqliteConnection } from "./connection.ts";

interface ItemRow {
  item_id: string;
  json: string;
}

const ownConversation =
  "(SELECT number FROM conversations WHERE owner = ? AND conversation_id = ?)";

export function insertConversation(
  db: SqliteConnection,
  { owner, conversationId, createdAt, metadata }: StoredConversation,
): void {
  db.run(
    "INSERT INTO conversations (owner, conversation_id, created_at, metadata) VALUES (?, ?, ?, ?)",
    owner,
    conversationId,
    createdAt,
    metadata,
  );
}

export function getConversation(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
): StoredConversation | undefined {
  const row = db.get<{ created_at: number; metadata: string }>(
    "SELECT created_at, metadata FROM conversations WHERE owner = ? AND conversation_id = ?",
    owner,
    conversationId,
  );
  return row && { owner, conversationId, createdAt: row.created_at, metadata: row.metadata };
}

export function updateConversation(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
  metadata: string,
): boolean {
  return (
    db.run(
      "UPDATE conversations SET metadata = ? WHERE owner = ? AND conversation_id = ?",
      metadata,
      owner,
      conversationId,
    ).changes > 0
  );
}

/** Call it in a transaction. */
export function deleteConversation(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
): boolean {
  db.run(
    `DELETE FROM conversation_items WHERE conversation = ${ownConversation}`,
    owner,
    conversationId,
  );
  return (
    db.run(
      "DELETE FROM conversations WHERE owner = ? AND conversation_id = ?",
      owner,
      conversationId,
    ).changes > 0
  );
}

/** Call it in a transaction. */
export function addConversationItems(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
  items: readonly ConversationItem[],
): boolean {
  const row = db.get<{ number: number; next: number }>(
    "SELECT number, next FROM conversations WHERE owner = ? AND conversation_id = ?",
    owner,
    conversationId,
  );
  if (row === undefined) return false;
  items.forEach(({ itemId, json }, index) =>
    db.run(
      `INSERT INTO conversation_items (conversation, position, item_id, json) VALUES (?, ?, ?, ?)
        ON CONFLICT (conversation, item_id) DO UPDATE SET json = excluded.json`,
      row.number,
      row.next + index,
      itemId,
      json,
    ),
  );
  db.run("UPDATE conversations SET next = next + ? WHERE number = ?", items.length, row.number);
  return true;
}

export function listConversationItems(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
  { after, limit, order }: ListItemsOptions,
): ConversationItem[] | undefined {
  const start =
    after === undefined
      ? { position: order === "asc" ? -1 : Number.MAX_SAFE_INTEGER }
      : db.get<{ position: number }>(
          `SELECT position FROM conversation_items WHERE conversation = ${ownConversation} AND item_id = ?`,
          owner,
          conversationId,
          after,
        );
  if (start === undefined) return undefined;
  return db
    .all<ItemRow>(
      `SELECT item_id, json FROM conversation_items WHERE conversation = ${ownConversation}
        AND position ${order === "asc" ? ">" : "<"} ? ORDER BY position ${order} LIMIT ?`,
      owner,
      conversationId,
      start.position,
      limit,
    )
    .map(toItem);
}

export function readConversation(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
  before: number,
): { items: ConversationItem[]; next: number } | undefined {
  const row = db.get<{ number: number; next: number }>(
    "SELECT number, next FROM conversations WHERE owner = ? AND conversation_id = ?",
    owner,
    conversationId,
  );
  if (row === undefined) return undefined;
  const rows = db.all<ItemRow>(
    "SELECT item_id, json FROM conversation_items WHERE conversation = ? AND position < ? ORDER BY position",
    row.number,
    before,
  );
  return { items: rows.map(toItem), next: row.next };
}

export function getConversationItem(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
  itemId: string,
): ConversationItem | undefined {
  const row = db.get<ItemRow>(
    `SELECT item_id, json FROM conversation_items WHERE conversation = ${ownConversation} AND item_id = ?`,
    owner,
    conversationId,
    itemId,
  );
  return row && toItem(row);
}

export function deleteConversationItem(
  db: SqliteConnection,
  owner: string,
  conversationId: string,
  itemId: string,
): boolean {
  return (
    db.run(
      `DELETE FROM conversation_items WHERE conversation = ${ownConversation} AND item_id = ?`,
      owner,
      conversationId,
      itemId,
    ).changes > 0
  );
}

function toItem({ item_id, json }: ItemRow): ConversationItem {
  return { itemId: item_id, json };
}
