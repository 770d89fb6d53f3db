import { longestBegin, pairsOf, termsOf } from "./search-terms.ts";

/** Each has to be in the same text. */
export type QueryPart =
  /** Words that stood together in the query, as "e-mail" does: one after the other. */
  | { match: "phrase"; words: readonly string[] }
  /** A part of a run of characters. */
  | { match: "within"; run: string }
  /** The last word, of which the rest may not be typed yet. */
  | { match: "begun"; word: string };

/** What is looked for at the most, in UTF-16 units. */
const longestQuery = 200;
/** To compare so many terms at every place of a long text is what a search can afford. Measured: 99 took seconds. */
const longestPhrase = 16;

/** Of a phrase that is longer than `longestPhrase` each piece has to be in the text, wherever the others are. */
export function queryParts(query: string): QueryPart[] {
  const parts: QueryPart[] = [];
  for (const chunk of query.slice(0, longestQuery).split(/\s+/u)) {
    let phrase: string[] = [];
    const endPhrase = () => {
      for (const words of piecesOf(phrase, longestPhrase)) parts.push({ match: "phrase", words });
      phrase = [];
    };
    for (const { kind, text } of termsOf(chunk)) {
      if (kind === "word") phrase.push(text);
      else {
        endPhrase();
        for (const run of piecesOf(Array.from(text), longestPhrase))
          parts.push({ match: "within", run: run.join("") });
      }
    }
    endPhrase();
  }
  const byText = withBegunEnd(parts).map((part) => [JSON.stringify(part), part] as const);
  const different = [...new Map(byText).values()];
  return different.filter((part) => !different.some((other) => isWithin(part, other)));
}

/** What is a part of another phrase or run is there with it. */
function isWithin(part: QueryPart, other: QueryPart): boolean {
  if (part === other) return false;
  if (part.match === "within") return other.match === "within" && other.run.includes(part.run);
  if (part.match !== "phrase" || other.match !== "phrase") return false;
  return ` ${other.words.join(" ")} `.includes(` ${part.words.join(" ")} `);
}

function* piecesOf(list: readonly string[], length: number): Generator<string[]> {
  for (let at = 0; at < list.length; at += length) yield list.slice(at, at + length);
}

function withBegunEnd(parts: QueryPart[]): QueryPart[] {
  const last = parts.at(-1);
  const word = last?.match === "phrase" ? last.words.at(-1) : undefined;
  if (last?.match !== "phrase" || word === undefined) return parts;
  const before = last.words.slice(0, -1);
  const phrase: QueryPart[] = before.length === 0 ? [] : [{ match: "phrase", words: before }];
  return [...parts.slice(0, -1), ...phrase, { match: "begun", word }];
}

/** For FTS5. Of what a user wrote it holds letters and digits only, in quotes. */
export interface SearchExpression {
  /** It names whole terms, so that it costs little, asked again and again. */
  text: string;
  /** Where `text` finds more than was meant: what finds no more, and reads all that begins so each time it is asked. */
  exact?: string;
}

/**
 * `beginningWith` answers with the words of the index that begin so, or with undefined if they are many. An expression
 * that matches nothing is undefined.
 */
export function searchExpression(
  parts: readonly QueryPart[],
  beginningWith: (word: string) => string[] | undefined,
): SearchExpression | undefined {
  const texts: string[] = [];
  let begun: string | undefined; // of many words; it is the last part
  for (const part of parts) {
    if (part.match === "phrase") texts.push(`words : "${part.words.join(" ")}"`);
    else if (part.match === "within") texts.push(expressionOfRun(part.run));
    else {
      const letters = Array.from(part.word);
      const words = letters.length > longestBegin ? beginningWith(part.word) : undefined;
      if (words?.length === 0) return undefined;
      if (words !== undefined)
        texts.push(`words : (${words.map((word) => `"${word}"`).join(" OR ")})`);
      else {
        texts.push(`begins : "${letters.slice(0, longestBegin).join("")}"`);
        if (letters.length > longestBegin) begun = `words : "${part.word}" *`;
      }
    }
  }
  if (texts.length === 0) return undefined;
  const text = allOf(texts);
  return begun === undefined ? { text } : { text, exact: allOf([...texts, begun]) };
}

function allOf(texts: readonly string[]): string {
  return texts.map((text) => `(${text})`).join(" AND ");
}

function expressionOfRun(run: string): string {
  const pairs = pairsOf(run);
  return Array.from(run).length === 1 ? `begins : "${run}"` : `words : "${pairs.join(" ")}"`;
}
