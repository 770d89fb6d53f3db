import { parseJson, type JsonValue } from "../json.ts";

/*
 * Codex is written in Rust, whose text differs from JavaScript's at the edges: what is white space, what is JSON, what
 * is UTF-8. Where 000 says "trim" or "parse", it means these.
 */

/** U+0085 is white space here and U+FEFF is not; for JavaScript's own trim it is the other way round. */
export function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && whiteSpace.test(text.charAt(start))) start += 1;
  while (end > start && whiteSpace.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const whiteSpace = /^\p{White_Space}$/u;

/** JSON as serde reads it: half of a surrogate pair is no character, and the text no JSON. */
export function parseStrictJson(text: string): JsonValue | undefined {
  return hasLoneSurrogate(text) ? undefined : parseJson(text);
}

function hasLoneSurrogate(json: string): boolean {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return false;
  for (const [, alone] of json.matchAll(escapes)) if (alone !== undefined) return true;
  return false;
}

/** Every escape in its turn, so that a backslash which is itself escaped opens none: a pair, a half, any other. */
const escapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g;

export type Utf8Check =
  | { state: "whole" }
  | { state: "incomplete"; valid: number }
  | { state: "invalid"; valid: number; length: number };

/** How far bytes are UTF-8; `length` is how many of the offending ones Rust counts to the broken character. */
export function checkUtf8(bytes: Uint8Array): Utf8Check {
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] ?? 0;
    if (first < 0x80) {
      at += 1;
      continue;
    }
    const width = first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (width === 1) return { state: "invalid", valid: at, length: 1 };
    for (let step = 1; step < width; step += 1) {
      const byte = bytes[at + step];
      if (byte === undefined) return { state: "incomplete", valid: at };
      const [low, high] = step === 1 ? secondByte(first) : [0x80, 0xbf];
      if (byte < low || byte > high) return { state: "invalid", valid: at, length: step };
    }
    at += width;
  }
  return { state: "whole" };
}

/** Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte. */
function secondByte(first: number): readonly [low: number, high: number] {
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
