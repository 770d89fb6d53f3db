import { deleteTaskBlobRefs, endChatBlobsGrace } from "./blobs.ts";
import { getChatRow, incrementStamp } from "./chats.ts";
import type { PostgresConnection } from "./connection.ts";
import { deleteTask, listEndedTasks } from "./prune-queries.ts";

/** Deletes a chat with all of its data and the ended tasks of its answers. Call it in a transaction. */
export async function removeChat(
  db: PostgresConnection,
  chatId: string,
  now: number,
): Promise<boolean> {
  const stamp = await incrementStamp(db);
  const row = await getChatRow(db, chatId);
  if (row === undefined) return false;
  const { number, owner } = row;
  // Waits for transactions that add data to the chat.
  await db.get("SELECT 1 FROM chats WHERE number = $1 FOR UPDATE", number);
  await endChatBlobsGrace(db, number, now);
  await db.run(
    `INSERT INTO removed_chats (stamp, chat_id, owner, removed) VALUES ($1, $2, $3, $4)
      ON CONFLICT (chat_id) DO UPDATE
      SET stamp = excluded.stamp, owner = excluded.owner, removed = excluded.removed`,
    stamp,
    chatId,
    owner,
    now,
  );
  await db.run("DELETE FROM grants WHERE owner = $1 AND session_id = $2", owner, chatId);
  for (const table of chatTables) await db.run(`DELETE FROM ${table} WHERE chat = $1`, number);
  await db.run("DELETE FROM chats WHERE number = $1", number);
  for (const root of await listEndedTasks(db, owner, chatId)) {
    await deleteTask(db, root);
    await deleteTaskBlobRefs(db, root);
  }
  return true;
}

const chatTables = [
  "chat_tags",
  "chat_nodes",
  "chat_texts",
  "gone_nodes",
  "running_answers",
  "chat_replays",
  "chat_removals",
  "chat_placeholders",
  "chat_variables",
  "chat_blob_refs",
  "untitled_chats",
];

/** Called when a chat with the same id is created again. */
export async function deleteRemovedChatMark(db: PostgresConnection, chatId: string): Promise<void> {
  await db.run("DELETE FROM removed_chats WHERE chat_id = $1", chatId);
}

/** Returns the chat that was deleted first among those deleted before a time. */
export async function findFirstDeletedChat(
  db: PostgresConnection,
  before: number,
): Promise<string | undefined> {
  const row = await db.get<{ chat_id: string }>(
    `SELECT chat_id FROM chats WHERE deleted IS NOT NULL AND deleted < $1
      ORDER BY deleted, number LIMIT 1`,
    before,
  );
  return row?.chat_id;
}

/** Deletes the records of removals before a time, which the change feed then no longer reports. */
export async function deleteRemovedChatMarksBefore(
  db: PostgresConnection,
  before: number,
): Promise<void> {
  await db.run(
    `UPDATE chat_stamps SET oldest =
      greatest(oldest, coalesce((SELECT max(stamp) FROM removed_chats WHERE removed < $1), 0))`,
    before,
  );
  await db.run("DELETE FROM removed_chats WHERE removed < $1", before);
}
