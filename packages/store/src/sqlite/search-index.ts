import type { IndexedText } from "../chats/tokenize.ts";
import { rowsPerChat } from "./chat-nodes.ts";
import type { SqliteConnection } from "./connection.ts";

/*
 * The full-text index. The rows of a chat are adjacent, so that looking up one chat is cheap however many others match.
 * This requires ascending order, because for descending order FTS5 reads all rows of a term up to the position, and a
 * CAST of bounds, because Node passes numbers as REAL, which FTS5 cannot use.
 */

export interface IndexEntry {
  number: number;
  place: number;
  versionId: string;
  text: IndexedText;
}

export function insertIndexEntry(db: SqliteConnection, row: IndexEntry): void {
  const { number, place, versionId, text } = row;
  db.run(
    "INSERT INTO chat_words (number, place, version_id) VALUES (?, ?, ?)",
    number,
    place,
    versionId,
  );
  db.run(
    "INSERT INTO chat_search (rowid, words, begins) VALUES (?, ?, ?)",
    number,
    text.words,
    text.prefixes,
  );
}

/** The index stores no text, so deleting an entry requires its terms. */
export function deleteIndexEntry(db: SqliteConnection, number: number, text: IndexedText): void {
  db.run("DELETE FROM chat_words WHERE number = ?", number);
  db.run(
    "INSERT INTO chat_search (chat_search, rowid, words, begins) VALUES ('delete', ?, ?, ?)",
    number,
    text.words,
    text.prefixes,
  );
}

export function findIndexEntryNumber(
  db: SqliteConnection,
  place: number,
  versionId: string,
): number | undefined {
  return db.get<{ number: number }>(
    "SELECT number FROM chat_words WHERE place = ? AND version_id = ?",
    place,
    versionId,
  )?.number;
}

export function hasIndexEntry(db: SqliteConnection, number: number): boolean {
  return db.get("SELECT 1 FROM chat_words WHERE number = ?", number) !== undefined;
}

