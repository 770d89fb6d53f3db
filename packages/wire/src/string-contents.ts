import { parseJson } from "./json.ts";

/** Decodes the contents of a JSON string literal; undefined if they are invalid. */
export function decodeStringContents(escaped: string): string | undefined {
  for (let index = 0; index < escaped.length; index += 1) {
    const code = escaped.charCodeAt(index);
    if (code === QUOTE || code < SPACE) return undefined;
    if (code === BACKSLASH) {
      const value = parseJson(`"${escaped}"`);
      return typeof value === "string" ? value : undefined;
    }
  }
  return escaped;
}

const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;
