import { wordCharacter } from "./word-boundaries.ts";

/* `{{EMAIL_1_x7f3}}`: a label, a number, and the tag of the chat. The tag distinguishes it from the `{{EMAIL_1}}` of a template. */

export const maxLabelLength = 30;

export function formatPlaceholder(label: string, number: number, tag: string): string {
  return `{{${label}_${number}_${tag}}}`;
}

export interface PlaceholderParts {
  label: string;
  number: number;
  tag: string;
}

export function parsePlaceholder(placeholder: string): PlaceholderParts | undefined {
  const { label, number, tag } =
    /^\{\{(?<label>[A-Z][A-Z0-9_]*)_(?<number>\d+)_(?<tag>[a-z0-9]{4})\}\}$/.exec(placeholder)
      ?.groups ?? {};
  if (label === undefined || number === undefined || tag === undefined) return undefined;
  return { label, number: Number(number), tag };
}

/** Matches placeholders with these labels and tags, in their exact form. */
export function compilePlaceholderPattern(
  labels: readonly string[],
  tags: readonly string[],
): RegExp {
  return new RegExp(`\\{\\{(?:${labels.join("|")})_\\d{1,9}_(?:${tags.join("|")})\\}\\}`, "g");
}

// Models write placeholders in a different case, with spaces, with underscores escaped for Markdown, and in URLs with
// percent-encoded braces.
const blanksPattern = "[ \\t]{0,2}";
const buildBodyPattern = (min: number): string => `[A-Za-z](?:\\\\{0,2}[A-Za-z0-9_]){${min},48}`;
const openingPattern = "(?:\\{\\{|%7B%7B)";

const writtenPlaceholder = new RegExp(
  `(${openingPattern})${blanksPattern}(${buildBodyPattern(6)})${blanksPattern}(?:\\}\\}|%7D%7D)`,
  "gi",
);
const unfinishedPlaceholder = new RegExp(
  `(?:${openingPattern}${blanksPattern}(?:${buildBodyPattern(0)}(?:\\\\{1,2}|${blanksPattern}(?:\\}|%|%7|%7D|%7D%|%7D%7)?))?|\\{|%|%7|%7B|%7B%|%7B%7)$`,
  "i",
);

/** Removes the beginning of a placeholder from the end of truncated text. */
export function trimPartialPlaceholder(text: string): string {
  return text.replace(/(?<!\s)\s*\{\{[ \t]{0,2}[A-Za-z0-9_]{0,60}[ \t]{0,2}\}?$/, "");
}

/** An opening of 6 characters, spaces, 49 characters of which 48 have two backslashes, spaces, and an incomplete end. */
const maxWrittenLength = 6 + 2 + 1 + 48 * 3 + 2 + 5;

/** The position of a value that has replaced a placeholder. */
export interface PlaceholderReplacement {
  placeholder: string;
  start: number;
  end: number;
}

/** Replaces placeholders in any spelling that models use. `findValue` receives the exact form; undefined leaves the text unchanged. */
export function replacePlaceholders(
  text: string,
  findValue: (placeholder: string) => string | undefined,
  escape: (value: string) => string,
): { text: string; replaced: PlaceholderReplacement[] } {
  const replaced: PlaceholderReplacement[] = [];
  if (!text.includes("{{") && !/%7B%7B/i.test(text)) return { text, replaced };
  /** The number of characters by which the result is longer so far. */
  let lengthDifference = 0;
  const replacedText = text.replace(
    writtenPlaceholder,
    (matched, open: string, name: string, index: number) => {
      const plainName = name.replaceAll("\\", "");
      const tagStart = plainName.lastIndexOf("_");
      const canonical = `{{${plainName.slice(0, tagStart).toUpperCase()}${plainName.slice(tagStart).toLowerCase()}}}`;
      const value = findValue(canonical);
      if (value === undefined) return matched;
      const replacement = escape(open === "{{" ? value : percentEncode(value));
      const start = index + lengthDifference;
      replaced.push({ placeholder: canonical, start, end: start + replacement.length });
      lengthDifference += replacement.length - matched.length;
      return replacement;
    },
  );
  return { text: replacedText, replaced };
}

/** Encodes a value for a URL. Values that are already percent-encoded stay unchanged. */
function percentEncode(value: string): string {
  return /%[0-9a-f]{2}/i.test(value) ? value : encodeURIComponent(value.toWellFormed());
}

function escapeForJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Matches values that may form a part of `var:` in a reference. */
const referencePart = /^(?:(?:(?:v?a)?r)?:|v?a?r?$)/;

/**
 * Escapes a value for a string in the arguments of a call. A value may contain `{{var:NAME}}` or a part of it: written with
 * JSON escapes, it means the same and is not expanded as a reference (see `variables/variable-references.ts`).
 */
export function escapeForArgument(value: string): string {
  const escapedValue = escapeForJson(value)
    .replaceAll("{", String.raw`\u007b`)
    .replaceAll("}", String.raw`\u007d`);
  if (value === "" || !referencePart.test(value)) return escapedValue;
  return `\\u${value.charCodeAt(0).toString(16).padStart(4, "0")}${escapedValue.slice(1)}`;
}

/**
 * Returns a value as it is and in its encoded forms. These are searched literally: after a stray `%` or `\`, as in
 * `%4111%20…`, it is unknown where an encoding begins.
 */
export function listEncodedForms(value: string): string[] {
  const json = escapeForJson(value);
  const encoded = percentEncode(value);
  const formEncoded = encoded.replaceAll("%20", "+");
  return [...new Set([value, json, escapeForJson(json), encoded, formEncoded])];
}

/** Returns where an incomplete placeholder at the end of the text starts, or the length of the text if there is none. */
export function findUnfinishedStart(text: string): number {
  const tailStart = Math.max(0, text.length - maxWrittenLength);
  const tail = tailStart === 0 ? text : text.slice(tailStart);
  if (!tail.includes("{") && !tail.includes("%")) return text.length;
  const match = unfinishedPlaceholder.exec(tail);
  return match === null ? text.length : tailStart + match.index;
}

/**
 * Longer words are not held back: the vault learns a value with up to 100 characters around it, and finds values of that
 * length even inside words.
 */
const maxWordLength = 400;

/**
 * Returns where the first placeholder in the last word of the text starts, or `end` if there is none. The word may continue
 * in the next delta. In JSON a letter may be written as an escape, possibly an incomplete one.
 */
export function findUnfinishedWordStart(text: string, end: number, isJson: boolean): number {
  const tailStart = Math.max(0, end - maxWordLength);
  const tail = text.slice(tailStart, end);
  if (!tail.includes("}}") && !/%7D%7D/i.test(tail)) return end;
  const lettersPattern = isJson ? jsonWordPattern : wordPattern;
  const matches = [...tail.matchAll(writtenPlaceholder)];
  let start = tail.length;
  for (const { index, 0: matched } of matches.toReversed()) {
    const between = tail.slice(index + matched.length, start);
    const trailingPattern = start === tail.length && isJson ? partialEscape : /$/;
    if (!lettersPattern.test(between.replace(trailingPattern, ""))) break;
    start = index;
  }
  return tailStart + start;
}

const wordPattern = new RegExp(`^${wordCharacter.source}*$`);
const jsonWordPattern = new RegExp(String.raw`^(?:${wordCharacter.source}|\\u[0-9a-f]{4})*$`, "i");
const partialEscape = /\\(?:u[0-9a-f]{0,3})?$/i;
