import { chatSpan } from "./chat-nodes.ts";
import type { Connection } from "./connection.ts";

/*
 * The index of words. The rows of a chat lie side by side in it too, so that it costs little to ask a chat whether it has
 * something, however many others have it. Two things make it so. The order is ascending: for a descending one FTS5 reads
 * all that a term has up to the place. And bounds are cast, for Node hands numbers over as REAL, of which FTS5 makes no use.
 */

/** What the index holds of a text, as words with spaces between them. */
export interface IndexedText {
  /** Words in their order; of a run every two neighbours, so that its parts are phrases. */
  words: string;
  /** Once each, the first letters of words up to `longestBegin`, and the characters of runs. */
  begins: string;
}

export interface WordsRow {
  number: number;
  place: number;
  versionId: string;
  text: IndexedText;
}

export function insertWords(db: Connection, row: WordsRow): void {
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
    text.begins,
  );
}

/** The index itself holds no text: to take something out, it is told what that was made of. */
export function deleteWords(db: Connection, number: number, text: IndexedText): void {
  db.run("DELETE FROM chat_words WHERE number = ?", number);
  db.run(
    "INSERT INTO chat_search (chat_search, rowid, words, begins) VALUES ('delete', ?, ?, ?)",
    number,
    text.words,
    text.begins,
  );
}

export function numberOfWords(
  db: Connection,
  place: number,
  versionId: string,
): number | undefined {
  return db.get<{ number: number }>(
    "SELECT number FROM chat_words WHERE place = ? AND version_id = ?",
    place,
    versionId,
  )?.number;
}

export function hasWords(db: Connection, number: number): boolean {
  return db.get("SELECT 1 FROM chat_words WHERE number = ?", number) !== undefined;
}

