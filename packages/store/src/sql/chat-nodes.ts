import type {
  Chat,
  ChatNode,
  ChatSince,
  ChatSummary,
  KeptChat,
  RunningAnswer,
} from "@deltawire/tasks/chats";
import { upgradeNode } from "@deltawire/tasks/chats";
import type { Connection } from "./connection.ts";

/** How many rows of a kind one chat can have. */
export const chatSpan = 2 ** 20;

/** What a chat has beside its nodes. */
export type ChatHeader = Omit<Chat, "nodes">;

export function headerPlace(chat: number): number {
  return chat * chatSpan;
}

/** A chat with its stamp; in one query, so that both belong together for one who reads beside the writer. */
export function chatOf(db: Connection, chatId: string): KeptChat | undefined {
  const rows = db.all<{ stamp: number; deleted_at: string | null; node_id: string; json: string }>(
    `SELECT chats.stamp, deleted_at, node_id, json FROM chats JOIN chat_nodes ON ${ofChat}
      WHERE chat_id = ? ORDER BY place`,
    chatId,
  );
  const [header, ...nodes] = rows;
  if (header === undefined) return undefined;
  const { stamp, deleted_at } = header;
  const chat = { ...(JSON.parse(header.json) as ChatHeader), nodes: nodesFrom(nodes) };
  return { chat, stamp, ...(deleted_at === null ? {} : { deleted_at }) };
}

/** The rows of a chat lie side by side. */
const ofChat = `place >= chats.number * ${chatSpan} AND place < (chats.number + 1) * ${chatSpan}`;

function nodesFrom(rows: readonly { node_id: string; json: string }[]): Record<string, ChatNode> {
  return Object.fromEntries(
    rows.map(({ node_id, json }) => [node_id, upgradeNode(JSON.parse(json) as ChatNode)]),
  );
}

interface SinceRow {
  stamp: number;
  deleted_at: string | null;
  summary: string;
  node_id: string;
  /** Null for a node that is gone. */
  json: string | null;
}

/** What of a chat is other than it was at a stamp, in one query too. */
export function chatSince(db: Connection, chatId: string, from: number): ChatSince | undefined {
  const rows = db.all<SinceRow>(
    `WITH one AS (
        SELECT * FROM chats WHERE chat_id = ?1 AND ?2 BETWEEN first_stamp AND stamp
      )
      SELECT chats.stamp, deleted_at, summary, node_id, json FROM one AS chats
        JOIN chat_nodes ON ${ofChat}
        WHERE chat_nodes.stamp > ?2 OR node_id = ''
          OR EXISTS (SELECT 1 FROM running_answers AS running
            WHERE running.chat = chat_nodes.chat AND running.node_id = chat_nodes.node_id)
      UNION ALL
      SELECT chats.stamp, deleted_at, summary, node_id, NULL FROM one AS chats
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
    chat: JSON.parse(header.json) as ChatHeader,
    nodes: nodesFrom(
      rows.flatMap(({ node_id, json }) =>
        node_id === "" || json === null ? [] : [{ node_id, json }],
      ),
    ),
    gone: rows.flatMap(({ node_id, json }) => (json === null ? [node_id] : [])),
    usage,
    ...(deleted_at === null ? {} : { deleted_at }),
  };
}

export function placeOfNode(db: Connection, chat: number, nodeId: string): number | undefined {
  return db.get<{ place: number }>(
    "SELECT place FROM chat_nodes WHERE chat = ? AND node_id = ?",
    chat,
    nodeId,
  )?.place;
}

export function jsonAt(db: Connection, place: number): string | undefined {
  return db.get<{ json: string }>("SELECT json FROM chat_nodes WHERE place = ?", place)?.json;
}

export function stampAt(db: Connection, place: number): number | undefined {
  return db.get<{ stamp: number }>("SELECT stamp FROM chat_nodes WHERE place = ?", place)?.stamp;
}

/** Of a chat, all its messages: bytes of JSON. Reads no text. */
export function chatBytes(db: Connection, chatId: string): number {
  const row = db.get<{ bytes: number | null }>(
    `SELECT sum(octet_length(json)) AS bytes FROM chats JOIN chat_nodes ON ${ofChat} WHERE chat_id = ?`,
    chatId,
  );
  return row?.bytes ?? 0;
}

/** Nodes of all chats, and what the chats have beside them, in the order of their places. */
export function allNodesAfter(
  db: Connection,
  place: number,
  limit: number,
): { place: number; chat: number; json: string }[] {
  return db.all(
    "SELECT place, chat, json FROM chat_nodes WHERE place > ? ORDER BY place LIMIT ?",
    place,
    limit,
  );
}

export function insertNode(
  db: Connection,
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

export function updateNode(db: Connection, place: number, stamp: number, json: string): void {
  db.run("UPDATE chat_nodes SET stamp = ?, json = ? WHERE place = ?", stamp, json, place);
}

/** It is remembered that it was there. */
export function deleteNode(db: Connection, place: number, stamp: number): void {
  db.run(
    `INSERT INTO gone_nodes (chat, node_id, stamp)
      SELECT chat, node_id, ? FROM chat_nodes WHERE place = ?`,
    stamp,
    place,
  );
  db.run("DELETE FROM chat_nodes WHERE place = ?", place);
}

/** Running answers of a node, instead of those that it had. */
export function setRunning(
  db: Connection,
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

export function runningAnswers(db: Connection): RunningAnswer[] {
  return db
    .all<RunningAnswer>(
      `SELECT chat_id, node_id, version_id, task_id FROM running_answers
        JOIN chats ON chats.number = running_answers.chat ORDER BY chat, node_id, version_id`,
    )
    .map((row) => ({ ...row }));
}
