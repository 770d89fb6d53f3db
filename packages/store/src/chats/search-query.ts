import { maxPrefixLength, toBigrams, tokenize } from "./tokenize.ts";

/** All parts must occur in the same text. */
export type QueryPart =
  /** Consecutive words, such as "e-mail". */
  | { match: "phrase"; words: readonly string[] }
  /** A substring of a run of characters. */
  | { match: "contains"; run: string }
  /** The last word, which may be incomplete. */
  | { match: "prefix"; word: string };

/** Maximum length of a query in UTF-16 units. */
const maxQueryLength = 200;
/** Maximum number of terms per phrase. Comparing 99 terms at every position of long text took seconds. */
const maxPhraseLength = 16;

/** Splits a query into parts. Phrases longer than `maxPhraseLength` are split; their pieces may occur in any order. */
export function parseQuery(query: string): QueryPart[] {
  const parts: QueryPart[] = [];
  for (const chunk of query.slice(0, maxQueryLength).split(/\s+/u)) {
    let phrase: string[] = [];
    const endPhrase = () => {
      for (const words of splitList(phrase, maxPhraseLength))
        parts.push({ match: "phrase", words });
      phrase = [];
    };
    for (const { kind, text } of tokenize(chunk)) {
      if (kind === "word") phrase.push(text);
      else {
        endPhrase();
        for (const run of splitList(Array.from(text), maxPhraseLength))
          parts.push({ match: "contains", run: run.join("") });
      }
    }
    endPhrase();
  }
  const byText = withLastWordAsPrefix(parts).map((part) => [JSON.stringify(part), part] as const);
  const distinctParts = [...new Map(byText).values()];
  return distinctParts.filter((part) => !distinctParts.some((other) => isCoveredBy(part, other)));
}

/** True if every text with the other part also contains this one. */
function isCoveredBy(part: QueryPart, other: QueryPart): boolean {
  if (part === other) return false;
  if (part.match === "contains") return other.match === "contains" && other.run.includes(part.run);
  if (part.match !== "phrase" || other.match !== "phrase") return false;
  return ` ${other.words.join(" ")} `.includes(` ${part.words.join(" ")} `);
}

function* splitList(list: readonly string[], length: number): Generator<string[]> {
  for (let index = 0; index < list.length; index += length) yield list.slice(index, index + length);
}

function withLastWordAsPrefix(parts: QueryPart[]): QueryPart[] {
  const last = parts.at(-1);
  const word = last?.match === "phrase" ? last.words.at(-1) : undefined;
  if (last?.match !== "phrase" || word === undefined) return parts;
  const before = last.words.slice(0, -1);
  const phrase: QueryPart[] = before.length === 0 ? [] : [{ match: "phrase", words: before }];
  return [...parts.slice(0, -1), ...phrase, { match: "prefix", word }];
}

/** An FTS5 expression. It contains only letters and digits of the query, in quotes. */
export interface SearchExpression {
  /** Uses complete terms, so that repeated lookups are cheap. */
  text: string;
  /** Set if `text` is too broad: the exact expression, which scans all words with a prefix at each lookup. */
  exact?: string;
}

/**
 * `findWordsByPrefix` returns the indexed words with a prefix, or undefined if there are too many. Returns undefined if
 * no text can match.
 */
export function buildSearchExpression(
  parts: readonly QueryPart[],
  findWordsByPrefix: (word: string) => string[] | undefined,
): SearchExpression | undefined {
  const texts: string[] = [];
  let prefixExpression: string | undefined; // for a prefix of many words, which is the last part
  for (const part of parts) {
    if (part.match === "phrase") texts.push(`words : "${part.words.join(" ")}"`);
    else if (part.match === "contains") texts.push(buildRunExpression(part.run));
    else {
      const letters = Array.from(part.word);
      const words = letters.length > maxPrefixLength ? findWordsByPrefix(part.word) : undefined;
      if (words?.length === 0) return undefined;
      if (words !== undefined)
        texts.push(`words : (${words.map((word) => `"${word}"`).join(" OR ")})`);
      else {
        texts.push(`begins : "${letters.slice(0, maxPrefixLength).join("")}"`);
        if (letters.length > maxPrefixLength) prefixExpression = `words : "${part.word}" *`;
      }
    }
  }
  if (texts.length === 0) return undefined;
  const text = joinWithAnd(texts);
  return prefixExpression === undefined
    ? { text }
    : { text, exact: joinWithAnd([...texts, prefixExpression]) };
}

function joinWithAnd(texts: readonly string[]): string {
  return texts.map((text) => `(${text})`).join(" AND ");
}

function buildRunExpression(run: string): string {
  const pairs = toBigrams(run);
  return Array.from(run).length === 1 ? `begins : "${run}"` : `words : "${pairs.join(" ")}"`;
}