/** Changes the stored number of chat changes that are not in the index yet. */
export function addUnfinishedUpdates(db: SqliteConnection, increment: 1 | -1): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('index', ?)
      ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + excluded.value`,
    increment,
  );
  db.run("DELETE FROM meta WHERE name = 'index' AND CAST(value AS INTEGER) <= 0");
}

/** Empties the index if it lacks changes or a rebuild was started. Returns false if it is complete. */
export function startIndexRebuild(db: SqliteConnection): boolean {
  const rebuildMark = db.get("SELECT 1 FROM meta WHERE name IN ('index', 'reindex') LIMIT 1");
  if (rebuildMark === undefined) return false;
  db.run("INSERT INTO meta (name, value) VALUES ('reindex', '') ON CONFLICT (name) DO NOTHING");
  db.run("DELETE FROM meta WHERE name = 'index'");
  db.run("DELETE FROM chat_words");
  db.run("INSERT INTO chat_search (chat_search) VALUES ('delete-all')");
  return true;
}

export function endIndexRebuild(db: SqliteConnection): void {
  db.run("DELETE FROM meta WHERE name = 'reindex'");
}

/**
 * Deleted terms remain in the pages of the index until they are merged. FTS5's own secure-delete overwrites them at
 * once, but took 10 ms and more for a message of 60 words.
 */
export function requestIndexMerge(db: SqliteConnection): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('search', 'to merge')
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
}

/** Merges about this many pages of the index, if requested. Returns true if there is more to do. */
export function mergeIndexPages(db: SqliteConnection, pages: number, isFirst: boolean): boolean {
  if (isFirst) {
    const updatedRows = db.run("UPDATE meta SET value = 'merging' WHERE name = 'search'").changes;
    if (updatedRows === 0) return false;
  }
  const changesBefore = getTotalChanges(db);
  db.run(
    "INSERT INTO chat_search (chat_search, rank) VALUES ('merge', ?)",
    isFirst ? -pages : pages, // negative: merge all segments into one
  );
  if (getTotalChanges(db) - changesBefore >= 2) return true;
  db.run("DELETE FROM meta WHERE name = 'search' AND value = 'merging'"); // unless it was requested again
  return false;
}

function getTotalChanges(db: SqliteConnection): number {
  return db.get<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
}

/** Returns the indexed words with a prefix, or undefined if there are more than `limit`. */
export function findWordsByPrefix(
  db: SqliteConnection,
  prefix: string,
  limit: number,
): string[] | undefined {
  const words: string[] = [];
  for (let lowerBound = prefix; ;) {
    // One by one, because other ways to list terms count their rows and so read all of them.
    const term = db.get<{ term: string }>(
      "SELECT term FROM chat_vocabulary WHERE term >= ? AND term < ? LIMIT 1",
      lowerBound,
      `${prefix}\u{10ffff}`,
    )?.term;
    if (term === undefined) return words;
    if (words.length === limit) return undefined;
    words.push(term);
    lowerBound = `${term}\u0001`;
  }
}

/** Returns the first matching chat with at least this number. */
export function findNextMatchingChat(
  db: SqliteConnection,
  expression: string,
  lowerBound: number,
): number | undefined {
  const match = db.get<{ rowid: number }>(
    `SELECT rowid FROM chat_search WHERE chat_search MATCH ? AND rowid >= CAST(? AS INTEGER)
      ORDER BY rowid LIMIT 1`,
    expression,
    lowerBound * rowsPerChat,
  );
  return match && Math.floor(match.rowid / rowsPerChat);
}

/** Returns the matching entries by chat in ascending order, or undefined if there are more than `limit`. */
export function findMatchesByChat(
  db: SqliteConnection,
  expression: string,
  limit: number,
): Map<number, number[]> | undefined {
  const rows = db.all<{ rowid: number }>(
    "SELECT rowid FROM chat_search WHERE chat_search MATCH ? ORDER BY rowid LIMIT ?",
    expression,
    limit + 1,
  );
  return rows.length > limit ? undefined : groupByChat(rows);
}

/** Returns the matches in the given chats with one query, for expressions that are expensive to start. */
export function findMatchesInChats(
  db: SqliteConnection,
  expression: string,
  chats: readonly number[],
): Map<number, number[]> {
  const rows = db.all<{ rowid: number }>(
    `SELECT rowid FROM chat_search WHERE chat_search MATCH ?
      AND rowid / ${rowsPerChat} IN (SELECT value FROM json_each(?)) ORDER BY rowid`,
    expression,
    JSON.stringify(chats),
  );
  return groupByChat(rows);
}

function groupByChat(rows: readonly { rowid: number }[]): Map<number, number[]> {
  return Map.groupBy(
    rows.map(({ rowid }) => rowid),
    (rowid) => Math.floor(rowid / rowsPerChat),
  );
}

export function listMatchingChats(db: SqliteConnection, expression: string): number[] {
  return db
    .all<{ chat: number }>(
      `SELECT DISTINCT rowid / ${rowsPerChat} AS chat FROM chat_search WHERE chat_search MATCH ?`,
      expression,
    )
    .map(({ chat }) => chat);
}

/** Returns the matching entries of a chat in ascending order. */
export function findMatchesInChat(
  db: SqliteConnection,
  expression: string,
  chat: number,
): number[] {
  return db
    .all<{ rowid: number }>(
      `SELECT rowid FROM chat_search WHERE chat_search MATCH ?
        AND rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER) ORDER BY rowid`,
      expression,
      chat * rowsPerChat,
      (chat + 1) * rowsPerChat - 1,
    )
    .map(({ rowid }) => rowid);
}

/** The source of an index entry: a node, or the header of a chat for its title. */
export interface IndexSource {
  number: number;
  node_id: string;
  version_id: string;
  json: string;
}

export function getIndexSource(db: SqliteConnection, number: number): IndexSource | undefined {
  return db.get<IndexSource>(
    `SELECT number, node_id, version_id, json FROM chat_words JOIN chat_nodes USING (place)
      WHERE number = ?`,
    number,
  );
}

export function listIndexSources(db: SqliteConnection, chat: number, limit: number): IndexSource[] {
  return db.all<IndexSource>(
    `SELECT number, node_id, version_id, json FROM chat_words JOIN chat_nodes USING (place)
      WHERE number >= ? AND number < ? ORDER BY number LIMIT ?`,
    chat * rowsPerChat,
    (chat + 1) * rowsPerChat,
    limit,
  );
}
