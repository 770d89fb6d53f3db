import { parseJson, type JsonValue } from "../json.ts";

/*
 * Text functions that match Rust's instead of JavaScript's, because Codex is written in Rust. They differ in what
 * counts as white space, valid JSON and valid UTF-8.
 */

/** Unlike `String.prototype.trim`, removes U+0085 and keeps U+FEFF. */
export function trimLikeRust(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && whiteSpace.test(text.charAt(start))) start += 1;
  while (end > start && whiteSpace.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const whiteSpace = /^\p{White_Space}$/u;

/** Parses JSON, but rejects lone surrogates as serde_json does. Returns undefined for invalid JSON, including JSON with a lone surrogate. */
export function parseJsonLikeRust(text: string): JsonValue | undefined {
  return hasLoneSurrogate(text) ? undefined : parseJson(text);
}

function hasLoneSurrogate(json: string): boolean {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return false;
  for (const [, loneSurrogate] of json.matchAll(jsonEscapes))
    if (loneSurrogate !== undefined) return true;
  return false;
}

/**
 * Matches a surrogate pair, a lone surrogate (captured) or any other escape. Other escapes are matched too, so that the
 * second backslash of `\\ud800` is not taken for the start of an escape.
 */
const jsonEscapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g;

export type Utf8Check =
  | { state: "complete" }
  | { state: "incomplete"; validLength: number }
  | { state: "invalid"; validLength: number; length: number };

/** `validLength` is the number of valid bytes, `length` how many bytes Rust counts as the invalid sequence. */
export function checkUtf8(bytes: Uint8Array): Utf8Check {
  let position = 0;
  while (position < bytes.length) {
    const first = bytes[position] ?? 0;
    if (first < 0x80) {
      position += 1;
      continue;
    }
    const width = first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (width === 1) return { state: "invalid", validLength: position, length: 1 };
    for (let offset = 1; offset < width; offset += 1) {
      const byte = bytes[position + offset];
      if (byte === undefined) return { state: "incomplete", validLength: position };
      const [low, high] = offset === 1 ? secondByteRange(first) : [0x80, 0xbf];
      if (byte < low || byte > high)
        return { state: "invalid", validLength: position, length: offset };
    }
    position += width;
  }
  return { state: "complete" };
}

/** Excludes overlong forms, surrogates and code points above U+10FFFF. */
function secondByteRange(first: number): readonly [low: number, high: number] {
  switch (first) {
    case 0xe0:
      return [0xa0, 0xbf];
    case 0xed:
      return [0x80, 0x9f];
    case 0xf0:
      return [0x90, 0xbf];
    case 0xf4:
      return [0x80, 0x8f];
    default:
      return [0x80, 0xbf];
  }
}
