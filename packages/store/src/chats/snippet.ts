import { plainText } from "@deltawire/tasks/markdown";
import type { QueryPart } from "./search-query.ts";
import { foldedRun, type Term, termsOf } from "./search-terms.ts";

/** A half-open range in UTF-16 units. */
export type Mark = readonly [start: number, end: number];

export interface Snippet {
  text: string;
  marks: Mark[];
}

const length = 160;
const before = 40;
/** Of Markdown so much is read on either side of what was found: its marks are known by the lines that they stand in. */
const readAround = 1000;

/**
 * Where Markdown has what was looked for first, and what stands around it, without its marks. Where the words are found
 * only with the marks, as in the address of a link, it is shown as it was written.
 */
export function plainSnippetOf(markdown: string, parts: readonly QueryPart[]): Snippet {
  const [first = [0, 0]] = marksIn(markdown, parts, { firstOnly: true });
  const line = markdown.lastIndexOf("\n", Math.max(0, first[0] - before)) + 1;
  const from = cutBefore(markdown, Math.max(line, first[0] - readAround, 0));
  const to = cutBefore(markdown, first[1] + readAround);
  const plain = plainText(markdown.slice(from, to)).replaceAll(/\s*\n\s*/g, "\n");
  const isThere = marksIn(plain, parts, { firstOnly: true }).length > 0;
  if (!isThere) return snippetOf(markdown, parts);
  return snippetOf(plain, parts, { isCutBefore: from > 0, isCutAfter: to < markdown.length });
}

/** Where a text has what was looked for first, and what stands around it. */
export function snippetOf(
  text: string,
  parts: readonly QueryPart[],
  { isCutBefore = false, isCutAfter = false } = {},
): Snippet {
  const [first] = marksIn(text, parts, { firstOnly: true });
  const from = cutBefore(text, Math.max(0, (first?.[0] ?? 0) - before));
  const to = cutBefore(text, Math.max(from + length, first?.[1] ?? 0));
  const cut = text.slice(from, to);
  const lead = from > 0 || isCutBefore ? "…" : "";
  const marks = marksIn(cut, parts).map(([start, end]): Mark => [
    start + lead.length,
    end + lead.length,
  ]);
  return {
    text: `${lead}${cut.replaceAll(/\s/g, " ")}${to < text.length || isCutAfter ? "…" : ""}`,
    marks,
  };
}

/** Not within a pair of surrogates. */
function cutBefore(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff && at > 0 ? at - 1 : at;
}

/** In order, and none within another. */
export function marksIn(
  text: string,
  parts: readonly QueryPart[],
  { firstOnly = false }: { firstOnly?: boolean } = {},
): Mark[] {
  const marks: Mark[] = [];
  const latest: Term[] = []; // words, as many as the longest phrase has
  const longest = Math.max(
    ...parts.map((part) => (part.match === "phrase" ? part.words.length : 1)),
  );
  for (const term of termsOf(text)) {
    latest.push(term);
    if (latest.length > longest) latest.shift();
    for (const part of parts)
      for (const mark of marksAt(text, latest, part)) {
        marks.push(mark);
        if (firstOnly) break; // a run may have a hundred thousand of them
      }
    if (firstOnly && marks.length > 0) break;
  }
  return joined(marks);
}

/** Of a part that ends with the last of some terms. */
function marksAt(text: string, terms: readonly Term[], part: QueryPart): Iterable<Mark> {
  const last = terms.at(-1);
  if (last === undefined) return [];
  if (part.match === "within")
    return last.kind === "run" ? marksInRun(text.slice(last.start, last.end), last, part.run) : [];
  if (last.kind !== "word") return [];
  if (part.match === "begun") {
    if (!last.text.startsWith(part.word)) return [];
    const isPlain = last.text.length === last.end - last.start;
    return [[last.start, isPlain ? last.start + part.word.length : last.end]];
  }
  if (last.text !== part.words.at(-1)) return [];
  const phrase = terms.slice(-part.words.length);
  const isThere =
    phrase.length === part.words.length &&
    part.words.every((word, at) => phrase[at]?.kind === "word" && phrase[at].text === word);
  return isThere ? [[phrase[0]?.start ?? last.start, last.end]] : [];
}

function* marksInRun(run: string, term: Term, wanted: string): Generator<Mark, void> {
  const { text, start, end } = term;
  const places = run === text || !text.includes(wanted) ? "the same" : placesOf(run, text);
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    const last = at + wanted.length - 1;
    if (places === undefined) yield [start, end];
    else if (places === "the same") yield [start + at, start + last + 1];
    else yield [start + (places[at]?.[0] ?? 0), start + (places[last]?.[1] ?? run.length)];
  }
}

/** Where each unit of a folded run came from; undefined where that cannot be told character by character. */
function placesOf(run: string, folded: string): Mark[] | undefined {
  const places: Mark[] = [];
  let text = "";
  for (const match of run.matchAll(/.[\p{M}\uff9e\uff9f]*/gu)) {
    const [piece] = match;
    const plain = foldedRun(piece);
    text += plain;
    for (let unit = 0; unit < plain.length; unit += 1)
      places.push([match.index, match.index + piece.length]);
  }
  return text === folded ? places : undefined;
}

function joined(marks: Mark[]): Mark[] {
  const result: Mark[] = [];
  for (const [start, end] of marks.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
    const last = result.at(-1);
    if (last !== undefined && start <= last[1])
      result[result.length - 1] = [last[0], Math.max(last[1], end)];
    else result.push([start, end]);
  }
  return result;
}
