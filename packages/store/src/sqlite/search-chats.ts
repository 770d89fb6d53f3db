import type { ChatSearchResult, SearchChatsOptions, SearchHit } from "@deltawire/tasks/chats";
import { getHeaderPlace } from "./chat-nodes.ts";
import {
  listMatchingChats,
  findMatchesInChats,
  findMatchesInChat,
  findNextMatchingChat,
} from "./search-index.ts";
import { findIndexEntryNumber, findMatchesByChat, getIndexSource } from "./search-index.ts";
import { findWordsByPrefix } from "./search-index.ts";
import { parseChatSummary, type SummaryRow } from "../chats/summary-row.ts";
import { listChatsByUpdate } from "./chats.ts";
import type { SqliteConnection } from "./connection.ts";
import { type QueryPart, parseQuery } from "../chats/search-query.ts";
import { buildSearchExpression, type SearchExpression } from "../chats/search-query.ts";
import { findHighlights, buildMarkdownSnippet, buildSnippet } from "../chats/build-snippet.ts";
import { getTextAndFormat } from "../chats/node-text.ts";
import { hasAllParts } from "../chats/search-terms.ts";

const maxHits = 3;
/**
 * Returns how many of the most recently changed chats to search one by one, which finds frequent words quickly. If they have too
 * few matches, all matching chats are looked up. Measured with 2,000,000 messages: 30 to 100 µs per chat, and 0.1 µs per
 * matching message for the complete lookup.
 */
const getNewestCount = (limit: number): number => 10 + 3 * limit;
/** Maximum number of matches to load by chat. With more, only the chats are listed. */
const maxMatches = 20_000;
/**
 * A prefix is expanded to at most this many words. With more, its first letters are searched and the texts are
 * compared.
 */
const maxExpandedWords = 32;
/** Maximum number of texts to compare in the newest chats. With more, the exact expression is used for all chats. */
const maxTextReads = 300;

export function searchChats(
  db: SqliteConnection,
  query: string,
  { owner, limit, tag }: SearchChatsOptions,
): ChatSearchResult[] {
  const parts = parseQuery(query);
  const expression = buildSearchExpression(parts, (word) =>
    findWordsByPrefix(db, word, maxExpandedWords),
  );
  if (expression === undefined || limit < 1) return [];
  const search = { db, parts, expression, owner, limit, tag };
  const newest = searchNewest(search);
  if (newest === undefined) return searchAll(search, [], new Set());
  if (newest.results.length >= limit || newest.visited.size < getNewestCount(limit))
    return newest.results;
  return searchAll(search, newest.results, newest.visited);
}

interface ChatSearch {
  db: SqliteConnection;
  parts: readonly QueryPart[];
  expression: SearchExpression;
  owner: string;
  limit: number;
  tag: string | undefined;
}

/** Returns undefined if too many texts would have to be read. */
function searchNewest(
  search: ChatSearch,
): { results: ChatSearchResult[]; visited: Set<number> } | undefined {
  const { db, expression, owner, limit, tag } = search;
  const results: ChatSearchResult[] = [];
  const visited = new Set<number>();
  // A lookup returns the next matching chat, so all chats before it have no match.
  const gaps: { from: number; to: number }[] = [];
  const readBudget = expression.exact === undefined ? undefined : { remaining: maxTextReads };
  for (const row of listChatsByUpdate(db, { owner, tag, limit: getNewestCount(limit) })) {
    const { number } = row;
    visited.add(number);
    if (results.length >= limit) break;
    if (gaps.some(({ from, to }) => from <= number && number < to)) continue;
    const next = findNextMatchingChat(db, expression.text, number);
    if (next !== number) {
      gaps.push({ from: number, to: next ?? Infinity });
      continue;
    }
    const chat = buildSearchResult(
      search,
      row,
      findMatchesInChat(db, expression.text, number),
      readBudget,
    );
    if (readBudget !== undefined && readBudget.remaining < 0) return undefined;
    if (chat !== undefined) results.push(chat);
  }
  return { results, visited };
}

function searchAll(
  search: ChatSearch,
  newestResults: ChatSearchResult[],
  visited: Set<number>,
): ChatSearchResult[] {
  const { db, expression, owner, limit, tag } = search;
  const results = [...newestResults];
  const { text, exact = text } = expression;
  const matchesByChat = findMatchesByChat(db, exact, maxMatches);
  const matchingChats =
    matchesByChat === undefined ? listMatchingChats(db, exact) : [...matchesByChat.keys()];
  const candidates = matchingChats.filter((number) => !visited.has(number));
  for (let after: SummaryRow | undefined; results.length < limit;) {
    const remaining = limit - results.length;
    const page = { owner, after, among: candidates, tag, limit: remaining };
    const rows = listChatsByUpdate(db, page);
    const numbers = rows.map(({ number }) => number);
    const knownMatches =
      matchesByChat ?? (exact === text ? undefined : findMatchesInChats(db, exact, numbers));
    for (const row of rows) {
      const matches = knownMatches?.get(row.number) ?? findMatchesInChat(db, exact, row.number);
      const chat = buildSearchResult(search, row, matches);
      if (chat !== undefined) results.push(chat);
    }
    if (rows.length < remaining) break;
    after = rows.at(-1);
  }
  return results;
}

/**
 * `matches` are in ascending order. Each of them is compared with its text, because the index does not know where a run of characters
 * ends, and its expression may be too broad. `remaining` is decreased for each text that is read.
 */
function buildSearchResult(
  { db, parts }: ChatSearch,
  row: SummaryRow,
  matches: readonly number[],
  readBudget?: { remaining: number },
): ChatSearchResult | undefined {
  const chat = parseChatSummary(row);
  const hits: SearchHit[] = [];
  const title = findIndexEntryNumber(db, getHeaderPlace(row.number), "");
  const isTitleMatch =
    title !== undefined && matches.includes(title) && hasAllParts(chat.title, parts);
  for (const number of matches.toReversed()) {
    if (hits.length >= maxHits || (readBudget !== undefined && readBudget.remaining < 0)) break;
    const source = number === title ? undefined : getIndexSource(db, number);
    if (source === undefined) continue; // the title, or about to be removed from the index
    const { node_id, version_id, json } = source;
    const { text = "", isMarkdown } = getTextAndFormat(json, version_id);
    if (readBudget !== undefined) readBudget.remaining -= 1;
    if (!hasAllParts(text, parts)) continue;
    const snippet = isMarkdown ? buildMarkdownSnippet(text, parts) : buildSnippet(text, parts);
    hits.push({ node_id, version_id, ...snippet });
  }
  if (!isTitleMatch && hits.length === 0) return undefined;
  return { chat, title_marks: isTitleMatch ? findHighlights(chat.title, parts) : [], hits };
}
