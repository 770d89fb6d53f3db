import { findHighlights } from "./build-snippet.ts";
import type { QueryPart } from "./search-query.ts";
import { buildIndexedText, maxPrefixLength, toBigrams } from "./tokenize.ts";

/*
 * Text and queries as sets of terms, for an index that finds text by terms but not by phrases: each word, each pair of
 * characters of a run, and with a `*` each prefix of a word and each character of a run.
 */

/** Returns the distinct terms of the text. */
export function buildSearchTerms(text: string): string[] {
  const { words, prefixes } = buildIndexedText(text);
  const terms = new Set(words === "" ? [] : words.split(" "));
  if (prefixes !== "") for (const prefix of prefixes.split(" ")) terms.add(`${prefix}*`);
  return [...terms];
}

/** Returns the terms that all matching text has. Other text may have them too: compare with `hasAllParts`. */
export function buildQueryTerms(parts: readonly QueryPart[]): string[] {
  const terms = parts.flatMap((part) => {
    if (part.match === "phrase") return part.words;
    if (part.match === "prefix")
      return [`${Array.from(part.word).slice(0, maxPrefixLength).join("")}*`];
    return Array.from(part.run).length === 1 ? [`${part.run}*`] : toBigrams(part.run);
  });
  return [...new Set(terms)];
}

/** True if the text contains all parts of a query. */
export function hasAllParts(text: string, parts: readonly QueryPart[]): boolean {
  return parts.every((part) => findHighlights(text, [part], { firstOnly: true }).length > 0);
}
