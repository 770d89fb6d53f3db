import { createHash } from "node:crypto";
import type { JsonValue } from "@deltawire/tasks";
import { upgradeRemoval } from "@deltawire/tasks/chats";
import type { ChatVariable, Placeholder, Removal } from "@deltawire/tasks/chats";
import { decodeText, type PostgresConnection } from "./connection.ts";
import { serverTimeSql } from "./server-time.ts";

/* Data of a chat that is stored separately from its nodes: replays, removals, placeholders and variables. */

/** Inserts or replaces the replay of a version. Returns the previous one. */
export async function upsertReplay(
  db: PostgresConnection,
  chat: number,
  versionId: string,
  json: string,
): Promise<string | undefined> {
  const previous = await db.get<{ json: string }>(
    "SELECT json FROM chat_replays WHERE chat = $1 AND version_id = $2",
    chat,
    versionId,
  );
  await db.run(
    `INSERT INTO chat_replays (chat, version_id, json) VALUES ($1, $2, $3)
      ON CONFLICT (chat, version_id) DO UPDATE SET json = excluded.json`,
    chat,
    versionId,
    json,
  );
  return previous?.json;
}

const chatCondition = "chat = (SELECT number FROM chats WHERE chat_id = $1)";

export async function getReplays(
  db: PostgresConnection,
  chatId: string,
  versionIds?: readonly string[],
): Promise<Record<string, JsonValue[]>> {
  const rows = await db.all<{ version_id: string; json: string }>(
    `SELECT version_id, json FROM chat_replays
      WHERE ${chatCondition} AND ($2::text[] IS NULL OR version_id = ANY($2::text[])) ORDER BY number`,
    chatId,
    versionIds ?? null,
  );
  return Object.fromEntries(
    rows.map(({ version_id, json }) => [decodeText(version_id), JSON.parse(json) as JsonValue[]]),
  );
}

/** Deletes the replays of versions that are neither in the chat nor in a removal. Returns their JSON. */
export async function deleteUnusedReplays(
  db: PostgresConnection,
  chat: number,
  versionIds: readonly string[],
): Promise<string[]> {
  const isReferencedIn = (table: string) =>
    `EXISTS (SELECT 1 FROM ${table} AS source WHERE source.chat = $1
      AND strpos(source.json, '"' || replays.version_id || '"') > 0)`;
  const rows = await db.all<{ json: string }>(
    `DELETE FROM chat_replays AS replays WHERE replays.chat = $1 AND replays.version_id = ANY($2::text[])
      AND NOT (${isReferencedIn("chat_nodes")} OR ${isReferencedIn("chat_removals")})
      RETURNING json`,
    chat,
    versionIds,
  );
  return rows.map(({ json }) => json);
}

export async function insertRemoval(
  db: PostgresConnection,
  chat: number,
  { removal_id }: Removal,
  json: string,
): Promise<void> {
  await db.run(
    `INSERT INTO chat_removals (chat, removal_id, removed, json) VALUES ($1, $2, ${serverTimeSql}, $3)
      ON CONFLICT (chat, removal_id) DO UPDATE SET removed = excluded.removed, json = excluded.json`,
    chat,
    removal_id,
    json,
  );
}

/** Deletes a removal and returns its JSON. */
export async function deleteRemoval(
  db: PostgresConnection,
  chat: number,
  removalId: string,
): Promise<string | undefined> {
  const row = await db.get<{ json: string }>(
    "DELETE FROM chat_removals WHERE chat = $1 AND removal_id = $2 RETURNING json",
    chat,
    removalId,
  );
  return row?.json;
}

/** Lists the removals of a chat, newest first. */
export async function listRemovals(db: PostgresConnection, chatId: string): Promise<Removal[]> {
  const rows = await db.all<{ json: string }>(
    `SELECT json FROM chat_removals WHERE ${chatCondition} ORDER BY number DESC`,
    chatId,
  );
  return rows.map(({ json }) => upgradeRemoval(JSON.parse(json) as Removal));
}

