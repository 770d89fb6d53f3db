/*
 * Splits queries and text into search terms. Words are normalized: case, accents and width are ignored. Scripts
 * without spaces between words (Chinese, Japanese, Thai, …; and Korean, which attaches particles to words) are runs of
 * characters, of which any substring can be found.
 */

export interface SearchTerm {
  kind: "word" | "run";
  /** The normalized text. */
  text: string;
  /** The range in the text in UTF-16 units. */
  start: number;
  end: number;
}

export function* tokenize(text: string): Generator<SearchTerm, void> {
  for (const match of text.matchAll(termPattern)) {
    const [matched, run] = match;
    const kind = run === undefined ? "word" : "run";
    const range = { start: match.index, end: match.index + matched.length };
    for (const folded of run === undefined ? foldWord(matched) : [foldRun(run)])
      if (folded !== "") yield { kind, text: folded, ...range };
  }
}

const unspacedScripts =
  "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Bopo}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmr}\\p{sc=Mymr}" +
  "\\u30fc\\uff70\\uff9e\\uff9f"; // prolonged and voiced sound marks of kana, which belong to no script
const termPattern = new RegExp(
  `([${unspacedScripts}][${unspacedScripts}\\p{M}]*)|(?:[a-zA-Z0-9]|(?![${unspacedScripts}])[\\p{L}\\p{N}\\p{M}])+`,
  "gu",
);

/** Longer words are mostly hashes and encoded data, which differ in their first characters. */
const maxWordLength = 64;
const asciiWordPattern = /^[a-zA-Z0-9]+$/;
const separatorPattern = /[^\p{L}\p{N}\p{M}]+/gu;

function foldWord(word: string): string[] {
  if (asciiWordPattern.test(word)) return [word.toLowerCase().slice(0, maxWordLength)];
  // Lower case again, because "ℌ" has none until it is normalized. A fraction becomes two numbers.
  const plain = word.toLowerCase().normalize("NFKD").toLowerCase();
  return plain
    .replaceAll(/\p{Mn}+/gu, "")
    .replaceAll("ς", "σ")
    .split(separatorPattern)
    .map((part) => part.slice(0, maxWordLength).toWellFormed());
}

/** The sound marks of kana are preserved, because they change the syllable. */
export function foldRun(run: string): string {
  return run.normalize("NFKC").toLowerCase().replaceAll(separatorPattern, "");
}

/** Prefixes of words are indexed up to this length. In characters. */
export const maxPrefixLength = 5;

/** The indexed terms of the text, separated by spaces. */
export interface IndexedText {
  /** The words in order. Runs are split into overlapping pairs, so that their substrings are phrases. */
  words: string;
  /** The distinct prefixes of words up to `maxPrefixLength`, and the characters of runs. */
  prefixes: string;
}

export function buildIndexedText(text: string): IndexedText {
  const words: string[] = [];
  const seenWords = new Set<string>();
  const prefixes = new Set<string>();
  for (const { kind, text: folded } of tokenize(text)) {
    if (kind === "word") {
      words.push(folded);
      if (!seenWords.has(folded)) addPrefixes(folded, prefixes);
      seenWords.add(folded);
    } else {
      for (const pair of toBigrams(folded)) words.push(pair);
      for (const character of folded) prefixes.add(character);
    }
  }
  return { words: words.join(" "), prefixes: [...prefixes].join(" ") };
}

function addPrefixes(word: string, prefixes: Set<string>): void {
  let prefix = "";
  let length = 0;
  for (const character of word) {
    if (length === maxPrefixLength) return;
    prefix += character;
    length += 1;
    prefixes.add(prefix);
  }
}

/** Returns the overlapping pairs of characters. A single character is returned unchanged. */
export function toBigrams(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
