import type { JsonValue } from "@deltawire/tasks";
import type { ChatVariable, Placeholder, Removal } from "@deltawire/tasks/chats";
import { milliseconds } from "./chats.ts";
import type { Connection } from "./connection.ts";

/* What is kept beside a chat. */

/** Answers with what was kept before. */
export function upsertReplay(
  db: Connection,
  chat: number,
  versionId: string,
  json: string,
): string | undefined {
  const before = db.get<{ json: string }>(
    "SELECT json FROM chat_replays WHERE chat = ? AND version_id = ?",
    chat,
    versionId,
  )?.json;
  db.run(
    `INSERT INTO chat_replays (chat, version_id, json) VALUES (?, ?, ?)
      ON CONFLICT (chat, version_id) DO UPDATE SET json = excluded.json`,
    chat,
    versionId,
    json,
  );
  return before;
}

const ofChat = "chat = (SELECT number FROM chats WHERE chat_id = ?)";

export function replaysOf(
  db: Connection,
  chatId: string,
  versionIds?: readonly string[],
): Record<string, JsonValue[]> {
  const select = `SELECT version_id, json FROM chat_replays WHERE ${ofChat}`;
  type Row = { version_id: string; json: string };
  const rows =
    versionIds === undefined
      ? db.all<Row>(`${select} ORDER BY number`, chatId)
      : versionIds.flatMap((id) => db.all<Row>(`${select} AND version_id = ?`, chatId, id));
  return Object.fromEntries(
    rows.map(({ version_id, json }) => [version_id, JSON.parse(json) as JsonValue[]]),
  );
}

/** Removes what is kept for a version that is neither in the chat nor can be put back; answers with it. */
export function takeUnusedReplay(
  db: Connection,
  chat: number,
  versionId: string,
): string | undefined {
  return db.get<{ json: string }>(
    `DELETE FROM chat_replays WHERE chat = ?1 AND version_id = ?2
      AND NOT EXISTS (SELECT 1 FROM chat_nodes WHERE chat = ?1 AND instr(json, ?2) > 0)
      AND NOT EXISTS (SELECT 1 FROM chat_removals WHERE chat = ?1 AND instr(json, ?2) > 0)
      RETURNING json`,
    chat,
    versionId,
  )?.json;
}

export function insertRemoval(
  db: Connection,
  chat: number,
  { removal_id, removed_at }: Removal,
  json: string,
): void {
  db.run(
    `INSERT INTO chat_removals (chat, removal_id, removed, json) VALUES (?, ?, ?, ?)
      ON CONFLICT (chat, removal_id) DO UPDATE SET removed = excluded.removed, json = excluded.json`,
    chat,
    removal_id,
    milliseconds(removed_at),
    json,
  );
}

/** Answers with what was kept. */
export function deleteRemoval(db: Connection, chat: number, removalId: string): string | undefined {
  return db.get<{ json: string }>(
    "DELETE FROM chat_removals WHERE chat = ? AND removal_id = ? RETURNING json",
    chat,
    removalId,
  )?.json;
}

/** The newest first. */
export function removalsOf(db: Connection, chatId: string): Removal[] {
  return db
    .all<{ json: string }>(
      `SELECT json FROM chat_removals WHERE ${ofChat} ORDER BY number DESC`,
      chatId,
    )
    .map(({ json }) => JSON.parse(json) as Removal);
}

export function removalOf(db: Connection, chatId: string, removalId: string): Removal | undefined {
  const row = db.get<{ json: string }>(
    `SELECT json FROM chat_removals WHERE ${ofChat} AND removal_id = ?`,
    chatId,
    removalId,
  );
  return row && (JSON.parse(row.json) as Removal);
}

/** The first one that was removed before a time; it is gone then. */
export function takeOldRemoval(
  db: Connection,
  before: number,
): { chat: number; removal: Removal } | undefined {
  const row = db.get<{ chat: number; json: string }>(
    `DELETE FROM chat_removals WHERE number =
      (SELECT number FROM chat_removals WHERE removed < ? ORDER BY removed LIMIT 1)
      RETURNING chat, json`,
    before,
  );
  return row && { chat: row.chat, removal: JSON.parse(row.json) as Removal };
}

export function placeholdersOf(db: Connection, chatId: string): Placeholder[] {
  return db
    .all<Placeholder>(
      `SELECT placeholder, value, kind FROM chat_placeholders WHERE ${ofChat} ORDER BY number`,
      chatId,
    )
    .map(({ placeholder, value, kind }) => ({ placeholder, value, kind }));
}

/** A value that is known keeps its placeholder. False: another value has this one. */
export function insertPlaceholder(
  db: Connection,
  chat: number,
  { placeholder, value, kind }: Placeholder,
): boolean {
  db.run(
    `INSERT INTO chat_placeholders (chat, placeholder, value, kind) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING`,
    chat,
    placeholder,
    value,
    kind,
  );
  const kept = db.get("SELECT 1 FROM chat_placeholders WHERE chat = ? AND value = ?", chat, value);
  return kept !== undefined;
}

export function variablesOf(db: Connection, chatId: string): ChatVariable[] {
  return db
    .all<{ json: string }>(
      `SELECT json FROM chat_variables WHERE ${ofChat} ORDER BY number`,
      chatId,
    )
    .map(({ json }) => JSON.parse(json) as ChatVariable);
}

/** Kept once for its call and part; answers with what is kept. */
export function insertVariable(db: Connection, chat: number, variable: ChatVariable): ChatVariable {
  const { call_id, of: part } = variable;
  db.run(
    `INSERT INTO chat_variables (chat, call_id, part, json) VALUES (?, ?, ?, ?)
      ON CONFLICT (chat, call_id, part) DO NOTHING`,
    chat,
    call_id,
    part,
    JSON.stringify(variable),
  );
  const kept = db.get<{ json: string }>(
    "SELECT json FROM chat_variables WHERE chat = ? AND call_id = ? AND part = ?",
    chat,
    call_id,
    part,
  );
  return kept === undefined ? variable : (JSON.parse(kept.json) as ChatVariable);
}