export async function getRemoval(
  db: PostgresConnection,
  chatId: string,
  removalId: string,
): Promise<Removal | undefined> {
  const row = await db.get<{ json: string }>(
    `SELECT json FROM chat_removals WHERE ${chatCondition} AND removal_id = $2`,
    chatId,
    removalId,
  );
  return row && upgradeRemoval(JSON.parse(row.json) as Removal);
}

/** Deletes and returns the oldest removal if it is from before a time. */
export async function deleteOldestRemoval(
  db: PostgresConnection,
  removedBefore: number,
): Promise<{ chat: number; removal: Removal; json: string } | undefined> {
  const row = await db.get<{ chat: number; json: string }>(
    `DELETE FROM chat_removals WHERE number =
      (SELECT number FROM chat_removals WHERE removed < $1 ORDER BY removed LIMIT 1)
      RETURNING chat, json`,
    removedBefore,
  );
  return row && { ...row, removal: JSON.parse(row.json) as Removal };
}

export async function listPlaceholders(
  db: PostgresConnection,
  chatId: string,
  skip: number,
): Promise<Placeholder[]> {
  const rows = await db.all<{ placeholder: string; value: string; kind: string }>(
    `SELECT placeholder, value, kind FROM chat_placeholders WHERE ${chatCondition}
      ORDER BY number OFFSET $2`,
    chatId,
    skip,
  );
  return rows.map(({ placeholder, value, kind }) => ({
    placeholder,
    value: decodeText(value),
    kind,
  }));
}

/** Returns false if the value has another placeholder, or the placeholder is used for another value. */
export async function insertPlaceholder(
  db: PostgresConnection,
  chat: number,
  { placeholder, value, kind }: Placeholder,
): Promise<boolean> {
  const digest = createHash("sha256").update(value).digest();
  await db.run(
    `INSERT INTO chat_placeholders (chat, placeholder, value, digest, kind) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT DO NOTHING`,
    chat,
    placeholder,
    value,
    digest,
    kind,
  );
  const stored = await db.get(
    "SELECT 1 FROM chat_placeholders WHERE chat = $1 AND digest = $2 AND placeholder = $3",
    chat,
    digest,
    placeholder,
  );
  return stored !== undefined;
}

export async function listVariables(
  db: PostgresConnection,
  chatId: string,
): Promise<ChatVariable[]> {
  const rows = await db.all<{ json: string }>(
    `SELECT json FROM chat_variables WHERE ${chatCondition} ORDER BY number`,
    chatId,
  );
  return rows.map(({ json }) => JSON.parse(json) as ChatVariable);
}

/** Returns true if a variable of another call has the same name. */
export async function hasDuplicateName(
  db: PostgresConnection,
  chat: number,
  { name, call_id, of: part }: ChatVariable,
): Promise<boolean> {
  const other = await db.get(
    `SELECT 1 FROM chat_variables WHERE chat = $1 AND json::json ->> 'name' = $2
      AND (call_id, part) <> ($3, $4) LIMIT 1`,
    chat,
    name,
    call_id,
    part,
  );
  return other !== undefined;
}

/** Stores the variable unless one is stored for the same part of the same call. Returns the stored one. */
export async function insertVariable(
  db: PostgresConnection,
  chat: number,
  variable: ChatVariable,
): Promise<ChatVariable> {
  const { call_id, of: part } = variable;
  await db.run(
    `INSERT INTO chat_variables (chat, call_id, part, json) VALUES ($1, $2, $3, $4)
      ON CONFLICT (chat, call_id, part) DO NOTHING`,
    chat,
    call_id,
    part,
    JSON.stringify(variable),
  );
  const stored = await db.get<{ json: string }>(
    "SELECT json FROM chat_variables WHERE chat = $1 AND call_id = $2 AND part = $3",
    chat,
    call_id,
    part,
  );
  return stored === undefined ? variable : (JSON.parse(stored.json) as ChatVariable);
}