/** Counts, in the file, the changes of chats that are not in the index yet. */
export function countUnfinished(db: Connection, by: 1 | -1): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('index', ?)
      ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + excluded.value`,
    by,
  );
  db.run("DELETE FROM meta WHERE name = 'index' AND CAST(value AS INTEGER) <= 0");
}

/** Empties the index if changes are missing in it, or if it is being rebuilt. Returns false if it is complete. */
export function startRebuild(db: Connection): boolean {
  const marked = db.get("SELECT 1 FROM meta WHERE name IN ('index', 'reindex') LIMIT 1");
  if (marked === undefined) return false;
  db.run("INSERT INTO meta (name, value) VALUES ('reindex', '') ON CONFLICT (name) DO NOTHING");
  db.run("DELETE FROM meta WHERE name = 'index'");
  db.run("DELETE FROM chat_words");
  db.run("INSERT INTO chat_search (chat_search) VALUES ('delete-all')");
  return true;
}

export function endRebuild(db: Connection): void {
  db.run("DELETE FROM meta WHERE name = 'reindex'");
}

/**
 * What is deleted stays in the pages of the index, beside a note that it is, until these are written anew. FTS5's own
 * secure-delete does that at once, but was measured to take 10 ms and more for a message of 60 words.
 */
export function askForMerge(db: Connection): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('search', 'to merge')
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
}

/** If it was asked for: writes the index anew, about so many pages of it. Answers whether there is more to do. */
export function mergeIndex(db: Connection, pages: number, isFirst: boolean): boolean {
  if (isFirst) {
    const asked = db.run("UPDATE meta SET value = 'merging' WHERE name = 'search'").changes;
    if (asked === 0) return false;
  }
  const before = changesOf(db);
  db.run(
    "INSERT INTO chat_search (chat_search, rank) VALUES ('merge', ?)",
    isFirst ? -pages : pages, // less than nothing: all segments into one
  );
  if (changesOf(db) - before >= 2) return true;
  db.run("DELETE FROM meta WHERE name = 'search' AND value = 'merging'"); // unless it was asked for anew
  return false;
}

function changesOf(db: Connection): number {
  return db.get<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
}

/** Words of the index that begin with something; undefined if they are more than `limit`. */
export function wordsBeginningWith(
  db: Connection,
  beginning: string,
  limit: number,
): string[] | undefined {
  const words: string[] = [];
  for (let from = beginning; ;) {
    // One by one: to count a term's rows, as other ways to list terms do, is to read them all.
    const term = db.get<{ term: string }>(
      "SELECT term FROM chat_vocabulary WHERE term >= ? AND term < ? LIMIT 1",
      from,
      `${beginning}\u{10ffff}`,
    )?.term;
    if (term === undefined) return words;
    if (words.length === limit) return undefined;
    words.push(term);
    from = `${term}\u0001`;
  }
}

/** The first chat that may have something, from a number on. */
export function nextMatch(db: Connection, expression: string, from: number): number | undefined {
  const found = db.get<{ rowid: number }>(
    `SELECT rowid FROM chat_search WHERE chat_search MATCH ? AND rowid >= CAST(? AS INTEGER)
      ORDER BY rowid LIMIT 1`,
    expression,
    from * chatSpan,
  );
  return found && Math.floor(found.rowid / chatSpan);
}

/** The numbers of all words that match, in ascending order, by their chats; undefined if they are more than `limit`. */
export function someMatches(
  db: Connection,
  expression: string,
  limit: number,
): Map<number, number[]> | undefined {
  const rows = db.all<{ rowid: number }>(
    "SELECT rowid FROM chat_search WHERE chat_search MATCH ? ORDER BY rowid LIMIT ?",
    expression,
    limit + 1,
  );
  return rows.length > limit ? undefined : byChat(rows);
}

/** Of some chats, in one go: for an expression that is dear to begin with. */
export function matchesAmong(
  db: Connection,
  expression: string,
  chats: readonly number[],
): Map<number, number[]> {
  const rows = db.all<{ rowid: number }>(
    `SELECT rowid FROM chat_search WHERE chat_search MATCH ?
      AND rowid / ${chatSpan} IN (SELECT value FROM json_each(?)) ORDER BY rowid`,
    expression,
    JSON.stringify(chats),
  );
  return byChat(rows);
}

function byChat(rows: readonly { rowid: number }[]): Map<number, number[]> {
  return Map.groupBy(
    rows.map(({ rowid }) => rowid),
    (rowid) => Math.floor(rowid / chatSpan),
  );
}

export function chatsWithMatch(db: Connection, expression: string): number[] {
  return db
    .all<{ chat: number }>(
      `SELECT DISTINCT rowid / ${chatSpan} AS chat FROM chat_search WHERE chat_search MATCH ?`,
      expression,
    )
    .map(({ chat }) => chat);
}

/** The numbers of the words of a chat that match, in ascending order. */
export function matchesIn(db: Connection, expression: string, chat: number): number[] {
  return db
    .all<{ rowid: number }>(
      `SELECT rowid FROM chat_search WHERE chat_search MATCH ?
        AND rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER) ORDER BY rowid`,
      expression,
      chat * chatSpan,
      (chat + 1) * chatSpan - 1,
    )
    .map(({ rowid }) => rowid);
}

/** Where words come from: a node, or the chat itself for its title. */
export interface WordsSource {
  number: number;
  node_id: string;
  version_id: string;
  json: string;
}

export function sourceOfWords(db: Connection, number: number): WordsSource | undefined {
  return db.get<WordsSource>(
    `SELECT number, node_id, version_id, json FROM chat_words JOIN chat_nodes USING (place)
      WHERE number = ?`,
    number,
  );
}

export function wordsOfChat(db: Connection, chat: number, limit: number): WordsSource[] {
  return db.all<WordsSource>(
    `SELECT number, node_id, version_id, json FROM chat_words JOIN chat_nodes USING (place)
      WHERE number >= ? AND number < ? ORDER BY number LIMIT ?`,
    chat * chatSpan,
    (chat + 1) * chatSpan,
    limit,
  );
}
