import type { IndexedText } from "../sql/chat-search.ts";

/*
 * What is looked for, and what it is looked for in, cut into terms in the same way. Words are folded: no case, no accents,
 * no width. Scripts that set no spaces between words (Chinese, Japanese, Thai, …; Korean, which glues particles to its words)
 * are runs of characters, in which any part can be found.
 */

export interface Term {
  kind: "word" | "run";
  /** Folded. */
  text: string;
  /** Where it stands, in UTF-16 units. */
  start: number;
  end: number;
}

export function* termsOf(text: string): Generator<Term, void> {
  for (const match of text.matchAll(term)) {
    const [whole, run] = match;
    const kind = run === undefined ? "word" : "run";
    const place = { start: match.index, end: match.index + whole.length };
    for (const folded of run === undefined ? foldedWords(whole) : [foldedRun(run)])
      if (folded !== "") yield { kind, text: folded, ...place };
  }
}

const unspaced =
  "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Bopo}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmr}\\p{sc=Mymr}" +
  "\\u30fc\\uff70\\uff9e\\uff9f"; // long and voiced marks of kana, which belong to no script
const term = new RegExp(
  `([${unspaced}][${unspaced}\\p{M}]*)|(?:[a-zA-Z0-9]|(?![${unspaced}])[\\p{L}\\p{N}\\p{M}])+`,
  "gu",
);

/** Longer ones are hashes and data: their beginning is enough to tell them apart. */
const longestWord = 64;
const ascii = /^[a-zA-Z0-9]+$/;
const notInTerms = /[^\p{L}\p{N}\p{M}]+/gu;

function foldedWords(word: string): string[] {
  if (ascii.test(word)) return [word.toLowerCase().slice(0, longestWord)];
  // Lower case again, for "ℌ" has none before it is a plain letter. A fraction becomes two numbers.
  const plain = word.toLowerCase().normalize("NFKD").toLowerCase();
  return plain
    .replaceAll(/\p{Mn}+/gu, "")
    .replaceAll("ς", "σ")
    .split(notInTerms)
    .map((part) => part.slice(0, longestWord).toWellFormed());
}

/** The marks of kana stay: they make other syllables. */
export function foldedRun(run: string): string {
  return run.normalize("NFKC").toLowerCase().replaceAll(notInTerms, "");
}

export const longestBegin = 5;

export function indexedText(text: string): IndexedText {
  const words: string[] = [];
  const distinct = new Set<string>();
  const begins = new Set<string>();
  for (const { kind, text: folded } of termsOf(text)) {
    if (kind === "word") {
      words.push(folded);
      if (!distinct.has(folded)) addBeginnings(folded, begins);
      distinct.add(folded);
    } else {
      for (const pair of pairsOf(folded)) words.push(pair);
      for (const character of folded) begins.add(character);
    }
  }
  return { words: words.join(" "), begins: [...begins].join(" ") };
}

function addBeginnings(word: string, into: Set<string>): void {
  let beginning = "";
  let length = 0;
  for (const character of word) {
    if (length === longestBegin) return;
    beginning += character;
    length += 1;
    into.add(beginning);
  }
}

/** Neighbours, overlapping; one character is itself. */
export function pairsOf(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}
