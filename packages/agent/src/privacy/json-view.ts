import { TextView } from "./text-view.ts";

/** The content of a string, or a number. Positions refer to the view. */
interface JsonToken {
  kind: "string" | "number";
  start: number;
  end: number;
}

export interface JsonView {
  /** The text with the escapes in its strings decoded; everything else is unchanged. */
  view: TextView;
  tokens: JsonToken[];
  /** The view with `jsonQuote` in place of the quotes around strings, so that a quote inside a string is not taken for its end. */
  markedText: string;
}

export const jsonQuote = "\uE000";

const controlEscapes: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  b: "\b",
  f: "\f",
};

const tokensPerStep = 1000;

/** Returns the view of a JSON text, or undefined if the text is not JSON. */
export function* createJsonView(text: string): Generator<void, JsonView | undefined> {
  if (!isJsonText(text)) return undefined;
  yield;
  const view = new TextView(text);
  const tokens: JsonToken[] = [];
  /** The number of characters by which the view is shorter than the text so far. */
  let shrinkage = 0;
  let escape = findNextEscape(text, 0);
  const pattern = /["\-\d]/g;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (tokens.length % tokensPerStep === 0) yield;
    const { index } = match;
    if (match[0] !== '"') {
      const number = /[-+.\deE]+/y;
      number.lastIndex = index;
      const end = index + (number.exec(text)?.[0].length ?? 1);
      tokens.push({ kind: "number", start: index - shrinkage, end: end - shrinkage });
      pattern.lastIndex = end;
      continue;
    }
    const start = index + 1 - shrinkage;
    let position = index + 1;
    for (;;) {
      const quote = text.indexOf('"', position);
      if (escape > quote) {
        position = quote;
        break;
      }
      const escapeCharacter = text[escape + 1] ?? "";
      const isUnicodeEscape = escapeCharacter === "u";
      position = escape + (isUnicodeEscape ? 6 : 2);
      const decodedCharacter = isUnicodeEscape
        ? String.fromCharCode(Number.parseInt(text.slice(escape + 2, position), 16))
        : (controlEscapes[escapeCharacter] ?? escapeCharacter);
      view.replace(escape, position, decodedCharacter);
      shrinkage += position - escape - 1;
      escape = findNextEscape(text, position);
    }
    tokens.push({ kind: "string", start, end: position - shrinkage });
    pattern.lastIndex = position + 1;
  }
  view.finish();
  yield;
  return { view, tokens, markedText: markQuotes(view.text, tokens) };
}

function markQuotes(text: string, tokens: readonly JsonToken[]): string {
  const pieces: string[] = [];
  let copiedTo = 0;
  for (const { kind, start, end } of tokens)
    if (kind === "string") {
      pieces.push(text.slice(copiedTo, start - 1), jsonQuote, text.slice(start, end), jsonQuote);
      copiedTo = end + 1;
    }
  return pieces.join("") + text.slice(copiedTo);
}

function isJsonText(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function findNextEscape(text: string, start: number): number {
  const index = text.indexOf("\\", start);
  return index === -1 ? text.length : index;
}
