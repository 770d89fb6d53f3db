import type {
  ChatNode,
  ChatUpdate,
  ChatSummary,
  StoredChat,
  RunningAnswer,
} from "@deltawire/tasks/chats";
import { upgradeNode } from "@deltawire/tasks/chats";
import { toStoredChat, type StoredChatHeader } from "../chats/chat-header.ts";
import type { SqliteConnection } from "./connection.ts";

/** Maximum number of rows per chat and table. */
export const rowsPerChat = 2 ** 20;

export function getHeaderPlace(chat: number): number {
  return chat * rowsPerChat;
}

/** Returns a chat with its stamp, in one query for consistency with concurrent writes. */
export function getChat(db: SqliteConnection, chatId: string): StoredChat | undefined {
  const rows = db.all<{
    owner: string;
    stamp: number;
    deleted_at: string | null;
    node_id: string;
    json: string;
  }>(
    `SELECT owner, chats.stamp, deleted_at, node_id, json FROM chats JOIN chat_nodes ON ${chatRowsCondition}
      WHERE chat_id = ? ORDER BY place`,
    chatId,
  );
  const [header, ...nodes] = rows;
  if (header === undefined) return undefined;
  const chat = { ...(JSON.parse(header.json) as StoredChatHeader), nodes: parseNodes(nodes) };
  return toStoredChat(chat, header);
}

/** The rows of a chat are adjacent. */
const chatRowsCondition = `place >= chats.number * ${rowsPerChat} AND place < (chats.number + 1) * ${rowsPerChat}`;

function parseNodes(rows: readonly { node_id: string; json: string }[]): Record<string, ChatNode> {
  return Object.fromEntries(
    rows.map(({ node_id, json }) => [node_id, upgradeNode(JSON.parse(json) as ChatNode)]),
  );
}

interface ChatUpdateRow {
  stamp: number;
  deleted_at: string | null;
  summary: string;
  node_id: string;
  /** Null for a deleted node. */
  json: string | null;
}

/** Returns the changes of a chat since a stamp, in one query for consistency. */
export function getChatUpdate(
  db: SqliteConnection,
  chatId: string,
  from: number,
): ChatUpdate | undefined {
  const rows = db.all<ChatUpdateRow>(
    `WITH matching_chat AS (
        SELECT * FROM chats WHERE chat_id = ?1 AND ?2 BETWEEN first_stamp AND stamp
      )
      SELECT chats.stamp, deleted_at, summary, node_id, json FROM matching_chat AS chats
        JOIN chat_nodes ON ${chatRowsCondition}
        WHERE chat_nodes.stamp > ?2 OR node_id = ''
          OR EXISTS (SELECT 1 FROM running_answers AS running
            WHERE running.chat = chat_nodes.chat AND running.node_id = chat_nodes.node_id)
      UNION ALL
      SELECT chats.stamp, deleted_at, summary, node_id, NULL FROM matching_chat AS chats
        JOIN gone_nodes ON gone_nodes.chat = chats.number AND gone_nodes.stamp > ?2`,
    chatId,
    from,
  );
  const header = rows.find(({ node_id }) => node_id === "");
  if (header?.json === undefined || header.json === null) return undefined;
  const { usage } = JSON.parse(header.summary) as ChatSummary;
  const { stamp, deleted_at } = header;
  return {
    from,
    stamp,
    chat: JSON.parse(header.json) as StoredChatHeader,
    nodes: parseNodes(
      rows.flatMap(({ node_id, json }) =>
        node_id === "" || json === null ? [] : [{ node_id, json }],
      ),
    ),
    deleted_node_ids: rows.flatMap(({ node_id, json }) => (json === null ? [node_id] : [])),
    usage,
    ...(deleted_at === null ? {} : { deleted_at }),
  };
}

export function findNodePlace(
  db: SqliteConnection,
  chat: number,
  nodeId: string,
): number | undefined {
  return db.get<{ place: number }>(
    "SELECT place FROM chat_nodes WHERE chat = ? AND node_id = ?",
    chat,
    nodeId,
  )?.place;
}

export function getNodeJson(db: SqliteConnection, place: number): string | undefined {
  return db.get<{ json: string }>("SELECT json FROM chat_nodes WHERE place = ?", place)?.json;
}

export function getNodeStamp(db: SqliteConnection, place: number): number | undefined {
  return db.get<{ stamp: number }>("SELECT stamp FROM chat_nodes WHERE place = ?", place)?.stamp;
}

/** Returns the size of a chat's messages in bytes of JSON, without reading them. */
export function getChatBytes(db: SqliteConnection, chatId: string): number {
  const row = db.get<{ bytes: number | null }>(
    `SELECT sum(octet_length(json)) AS bytes FROM chats JOIN chat_nodes ON ${chatRowsCondition} WHERE chat_id = ?`,
    chatId,
  );
  return row?.bytes ?? 0;
}

/** Lists nodes and headers of all chats in the order of their places. */
export function listNodesAfter(
  db: SqliteConnection,
  place: number,
  limit: number,
): { place: number; chat: number; json: string }[] {
  return db.all(
    "SELECT place, chat, json FROM chat_nodes WHERE place > ? ORDER BY place LIMIT ?",
    place,
    limit,
  );
}

export function insertNodeRow(
  db: SqliteConnection,
  node: { place: number; chat: number; nodeId: string; stamp: number; json: string },
): void {
  db.run(
    "INSERT INTO chat_nodes (place, chat, node_id, stamp, json) VALUES (?, ?, ?, ?, ?)",
    node.place,
    node.chat,
    node.nodeId,
    node.stamp,
    node.json,
  );
  db.run("DELETE FROM gone_nodes WHERE chat = ? AND node_id = ?", node.chat, node.nodeId);
}

export function updateNodeRow(
  db: SqliteConnection,
  place: number,
  stamp: number,
  json: string,
): void {
  db.run("UPDATE chat_nodes SET stamp = ?, json = ? WHERE place = ?", stamp, json, place);
}

/** Deletes a node and records the deletion for `getChatUpdate`. */
export function deleteNodeRow(db: SqliteConnection, place: number, stamp: number): void {
  db.run(
    `INSERT INTO gone_nodes (chat, node_id, stamp)
      SELECT chat, node_id, ? FROM chat_nodes WHERE place = ?`,
    stamp,
    place,
  );
  db.run("DELETE FROM chat_nodes WHERE place = ?", place);
}

/** Replaces the running answers of a node. */
export function replaceRunningAnswers(
  db: SqliteConnection,
  chat: number,
  nodeId: string,
  answers: readonly { version_id: string; task_id?: string }[],
): void {
  db.run("DELETE FROM running_answers WHERE chat = ? AND node_id = ?", chat, nodeId);
  for (const { version_id, task_id = "" } of answers)
    db.run(
      "INSERT INTO running_answers (chat, node_id, version_id, task_id) VALUES (?, ?, ?, ?)",
      chat,
      nodeId,
      version_id,
      task_id,
    );
}

export function listRunningAnswers(db: SqliteConnection): RunningAnswer[] {
  return db
    .all<RunningAnswer>(
      `SELECT chat_id, node_id, version_id, task_id FROM running_answers
        JOIN chats ON chats.number = running_answers.chat ORDER BY chat, node_id, version_id`,
    )
    .map((row) => ({ ...row }));
}
