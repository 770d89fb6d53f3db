import { findExceededJsonLimit } from "./json-limits.ts";

/** JSON as it came from outside: everything has to be looked at before it is used. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue | undefined };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a string unchanged, and "" for anything else. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A string that says something, or undefined: servers send `""` and `null` where they mean "absent". */
export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Ids and names of models are repeated in every event: longer ones would turn a short reply into gigabytes. */
const longestRepeated = 1024;

/** An id or a name that may be repeated in every event; undefined if there is none, or if it is too long for that. */
export function repeatableString(value: unknown): string | undefined {
  const text = nonEmptyString(value);
  return text === undefined || text.length > longestRepeated ? undefined : text;
}

/** Returns undefined for text that is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Text of up to this many characters has no more levels than JSON.stringify takes (it overflows the stack at 4,400). */
const longestUnchecked = 4096;

/** The same, and undefined for JSON that could not be written again: JSON.stringify takes fewer levels than JSON.parse. */
export function parseLimitedJson(text: string): JsonValue | undefined {
  if (text.length > longestUnchecked && findExceededJsonLimit(text) !== undefined) return undefined;
  return parseJson(text);
}

/** Deeper values count as different: nobody writes them, and each level takes stack. */
const deepestCompared = 300;

/** True if two JSON values are equal, whatever the order of their properties. Stops at the first difference. */
export function isDeepEqual(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (depth > deepestCompared) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let at = 0; at < a.length; at += 1)
      if (!isDeepEqual(a[at], b[at], depth + 1)) return false;
    return true;
  }
  const [one, other] = [a as JsonObject, b as JsonObject];
  let missing = 0;
  // Counted in place: lists of keys took most of the time of a delta with a call.
  for (const key in other) if (other[key] !== undefined) missing += 1;
  for (const key in one) {
    const value = one[key];
    if (value === undefined) continue;
    if (!Object.hasOwn(other, key) || !isDeepEqual(value, other[key], depth + 1)) return false;
    missing -= 1;
  }
  return missing === 0;
}

/** True if the strings, names and values of a JSON value have more than `length` characters. Stops there. */
export function isLongerThan(value: unknown, length: number): boolean {
  const open: unknown[] = [value];
  let counted = 0;
  while (open.length > 0) {
    const next = open.pop();
    counted += typeof next === "string" ? next.length : 1;
    if (typeof next === "object" && next !== null)
      for (const name in next) {
        counted += name.length;
        if (counted + open.length > length) return true;
        open.push((next as JsonObject)[name]);
      }
    if (counted > length) return true;
  }
  return false;
}
