import type { JsonValue } from "@deltawire/tasks";
import { upgradeRemoval } from "@deltawire/tasks/chats";
import type { ChatVariable, Placeholder, Removal } from "@deltawire/tasks/chats";
import { parseTimeMs } from "../chats/summary-row.ts";
import type { SqliteConnection } from "./connection.ts";

/* Data of a chat that is stored separately from its nodes: replays, removals, placeholders and variables. */

/** Inserts or replaces the replay of a version. Returns the previous one. */
export function upsertReplay(
  db: SqliteConnection,
  chat: number,
  versionId: string,
  json: string,
): string | undefined {
  const previous = db.get<{ json: string }>(
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
  return previous;
}

const chatCondition = "chat = (SELECT number FROM chats WHERE chat_id = ?)";

export function getReplays(
  db: SqliteConnection,
  chatId: string,
  versionIds?: readonly string[],
): Record<string, JsonValue[]> {
  const select = `SELECT version_id, json FROM chat_replays WHERE ${chatCondition}`;
  type Row = { version_id: string; json: string };
  const rows =
    versionIds === undefined
      ? db.all<Row>(`${select} ORDER BY number`, chatId)
      : versionIds.flatMap((id) => db.all<Row>(`${select} AND version_id = ?`, chatId, id));
  return Object.fromEntries(
    rows.map(({ version_id, json }) => [version_id, JSON.parse(json) as JsonValue[]]),
  );
}

/** Returns the versions that have a stored replay. */
export function filterVersionsWithReplay(
  db: SqliteConnection,
  chat: number,
  versionIds: readonly string[],
): string[] {
  return versionIds.filter(
    (id) =>
      db.get("SELECT 1 FROM chat_replays WHERE chat = ? AND version_id = ?", chat, id) !==
      undefined,
  );
}

/** Deletes the replay of a version and returns it. */
export function deleteReplay(
  db: SqliteConnection,
  chat: number,
  versionId: string,
): string | undefined {
  return db.get<{ json: string }>(
    "DELETE FROM chat_replays WHERE chat = ? AND version_id = ? RETURNING json",
    chat,
    versionId,
  )?.json;
}

export function insertRemoval(
  db: SqliteConnection,
  chat: number,
  { removal_id, removed_at }: Removal,
  json: string,
): void {
  db.run(
    `INSERT INTO chat_removals (chat, removal_id, removed, json) VALUES (?, ?, ?, ?)
      ON CONFLICT (chat, removal_id) DO UPDATE SET removed = excluded.removed, json = excluded.json`,
    chat,
    removal_id,
    parseTimeMs(removed_at),
    json,
  );
}

/** Returns the size of a removal in bytes of JSON. Undefined if it does not exist. */
export function getRemovalSize(
  db: SqliteConnection,
  chat: number,
  removalId: string,
): number | undefined {
  return db.get<{ size: number }>(
    "SELECT octet_length(json) AS size FROM chat_removals WHERE chat = ? AND removal_id = ?",
    chat,
    removalId,
  )?.size;
}

/** Deletes a removal. Returns its JSON if it contains `text`. */
export function deleteRemoval(
  db: SqliteConnection,
  chat: number,
  removalId: string,
  text: string,
): string | undefined {
  const row = db.get<{ json: string | null }>(
    `DELETE FROM chat_removals WHERE chat = ? AND removal_id = ?
      RETURNING CASE WHEN instr(json, ?) > 0 THEN json END AS json`,
    chat,
    removalId,
    text,
  );
  return row?.json ?? undefined;
}

/** Hides a removal that was undone until it is deleted. */
export function markRemovalUndone(db: SqliteConnection, chat: number, removalId: string): void {
  db.run(
    "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
    undonePrefix + removalId,
    chat,
  );
}

/** Returns a marked removal that is not deleted yet. */
export function findUndoneRemoval(
  db: SqliteConnection,
): { chat: number; removalId: string } | undefined {
  const row = db.get<{ name: string; value: string }>(
    "SELECT name, value FROM meta WHERE name >= ? AND name < ? LIMIT 1",
    undonePrefix,
    afterUndonePrefix,
  );
  return row && { chat: Number(row.value), removalId: row.name.slice(undonePrefix.length) };
}

export function unmarkRemovalUndone(db: SqliteConnection, removalId: string): void {
  db.run("DELETE FROM meta WHERE name = ?", undonePrefix + removalId);
}

const undonePrefix = "undone:";
const afterUndonePrefix = "undone;";
const notUndoneCondition = `NOT EXISTS (SELECT 1 FROM meta WHERE name = '${undonePrefix}' || removal_id)`;

/** Lists the removals of a chat, newest first. */
export function listRemovalIds(db: SqliteConnection, chatId: string): string[] {
  return db
    .all<{ removal_id: string }>(
      `SELECT removal_id FROM chat_removals WHERE ${chatCondition} AND ${notUndoneCondition} ORDER BY number DESC`,
      chatId,
    )
    .map(({ removal_id }) => removal_id);
}

export function getRemoval(
  db: SqliteConnection,
  chatId: string,
  removalId: string,
): Removal | undefined {
  const row = db.get<{ json: string }>(
    `SELECT json FROM chat_removals WHERE ${chatCondition} AND removal_id = ? AND ${notUndoneCondition}`,
    chatId,
    removalId,
  );
  return row && upgradeRemoval(JSON.parse(row.json) as Removal);
}

/** Deletes and returns the oldest removal if it is from before a time. */
export function deleteOldestRemoval(
  db: SqliteConnection,
  removedBefore: number,
): { chat: number; removal: Removal } | undefined {
  const row = db.get<{ chat: number; json: string }>(
    `DELETE FROM chat_removals WHERE number =
      (SELECT number FROM chat_removals WHERE removed < ? ORDER BY removed LIMIT 1)
      RETURNING chat, json`,
    removedBefore,
  );
  return row && { chat: row.chat, removal: JSON.parse(row.json) as Removal };
}

export function listChatPlaceholders(
  db: SqliteConnection,
  chatId: string,
  skip: number,
): Placeholder[] {
  return db
    .all<Placeholder>(
      `SELECT placeholder, value, kind FROM chat_placeholders WHERE ${chatCondition}
        ORDER BY number LIMIT -1 OFFSET ?`,
      chatId,
      skip,
    )
    .map(({ placeholder, value, kind }) => ({ placeholder, value, kind }));
}

/** Returns true if the value has another placeholder, or the placeholder is used for another value. */
export function conflictsWithPlaceholder(
  db: SqliteConnection,
  chat: number,
  { placeholder, value }: Placeholder,
): boolean {
  const conflicting = db.get(
    `SELECT 1 FROM chat_placeholders WHERE chat = ?1 AND value = ?2 AND placeholder <> ?3
      UNION ALL
      SELECT 1 FROM chat_placeholders WHERE chat = ?1 AND placeholder = ?3 AND value <> ?2 LIMIT 1`,
    chat,
    value,
    placeholder,
  );
  return conflicting !== undefined;
}

/** Has no effect if the placeholder is already stored. */
export function insertPlaceholder(
  db: SqliteConnection,
  chat: number,
  { placeholder, value, kind }: Placeholder,
): void {
  db.run(
    `INSERT INTO chat_placeholders (chat, placeholder, value, kind) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING`,
    chat,
    placeholder,
    value,
    kind,
  );
}

export function listChatVariables(db: SqliteConnection, chatId: string): ChatVariable[] {
  return db
    .all<{ json: string }>(
      `SELECT json FROM chat_variables WHERE ${chatCondition} ORDER BY number`,
      chatId,
    )
    .map(({ json }) => JSON.parse(json) as ChatVariable);
}

/** Returns true if a variable of another call has the same name. */
export function hasDuplicateName(
  db: SqliteConnection,
  chat: number,
  { name, call_id, of: part }: ChatVariable,
): boolean {
  const other = db.get(
    `SELECT 1 FROM chat_variables WHERE chat = ? AND json ->> 'name' = ?
      AND (call_id, part) <> (?, ?) LIMIT 1`,
    chat,
    name,
    call_id,
    part,
  );
  return other !== undefined;
}

/** Stores the variable unless one is stored for the same part of the same call. Returns the stored one. */
export function insertVariable(
  db: SqliteConnection,
  chat: number,
  variable: ChatVariable,
): ChatVariable {
  const { call_id, of: part } = variable;
  db.run(
    `INSERT INTO chat_variables (chat, call_id, part, json) VALUES (?, ?, ?, ?)
      ON CONFLICT (chat, call_id, part) DO NOTHING`,
    chat,
    call_id,
    part,
    JSON.stringify(variable),
  );
  const stored = db.get<{ json: string }>(
    "SELECT json FROM chat_variables WHERE chat = ? AND call_id = ? AND part = ?",
    chat,
    call_id,
    part,
  );
  return stored === undefined ? variable : (JSON.parse(stored.json) as ChatVariable);
}
