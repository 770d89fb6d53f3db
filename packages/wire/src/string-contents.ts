import { parseJson } from "./json.ts";

/** Decodes the contents of a JSON string literal; undefined if they are invalid. */
export function decodeStringContents(escaped: string): string | undefined {
  for (let index = 0; index < escaped.length; index += 1) {
    const code = escaped.charCodeAt(index);
    if (code === QUOTE || code < SPACE) return undefined;
    if (code === BACKSLASH) return unescape(escaped, index);
  }
  return escaped;
}

/** Longer strings are parsed: for those of most deltas, a loop takes half the time of JSON.parse. */
const maxScannedLength = 256;

/** Decodes contents whose first escape is at `firstEscape`. */
function unescape(escaped: string, firstEscape: number): string | undefined {
  let text = "";
  let start = 0;
  const length = escaped.length > maxScannedLength ? 0 : escaped.length;
  for (let index = firstEscape; index < length; index += 1) {
    const code = escaped.charCodeAt(index);
    if (code === QUOTE || code < SPACE) return undefined;
    if (code !== BACKSLASH) continue;
    const character = simpleEscapes.get(escaped.charCodeAt(index + 1));
    if (character === undefined) return parseContents(escaped);
    text += escaped.slice(start, index) + character;
    index += 1;
    start = index + 1;
  }
  return length === 0 ? parseContents(escaped) : text + escaped.slice(start);
}

function parseContents(escaped: string): string | undefined {
  const value = parseJson(`"${escaped}"`);
  return typeof value === "string" ? value : undefined;
}

const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;

/** All escapes but `\u`, by the code of their second character. */
const simpleEscapes: ReadonlyMap<number, string> = new Map(
  Object.entries({
    '"': '"',
    "\\": "\\",
    "/": "/",
    b: "\b",
    f: "\f",
    n: "\n",
    r: "\r",
    t: "\t",
  }).map(([escape, character]) => [escape.charCodeAt(0), character]),
);
