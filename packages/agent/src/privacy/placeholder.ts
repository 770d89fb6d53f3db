import { ofWord } from "./edges.ts";

/* `{{EMAIL_1_x7f3}}`: a label, a number, and the tag of the chat, so that a template's own `{{EMAIL_1}}` is never meant. */

export const longestLabel = 30;

export function placeholderOf(label: string, number: number, tag: string): string {
  return `{{${label}_${number}_${tag}}}`;
}

export interface PlaceholderParts {
  label: string;
  number: number;
  tag: string;
}

export function partsOf(placeholder: string): PlaceholderParts | undefined {
  const { label, number, tag } =
    /^\{\{(?<label>[A-Z][A-Z0-9_]*)_(?<number>\d+)_(?<tag>[a-z0-9]{4})\}\}$/.exec(placeholder)
      ?.groups ?? {};
  if (label === undefined || number === undefined || tag === undefined) return undefined;
  return { label, number: Number(number), tag };
}

/** The placeholders of these labels and tags, to the letter. */
export function exactPlaceholders(labels: readonly string[], tags: readonly string[]): RegExp {
  return new RegExp(`\\{\\{(?:${labels.join("|")})_\\d{1,9}_(?:${tags.join("|")})\\}\\}`, "g");
}

// Models write a placeholder in other case, with blanks, with the underscores escaped as Markdown wants it, and in the
// addresses that they make with its braces percent-encoded.
const blanks = "[ \\t]{0,2}";
const body = (least: number): string => `[A-Za-z](?:\\\\{0,2}[A-Za-z0-9_]){${least},48}`;
const opening = "(?:\\{\\{|%7B%7B)";

const written = new RegExp(`(${opening})${blanks}(${body(6)})${blanks}(?:\\}\\}|%7D%7D)`, "gi");
const unfinished = new RegExp(
  `(?:${opening}${blanks}(?:${body(0)}(?:\\\\{1,2}|${blanks}(?:\\}|%|%7|%7D|%7D%|%7D%7)?))?|\\{|%|%7|%7B|%7B%|%7B%7)$`,
  "i",
);
/** Of a text that was cut short in the middle of a placeholder: what stood before that. */
export function withoutHalfPlaceholder(text: string): string {
  return text.replace(/(?<!\s)\s*\{\{[ \t]{0,2}[A-Za-z0-9_]{0,60}[ \t]{0,2}\}?$/, "");
}

/** An opening of 6, blanks, 49 characters of which 48 have two backslashes, blanks, and half an end. */
const longest = 6 + 2 + 1 + 48 * 3 + 2 + 5;

/** Where a value has come in the place of a placeholder. */
export interface Replaced {
  placeholder: string;
  start: number;
  end: number;
}

/** Replaces what models write for placeholders. `valueOf` is asked by the exact form; undefined leaves it as it is. */
export function replaceWritten(
  text: string,
  valueOf: (placeholder: string) => string | undefined,
  escape: (value: string) => string,
): { text: string; replaced: Replaced[] } {
  const replaced: Replaced[] = [];
  if (!text.includes("{{") && !/%7B%7B/i.test(text)) return { text, replaced };
  /** How much longer it is so far. */
  let more = 0;
  const after = text.replace(written, (whole, open: string, name: string, index: number) => {
    const plain = name.replaceAll("\\", "");
    const at = plain.lastIndexOf("_");
    const exact = `{{${plain.slice(0, at).toUpperCase()}${plain.slice(at).toLowerCase()}}}`;
    const value = valueOf(exact);
    if (value === undefined) return whole;
    const reads = escape(open === "{{" ? value : percentEncoded(value));
    const start = index + more;
    replaced.push({ placeholder: exact, start, end: start + reads.length });
    more += reads.length - whole.length;
    return reads;
  });
  return { text: after, replaced };
}

/** For an address. A value that was found in one is written as it was there. */
function percentEncoded(value: string): string {
  return /%[0-9a-f]{2}/i.test(value) ? value : encodeURIComponent(value.toWellFormed());
}

function inJsonString(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** May be the beginning of a name's `var:`, or a part of it. */
const ofReference = /^(?:(?:(?:v?a)?r)?:|v?a?r?$)/;

/**
 * A value within a string of a call's arguments. Whoever wrote it may have written `{{var:NAME}}` into it, or a part of it;
 * with escapes it says the same and is no reference (see `variables/expand.ts`).
 */
export function inArgument(value: string): string {
  const written = inJsonString(value)
    .replaceAll("{", String.raw`\u007b`)
    .replaceAll("}", String.raw`\u007d`);
  if (value === "" || !ofReference.test(value)) return written;
  return `\\u${value.charCodeAt(0).toString(16).padStart(4, "0")}${written.slice(1)}`;
}

/**
 * How others write a value. Behind a stray `%` or `\` nobody can tell where an encoding begins, as in `%4111%20…`: so its
 * encoded forms are looked for as they are.
 */
export function formsOf(value: string): string[] {
  const json = inJsonString(value);
  const encoded = percentEncoded(value);
  const inForm = encoded.replaceAll("%20", "+");
  return [...new Set([value, json, inJsonString(json), encoded, inForm])];
}

/** Where an end begins that may become a placeholder; the length of the text if there is none. */
export function unfinishedFrom(text: string): number {
  const from = Math.max(0, text.length - longest);
  const tail = from === 0 ? text : text.slice(from);
  if (!tail.includes("{") && !tail.includes("%")) return text.length;
  const found = unfinished.exec(tail);
  return found === null ? text.length : from + found.index;
}

/** A longer word is passed on: what begins with 100 characters of it is found by those. */
const longestWord = 400;

/**
 * Where a word at the end of a text begins its first placeholder; `end` if there is none in it. The word may go on in what
 * follows. In the text of JSON a letter may be written as an escape, of which half may be there.
 */
export function unfinishedWordFrom(text: string, end: number, isJson: boolean): number {
  const from = Math.max(0, end - longestWord);
  const tail = text.slice(from, end);
  if (!tail.includes("}}") && !/%7D%7D/i.test(tail)) return end;
  const letters = isJson ? lettersInJson : lettersOnly;
  const found = [...tail.matchAll(written)];
  let start = tail.length;
  for (const { index, 0: whole } of found.toReversed()) {
    const between = tail.slice(index + whole.length, start);
    const isGoingOn = start === tail.length && isJson ? halfEscape : /$/;
    if (!letters.test(between.replace(isGoingOn, ""))) break;
    start = index;
  }
  return from + start;
}

const lettersOnly = new RegExp(`^${ofWord.source}*$`);
const lettersInJson = new RegExp(String.raw`^(?:${ofWord.source}|\\u[0-9a-f]{4})*$`, "i");
const halfEscape = /\\(?:u[0-9a-f]{0,3})?$/i;
