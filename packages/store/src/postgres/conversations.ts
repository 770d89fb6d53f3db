import type {
  ConversationItem,
  ListItemsOptions,
  StoredConversation,
} from "../conversation-store.ts";
import { decodeText, type PostgresConnection } from "./connection.ts";

interface ItemRow {
  item_id: string;
  json: string;
}

const ownConversation =
  "(SELECT number FROM conversations WHERE owner = $1 AND conversation_id = $2)";

export async function insertConversation(
  db: PostgresConnection,
  { owner, conversationId, createdAt, metadata }: StoredConversation,
): Promise<void> {
  await db.run(
    "INSERT INTO conversations (owner, conversation_id, created_at, metadata) VALUES ($1, $2, $3, $4)",
    owner,
    conversationId,
    createdAt,
    metadata,
  );
}

export async function getConversation(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
): Promise<StoredConversation | undefined> {
  const row = await db.get<{ created_at: number; metadata: string }>(
    "SELECT created_at, metadata FROM conversations WHERE owner = $1 AND conversation_id = $2",
    owner,
    conversationId,
  );
  return row && { owner, conversationId, createdAt: row.created_at, metadata: row.metadata };
}

export async function updateConversation(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
  metadata: string,
): Promise<boolean> {
  const count = await db.run(
    "UPDATE conversations SET metadata = $3 WHERE owner = $1 AND conversation_id = $2",
    owner,
    conversationId,
    metadata,
  );
  return count > 0;
}

/** Call it in a transaction. */
export async function deleteConversation(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
): Promise<boolean> {
  // Waits for transactions that add items.
  const row = await db.get<{ number: number }>(
    "DELETE FROM conversations WHERE owner = $1 AND conversation_id = $2 RETURNING number",
    owner,
    conversationId,
  );
  if (row === undefined) return false;
  await db.run("DELETE FROM conversation_items WHERE conversation = $1", row.number);
  return true;
}

/** Call it in a transaction. */
export async function addConversationItems(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
  items: readonly ConversationItem[],
): Promise<boolean> {
  const row = await db.get<{ number: number; first: number }>(
    `UPDATE conversations SET next = next + $3 WHERE owner = $1 AND conversation_id = $2
      RETURNING number, next - $3 AS first`,
    owner,
    conversationId,
    items.length,
  );
  if (row === undefined) return false;
  await Promise.all(
    items.map(({ itemId, json }, index) =>
      db.run(
        `INSERT INTO conversation_items (conversation, position, item_id, json) VALUES ($1, $2, $3, $4)
          ON CONFLICT (conversation, item_id) DO UPDATE SET json = excluded.json`,
        row.number,
        row.first + index,
        itemId,
        json,
      ),
    ),
  );
  return true;
}

export async function listConversationItems(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
  { after, limit, order }: ListItemsOptions,
): Promise<ConversationItem[] | undefined> {
  const start =
    after === undefined
      ? { position: order === "asc" ? -1 : maxPosition }
      : await db.get<{ position: number }>(
          `SELECT position FROM conversation_items WHERE conversation = ${ownConversation} AND item_id = $3`,
          owner,
          conversationId,
          after,
        );
  if (start === undefined) return undefined;
  const rows = await db.all<ItemRow>(
    `SELECT item_id, json FROM conversation_items WHERE conversation = ${ownConversation}
      AND position ${order === "asc" ? ">" : "<"} $3 ORDER BY position ${order} LIMIT $4`,
    owner,
    conversationId,
    start.position,
    limit,
  );
  return rows.map(toItem);
}

const maxPosition = 2 ** 31 - 1;

export async function readConversation(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
  before: number,
): Promise<{ items: ConversationItem[]; next: number } | undefined> {
  const row = await db.get<{ number: number; next: number }>(
    "SELECT number, next FROM conversations WHERE owner = $1 AND conversation_id = $2",
    owner,
    conversationId,
  );
  if (row === undefined) return undefined;
  const rows = await db.all<ItemRow>(
    "SELECT item_id, json FROM conversation_items WHERE conversation = $1 AND position < $2 ORDER BY position",
    row.number,
    Math.min(before, row.next),
  );
  return { items: rows.map(toItem), next: row.next };
}

export async function getConversationItem(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
  itemId: string,
): Promise<ConversationItem | undefined> {
  const row = await db.get<ItemRow>(
    `SELECT item_id, json FROM conversation_items WHERE conversation = ${ownConversation} AND item_id = $3`,
    owner,
    conversationId,
    itemId,
  );
  return row && toItem(row);
}

export async function deleteConversationItem(
  db: PostgresConnection,
  owner: string,
  conversationId: string,
  itemId: string,
): Promise<boolean> {
  const count = await db.run(
    `DELETE FROM conversation_items WHERE conversation = ${ownConversation} AND item_id = $3`,
    owner,
    conversationId,
    itemId,
  );
  return count > 0;
}

function toItem({ item_id, json }: ItemRow): ConversationItem {
  return { itemId: decodeText(item_id), json };
}
