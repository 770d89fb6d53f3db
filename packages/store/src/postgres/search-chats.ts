import type { ChatSearchResult, SearchChatsOptions, SearchHit } from "@deltawire/tasks/chats";
import { buildMarkdownSnippet, buildSnippet, findHighlights } from "../chats/build-snippet.ts";
import { getTextAndFormat } from "../chats/node-text.ts";
import { parseQuery, type QueryPart } from "../chats/search-query.ts";
import { buildQueryTerms, hasAllParts } from "../chats/search-terms.ts";
import { parseChatSummary, type SummaryRow } from "../chats/summary-row.ts";
import { listTextsWithTerms } from "./chat-texts.ts";
import { listChatsWithTerms } from "./chats.ts";
import type { PostgresConnection } from "./connection.ts";

const maxHits = 3;
const textsPerPage = 20;

/** The index finds texts with all terms of the query; each of them is then compared with the query itself. */
export async function searchChats(
  db: PostgresConnection,
  query: string,
  { owner, limit, tag }: SearchChatsOptions,
): Promise<ChatSearchResult[]> {
  const parts = parseQuery(query);
  const terms = buildQueryTerms(parts);
  if (terms.length === 0 || limit < 1) return [];
  const results: ChatSearchResult[] = [];
  for (let after: SummaryRow | undefined; results.length < limit;) {
    const remaining = limit - results.length;
    const page = { owner, after, tag, limit: remaining };
    const rows = await listChatsWithTerms(db, terms, page);
    for (const row of rows) {
      const result = await buildSearchResult(db, row, parts, terms);
      if (result !== undefined) results.push(result);
    }
    if (rows.length < remaining) break;
    after = rows.at(-1);
  }
  return results;
}

async function buildSearchResult(
  db: PostgresConnection,
  row: SummaryRow,
  parts: readonly QueryPart[],
  terms: readonly string[],
): Promise<ChatSearchResult | undefined> {
  const chat = parseChatSummary(row);
  const isTitleMatch = hasAllParts(chat.title, parts);
  const hits: SearchHit[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; hits.length < maxHits;) {
    const page = { before, limit: textsPerPage };
    const texts = await listTextsWithTerms(db, row.number, terms, page);
    for (const { node_id, version_id, json, number } of texts) {
      before = number;
      const { text = "", isMarkdown } = getTextAndFormat(json, version_id);
      if (hits.length >= maxHits || !hasAllParts(text, parts)) continue;
      const snippet = isMarkdown ? buildMarkdownSnippet(text, parts) : buildSnippet(text, parts);
      hits.push({ node_id, version_id, ...snippet });
    }
    if (texts.length < textsPerPage) break;
  }
  if (!isTitleMatch && hits.length === 0) return undefined;
  return { chat, title_marks: isTitleMatch ? findHighlights(chat.title, parts) : [], hits };
}
