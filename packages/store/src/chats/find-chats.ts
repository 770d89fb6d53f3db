import type { FoundChat, SearchHit } from "@deltawire/tasks/chats";
import { headerPlace } from "../sql/chat-nodes.ts";
import { chatsWithMatch, matchesAmong, matchesIn, nextMatch } from "../sql/chat-search.ts";
import { numberOfWords, someMatches, sourceOfWords } from "../sql/chat-search.ts";
import { wordsBeginningWith } from "../sql/chat-search.ts";
import { chatsByChange, summaryFrom, type SummaryRow } from "../sql/chats.ts";
import type { Connection } from "../sql/connection.ts";
import { type QueryPart, queryParts } from "./search-query.ts";
import { searchExpression, type SearchExpression } from "./search-query.ts";
import { marksIn, plainSnippetOf, snippetOf } from "./snippet.ts";
import { wordsAndForm } from "./words-of-node.ts";

const mostHits = 3;
/**
 * The last changed chats are asked one by one: what many chats have is found there at once. What is not there is in few of
 * them or in old ones, and all that have it are looked up. Measured with 2,000,000 messages: an ask takes 30 to 100 µs, and
 * to look all up 0.1 µs for each message that has it.
 */
const newestFor = (limit: number): number => 10 + 3 * limit;
/** Messages that are looked up with their chats; of more, the chats alone. */
const mostMatches = 20_000;
/** A word that is typed in part stands for so many at the most. Of more, its first letters are looked for, and texts read. */
const mostWords = 32;
const mostReads = 300;

export function findChats(
  db: Connection,
  query: string,
  { limit, tag }: { limit: number; tag?: string },
): FoundChat[] {
  const parts = queryParts(query);
  const expression = searchExpression(parts, (word) => wordsBeginningWith(db, word, mostWords));
  if (expression === undefined || limit < 1) return [];
  const search = { db, parts, expression, limit, tag };
  const first = amongNewest(search);
  if (first === undefined) return amongAll(search, [], new Set());
  if (first.found.length >= limit || first.asked.size < newestFor(limit)) return first.found;
  return amongAll(search, first.found, first.asked);
}

interface Search {
  db: Connection;
  parts: readonly QueryPart[];
  expression: SearchExpression;
  limit: number;
  tag: string | undefined;
}

/** Undefined: too many texts were to be read. */
function amongNewest(search: Search): { found: FoundChat[]; asked: Set<number> } | undefined {
  const { db, expression, limit, tag } = search;
  const found: FoundChat[] = [];
  const asked = new Set<number>();
  // An ask goes on to the next chat that has it, however far that is, and so tells of those in between.
  const gaps: { from: number; to: number }[] = [];
  const reads = expression.exact === undefined ? undefined : { left: mostReads };
  for (const row of chatsByChange(db, { tag, limit: newestFor(limit) })) {
    const { number } = row;
    asked.add(number);
    if (found.length >= limit) break;
    if (gaps.some(({ from, to }) => from <= number && number < to)) continue;
    const next = nextMatch(db, expression.text, number);
    if (next !== number) {
      gaps.push({ from: number, to: next ?? Infinity });
      continue;
    }
    const chat = foundIn(search, row, matchesIn(db, expression.text, number), reads);
    if (reads !== undefined && reads.left < 0) return undefined;
    if (chat !== undefined) found.push(chat);
  }
  return { found, asked };
}

function amongAll(search: Search, before: FoundChat[], asked: Set<number>): FoundChat[] {
  const { db, expression, limit, tag } = search;
  const found = [...before];
  const { text, exact = text } = expression;
  const some = someMatches(db, exact, mostMatches);
  const all = some === undefined ? chatsWithMatch(db, exact) : [...some.keys()];
  const among = all.filter((number) => !asked.has(number));
  for (let after: SummaryRow | undefined; found.length < limit;) {
    const wanted = limit - found.length;
    const rows = chatsByChange(db, { after, among, tag, limit: wanted });
    const numbers = rows.map(({ number }) => number);
    const known = some ?? (exact === text ? undefined : matchesAmong(db, exact, numbers));
    for (const row of rows) {
      const matches = known?.get(row.number) ?? matchesIn(db, exact, row.number);
      const chat = foundIn(search, row, matches);
      if (chat !== undefined) found.push(chat);
    }
    if (rows.length < wanted) break;
    after = rows.at(-1);
  }
  return found;
}

/** `matches` are in ascending order. With `reads`, they may be none, and are counted. */
function foundIn(
  { db, parts }: Search,
  row: SummaryRow,
  matches: readonly number[],
  reads?: { left: number },
): FoundChat | undefined {
  const chat = summaryFrom(row);
  const hits: SearchHit[] = [];
  const isThere = (text: string) => reads === undefined || hasBegun(text, parts);
  const title = numberOfWords(db, headerPlace(row.number), "");
  const isTitle = title !== undefined && matches.includes(title) && isThere(chat.title);
  for (const number of matches.toReversed()) {
    if (hits.length >= mostHits || (reads !== undefined && reads.left < 0)) break;
    const source = number === title ? undefined : sourceOfWords(db, number);
    if (source === undefined) continue; // the title, or about to go from the index
    const { node_id, version_id, json } = source;
    const { words = "", isMarkdown } = wordsAndForm(json, version_id);
    if (reads !== undefined) reads.left -= 1;
    if (!isThere(words)) continue;
    const snippet = isMarkdown ? plainSnippetOf(words, parts) : snippetOf(words, parts);
    hits.push({ node_id, version_id, ...snippet });
  }
  if (!isTitle && hits.length === 0) return undefined;
  return { chat, title_marks: isTitle ? marksIn(chat.title, parts) : [], hits };
}

function hasBegun(text: string, parts: readonly QueryPart[]): boolean {
  const begun = parts.filter(({ match }) => match === "begun");
  return marksIn(text, begun, { firstOnly: true }).length > 0;
}
