import { TextView } from "./text-view.ts";

/** A string's content or a number, in the spelling of the view. */
interface JsonToken {
  is: "string" | "number";
  start: number;
  end: number;
}

export interface JsonView {
  /** The text with the escapes in its strings read, and nothing else changed. */
  view: TextView;
  tokens: JsonToken[];
  /** The view with `jsonQuote` where strings begin and end, so that no quote within one is taken for its end. */
  marked: string;
}

export const jsonQuote = "\uE000";

const controls: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  b: "\b",
  f: "\f",
};

const tokensPerStep = 1000;

/** Of a text that is JSON; undefined if it is none. */
export function* jsonView(text: string): Generator<void, JsonView | undefined> {
  if (!isJson(text)) return undefined;
  yield;
  const view = new TextView(text);
  const tokens: JsonToken[] = [];
  /** How much shorter the view is than the text so far. */
  let less = 0;
  let escape = nextEscape(text, 0);
  const pattern = /["\-\d]/g;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    if (tokens.length % tokensPerStep === 0) yield;
    const { index } = found;
    if (found[0] !== '"') {
      const number = /[-+.\deE]+/y;
      number.lastIndex = index;
      const end = index + (number.exec(text)?.[0].length ?? 1);
      tokens.push({ is: "number", start: index - less, end: end - less });
      pattern.lastIndex = end;
      continue;
    }
    const start = index + 1 - less;
    let at = index + 1;
    for (;;) {
      const quote = text.indexOf('"', at);
      if (escape > quote) {
        at = quote;
        break;
      }
      const letter = text[escape + 1] ?? "";
      const isCode = letter === "u";
      at = escape + (isCode ? 6 : 2);
      const reads = isCode
        ? String.fromCharCode(Number.parseInt(text.slice(escape + 2, at), 16))
        : (controls[letter] ?? letter);
      view.replace(escape, at, reads);
      less += at - escape - 1;
      escape = nextEscape(text, at);
    }
    tokens.push({ is: "string", start, end: at - less });
    pattern.lastIndex = at + 1;
  }
  view.done();
  yield;
  return { view, tokens, marked: withMarkedQuotes(view.text, tokens) };
}

function withMarkedQuotes(text: string, tokens: readonly JsonToken[]): string {
  const pieces: string[] = [];
  let at = 0;
  for (const { is, start, end } of tokens)
    if (is === "string") {
      pieces.push(text.slice(at, start - 1), jsonQuote, text.slice(start, end), jsonQuote);
      at = end + 1;
    }
  return pieces.join("") + text.slice(at);
}

function isJson(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function nextEscape(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at === -1 ? text.length : at;
}
