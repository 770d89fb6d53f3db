import { markdownToText } from "@deltawire/tasks/markdown";
import type { QueryPart } from "./search-query.ts";
import { foldRun, type SearchTerm, tokenize } from "./tokenize.ts";

/** A half-open range in UTF-16 units. */
export type HighlightRange = readonly [start: number, end: number];

export interface Snippet {
  text: string;
  marks: HighlightRange[];
}

const snippetLength = 160;
/** Characters to show before the match. */
const leadLength = 40;
/** Characters of Markdown to parse before and after the match, because markup depends on complete lines. */
const markdownContextLength = 1000;

/**
 * Returns the text around the first match without Markdown syntax. If the match is only in the syntax, such as the URL
 * of a link, returns the source.
 */
export function buildMarkdownSnippet(markdown: string, parts: readonly QueryPart[]): Snippet {
  const [first = [0, 0]] = findHighlights(markdown, parts, { firstOnly: true });
  const lineStart = markdown.lastIndexOf("\n", Math.max(0, first[0] - leadLength)) + 1;
  const from = alignToCharacter(markdown, Math.max(lineStart, first[0] - markdownContextLength, 0));
  const to = alignToCharacter(markdown, first[1] + markdownContextLength);
  const plain = markdownToText(markdown.slice(from, to)).replaceAll(/\s*\n\s*/g, "\n");
  const isFound = findHighlights(plain, parts, { firstOnly: true }).length > 0;
  if (!isFound) return buildSnippet(markdown, parts);
  return buildSnippet(plain, parts, {
    isTruncatedBefore: from > 0,
    isTruncatedAfter: to < markdown.length,
  });
}

/** Returns the text around the first match. */
export function buildSnippet(
  text: string,
  parts: readonly QueryPart[],
  { isTruncatedBefore = false, isTruncatedAfter = false } = {},
): Snippet {
  const [first] = findHighlights(text, parts, { firstOnly: true });
  const from = alignToCharacter(text, Math.max(0, (first?.[0] ?? 0) - leadLength));
  const to = alignToCharacter(text, Math.max(from + snippetLength, first?.[1] ?? 0));
  const excerpt = text.slice(from, to);
  const ellipsis = from > 0 || isTruncatedBefore ? "…" : "";
  const marks = findHighlights(excerpt, parts).map(([start, end]): HighlightRange => [
    start + ellipsis.length,
    end + ellipsis.length,
  ]);
  return {
    text: `${ellipsis}${excerpt.replaceAll(/\s/g, " ")}${to < text.length || isTruncatedAfter ? "…" : ""}`,
    marks,
  };
}

/** Avoids splitting a surrogate pair. */
function alignToCharacter(text: string, index: number): number {
  if (index >= text.length) return text.length;
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff && index > 0 ? index - 1 : index;
}

/** Returns the ranges in order, without overlaps. */
export function findHighlights(
  text: string,
  parts: readonly QueryPart[],
  { firstOnly = false }: { firstOnly?: boolean } = {},
): HighlightRange[] {
  const marks: HighlightRange[] = [];
  const recentTerms: SearchTerm[] = []; // the last words, up to the length of the longest phrase
  const maxPhraseWords = Math.max(
    ...parts.map((part) => (part.match === "phrase" ? part.words.length : 1)),
  );
  for (const term of tokenize(text)) {
    recentTerms.push(term);
    if (recentTerms.length > maxPhraseWords) recentTerms.shift();
    for (const part of parts)
      for (const mark of findHighlightsAt(text, recentTerms, part)) {
        marks.push(mark);
        if (firstOnly) break; // a run may have a hundred thousand matches
      }
    if (firstOnly && marks.length > 0) break;
  }
  return mergeRanges(marks);
}

/** Returns the matches of a query part that end with the last term. */
function findHighlightsAt(
  text: string,
  terms: readonly SearchTerm[],
  part: QueryPart,
): Iterable<HighlightRange> {
  const last = terms.at(-1);
  if (last === undefined) return [];
  if (part.match === "contains")
    return last.kind === "run"
      ? findRunHighlights(text.slice(last.start, last.end), last, part.run)
      : [];
  if (last.kind !== "word") return [];
  if (part.match === "prefix") {
    if (!last.text.startsWith(part.word)) return [];
    const isPlain = last.text.length === last.end - last.start;
    return [[last.start, isPlain ? last.start + part.word.length : last.end]];
  }
  if (last.text !== part.words.at(-1)) return [];
  const phrase = terms.slice(-part.words.length);
  const isFound =
    phrase.length === part.words.length &&
    part.words.every(
      (word, index) => phrase[index]?.kind === "word" && phrase[index].text === word,
    );
  return isFound ? [[phrase[0]?.start ?? last.start, last.end]] : [];
}

function* findRunHighlights(
  run: string,
  term: SearchTerm,
  needle: string,
): Generator<HighlightRange, void> {
  const { text, start, end } = term;
  const offsets =
    run === text || !text.includes(needle) ? "identical" : mapFoldedOffsets(run, text);
  let first = text.indexOf(needle);
  for (; first >= 0; first = text.indexOf(needle, first + needle.length)) {
    const last = first + needle.length - 1;
    if (offsets === undefined) yield [start, end];
    else if (offsets === "identical") yield [start + first, start + last + 1];
    else yield [start + (offsets[first]?.[0] ?? 0), start + (offsets[last]?.[1] ?? run.length)];
  }
}

/** Maps each unit of a folded run to its source range. Undefined if characters cannot be mapped one by one. */
function mapFoldedOffsets(run: string, folded: string): HighlightRange[] | undefined {
  const offsets: HighlightRange[] = [];
  let text = "";
  for (const match of run.matchAll(/.[\p{M}\uff9e\uff9f]*/gu)) {
    const [piece] = match;
    const plain = foldRun(piece);
    text += plain;
    for (let unit = 0; unit < plain.length; unit += 1)
      offsets.push([match.index, match.index + piece.length]);
  }
  return text === folded ? offsets : undefined;
}

function mergeRanges(marks: HighlightRange[]): HighlightRange[] {
  const result: HighlightRange[] = [];
  for (const [start, end] of marks.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
    const last = result.at(-1);
    if (last !== undefined && start <= last[1])
      result[result.length - 1] = [last[0], Math.max(last[1], end)];
    else result.push([start, end]);
  }
  return result;
}
