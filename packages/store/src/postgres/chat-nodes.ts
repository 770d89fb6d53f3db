import { upgradeNode } from "@deltawire/tasks/chats";
import type {
  ChatNode,
  ChatSummary,
  ChatUpdate,
  RunningAnswer,
  StoredChat,
} from "@deltawire/tasks/chats";
import { toStoredChat, type StoredChatHeader } from "../chats/chat-header.ts";
import { decodeText, type PostgresConnection } from "./connection.ts";

/** Returns a chat with its stamp, in one query for consistency with concurrent writes. */
export async function getChat(
  db: PostgresConnection,
  chatId: string,
): Promise<StoredChat | undefined> {
  const [header, ...nodes] = await db.all<{
    owner: string;
    stamp: number;
    deleted_at: string | null;
    node_id: string;
    json: string;
  }>(
    `SELECT owner, chats.stamp, deleted_at, node_id, json FROM chats JOIN chat_nodes ON chat = chats.number
      WHERE chat_id = $1 ORDER BY position`,
    chatId,
  );
  if (header === undefined) return undefined;
  const chat = { ...(JSON.parse(header.json) as StoredChatHeader), nodes: parseNodes(nodes) };
  return toStoredChat(chat, { ...header, owner: decodeText(header.owner) });
}

/** The ids are those of the JSON: the column cannot hold every character. */
function parseNodes(rows: readonly { json: string }[]): Record<string, ChatNode> {
  return Object.fromEntries(
    rows.map(({ json }) => {
      const node = upgradeNode(JSON.parse(json) as ChatNode);
      return [node.node_id, node];
    }),
  );
}

/** Returns the changes of a chat since a stamp, in one query for consistency. */
export async function getChatUpdate(
  db: PostgresConnection,
  chatId: string,
  from: number,
): Promise<ChatUpdate | undefined> {
  const rows = await db.all<{
    stamp: number;
    deleted_at: string | null;
    summary: string;
    node_id: string;
    /** Null for a deleted node. */
    json: string | null;
  }>(
    `WITH matching_chat AS (
        SELECT * FROM chats WHERE chat_id = $1 AND $2 BETWEEN first_stamp AND stamp
      )
      SELECT chats.stamp, deleted_at, summary, node_id, json, position FROM matching_chat AS chats
        JOIN chat_nodes ON chat_nodes.chat = chats.number
        WHERE chat_nodes.stamp > $2 OR node_id = ''
          OR EXISTS (SELECT 1 FROM running_answers AS running
            WHERE running.chat = chat_nodes.chat AND running.node_id = chat_nodes.node_id)
      UNION ALL
      SELECT chats.stamp, deleted_at, summary, node_id, NULL, 0 FROM matching_chat AS chats
        JOIN gone_nodes ON gone_nodes.chat = chats.number AND gone_nodes.stamp > $2
      ORDER BY position`,
    chatId,
    Math.min(from, Number.MAX_SAFE_INTEGER),
  );
  const header = rows.find(({ node_id }) => node_id === "");
  if (header === undefined || header.json === null) return undefined;
  const { usage } = JSON.parse(header.summary) as ChatSummary;
  const { stamp, deleted_at } = header;
  return {
    from,
    stamp,
    chat: JSON.parse(header.json) as StoredChatHeader,
    nodes: parseNodes(
      rows.flatMap(({ node_id, json }) => (node_id === "" || json === null ? [] : [{ json }])),
    ),
    deleted_node_ids: rows.flatMap(({ node_id, json }) =>
      json === null ? [decodeText(node_id)] : [],
    ),
    usage,
    ...(deleted_at === null ? {} : { deleted_at }),
  };
}

/** Returns the size of a chat's messages in bytes of JSON. */
export async function getChatBytes(db: PostgresConnection, chatId: string): Promise<number> {
  const row = await db.get<{ bytes: number | null }>(
    `SELECT sum(octet_length(json)) AS bytes FROM chats JOIN chat_nodes ON chat = chats.number
      WHERE chat_id = $1`,
    chatId,
  );
  return row?.bytes ?? 0;
}

export interface NodeRow {
  nodeId: string;
  position: number;
  json: string;
}

/** Inserts or updates nodes. An existing node keeps its position. */
export async function upsertNodes(
  db: PostgresConnection,
  chat: number,
  stamp: number,
  nodes: readonly NodeRow[],
): Promise<void> {
  const nodeIds = nodes.map(({ nodeId }) => nodeId);
  await db.run(
    `INSERT INTO chat_nodes (chat, node_id, position, stamp, json)
      SELECT $1, node_id, position, $2, json
        FROM unnest($3::text[], $4::bigint[], $5::text[]) AS new (node_id, position, json)
      ON CONFLICT (chat, node_id) DO UPDATE SET stamp = excluded.stamp, json = excluded.json`,
    chat,
    stamp,
    nodeIds,
    nodes.map(({ position }) => position),
    nodes.map(({ json }) => json),
  );
  await db.run(
    "DELETE FROM gone_nodes WHERE chat = $1 AND node_id = ANY($2::text[])",
    chat,
    nodeIds,
  );
}

/** Deletes nodes and records the deletion for `getChatUpdate`. */
export async function deleteNodes(
  db: PostgresConnection,
  chat: number,
  stamp: number,
  nodeIds: readonly string[],
): Promise<void> {
  await db.run(
    `WITH deleted AS (
        DELETE FROM chat_nodes WHERE chat = $1 AND node_id = ANY($3::text[]) RETURNING node_id
      )
      INSERT INTO gone_nodes (chat, node_id, stamp) SELECT $1, node_id, $2 FROM deleted
      ON CONFLICT (chat, node_id) DO UPDATE SET stamp = excluded.stamp`,
    chat,
    stamp,
    nodeIds,
  );
}

/** Replaces the running answers of nodes. */
export async function replaceRunningAnswers(
  db: PostgresConnection,
  chat: number,
  nodeIds: readonly string[],
  answers: readonly { nodeId: string; versionId: string; taskId: string }[],
): Promise<void> {
  await db.run(
    "DELETE FROM running_answers WHERE chat = $1 AND node_id = ANY($2::text[])",
    chat,
    nodeIds,
  );
  if (answers.length === 0) return;
  await db.run(
    `INSERT INTO running_answers (chat, node_id, version_id, task_id)
      SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[])`,
    chat,
    answers.map(({ nodeId }) => nodeId),
    answers.map(({ versionId }) => versionId),
    answers.map(({ taskId }) => taskId),
  );
}

export async function listRunningAnswers(db: PostgresConnection): Promise<RunningAnswer[]> {
  return db.all<{ chat_id: string; node_id: string; version_id: string; task_id: string }>(
    `SELECT chat_id, node_id, version_id, task_id FROM running_answers
      JOIN chats ON chats.number = running_answers.chat ORDER BY chat, node_id, version_id`,
  );
}
