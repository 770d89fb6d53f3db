import type { PostgresConnection } from "./connection.ts";

/* The search index of chats. */

export interface ChatTextRow {
  nodeId: string;
  /** Empty for a title. */
  versionId: string;
  /** The order in which the texts of a chat were written. */
  number: number;
  terms: readonly string[];
}

/** Inserts or replaces the terms of texts. Arrays of different lengths cannot be passed together, so they are sent as JSON. */
export async function upsertTexts(
  db: PostgresConnection,
  chat: number,
  texts: readonly ChatTextRow[],
): Promise<void> {
  await db.run(
    `INSERT INTO chat_texts (chat, node_id, version_id, number, terms)
      SELECT $1, node_id, version_id, number, ARRAY(SELECT json_array_elements_text(terms))
        FROM unnest($2::text[], $3::text[], $4::bigint[], $5::json[]) AS new (node_id, version_id, number, terms)
      ON CONFLICT (chat, node_id, version_id) DO UPDATE SET number = excluded.number, terms = excluded.terms`,
    chat,
    texts.map(({ nodeId }) => nodeId),
    texts.map(({ versionId }) => versionId),
    texts.map(({ number }) => number),
    texts.map(({ terms }) => JSON.stringify(terms)),
  );
}

export async function deleteTexts(
  db: PostgresConnection,
  chat: number,
  texts: readonly { nodeId: string; versionId: string }[],
): Promise<void> {
  await db.run(
    `DELETE FROM chat_texts WHERE chat = $1
      AND (node_id, version_id) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
    chat,
    texts.map(({ nodeId }) => nodeId),
    texts.map(({ versionId }) => versionId),
  );
}

/**
 * Returns texts of messages in a chat that have all of these terms, newest first, with the JSON of their nodes. `before` is
 * the number of the last text of the previous page.
 */
export async function listTextsWithTerms(
  db: PostgresConnection,
  chat: number,
  terms: readonly string[],
  { before, limit }: { before: number; limit: number },
): Promise<{ number: number; node_id: string; version_id: string; json: string }[]> {
  return db.all<{ number: number; node_id: string; version_id: string; json: string }>(
    `SELECT number, node_id, version_id, json FROM chat_texts JOIN chat_nodes USING (chat, node_id)
      WHERE chat = $1 AND node_id <> '' AND terms @> $2::text[] AND number < $3
      ORDER BY number DESC LIMIT $4`,
    chat,
    terms,
    before,
    limit,
  );
}
