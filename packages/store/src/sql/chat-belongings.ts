import type { JsonValue } from "@deltawire/tasks";
import { upgradeRemoval } from "@deltawire/tasks/chats";
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

/** Which of these versions have something stored for the model. */
export function versionsWithReplay(
  db: Connection,
  chat: number,
  versionIds: readonly string[],
): string[] {
  return versionIds.filter(
    (id) =>
      db.get("SELECT 1 FROM chat_replays WHERE chat = ? AND version_id = ?", chat, id) !==
      undefined,
  );
}

/** Returns what was stored. */
export function takeReplay(db: Connection, chat: number, versionId: string): string | undefined {
  return db.get<{ json: string }>(
    "DELETE FROM chat_replays WHERE chat = ? AND version_id = ? RETURNING json",
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

/** In bytes of JSON; undefined if there is no such removal. */
export function removalSize(db: Connection, chat: number, removalId: string): number | undefined {
  return db.get<{ size: number }>(
    "SELECT octet_length(json) AS size FROM chat_removals WHERE chat = ? AND removal_id = ?",
    chat,
    removalId,
  )?.size;
}

/** Returns its JSON if that contains `text`. */
export function deleteRemoval(
  db: Connection,
  chat: number,
  removalId: string,
  text: string,
): string | undefined {
  const deleted = db.get<{ json: string | null }>(
    `DELETE FROM chat_removals WHERE chat = ? AND removal_id = ?
      RETURNING CASE WHEN instr(json, ?) > 0 THEN json END AS json`,
    chat,
    removalId,
    text,
  );
  return deleted?.json ?? undefined;
}

/** Hides a removal that was undone until it is deleted. */
export function markUndone(db: Connection, chat: number, removalId: string): void {
  db.run(
    "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
    undonePrefix + removalId,
    chat,
  );
}

/** One that is marked and not deleted yet, if there is any. */
export function nextUndone(db: Connection): { chat: number; removalId: string } | undefined {
  const row = db.get<{ name: string; value: string }>(
    "SELECT name, value FROM meta WHERE name >= ? AND name < ? LIMIT 1",
    undonePrefix,
    afterUndonePrefix,
  );
  return row && { chat: Number(row.value), removalId: row.name.slice(undonePrefix.length) };
}

export function deleteUndoneMark(db: Connection, removalId: string): void {
  db.run("DELETE FROM meta WHERE name = ?", undonePrefix + removalId);
}

const undonePrefix = "undone:";
const afterUndonePrefix = "undone;";
const isNotUndone = `NOT EXISTS (SELECT 1 FROM meta WHERE name = '${undonePrefix}' || removal_id)`;

/** The newest first. */
export function removalIds(db: Connection, chatId: string): string[] {
  return db
    .all<{ removal_id: string }>(
      `SELECT removal_id FROM chat_removals WHERE ${ofChat} AND ${isNotUndone} ORDER BY number DESC`,
      chatId,
    )
    .map(({ removal_id }) => removal_id);
}

export function removalOf(db: Connection, chatId: string, removalId: string): Removal | undefined {
  const row = db.get<{ json: string }>(
    `SELECT json FROM chat_removals WHERE ${ofChat} AND removal_id = ? AND ${isNotUndone}`,
    chatId,
    removalId,
  );
  return row && upgradeRemoval(JSON.parse(row.json) as Removal);
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
