import { findExceededJsonLimit } from "./json-limits.ts";

/** Untrusted JSON: check the type of each field before use. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue | undefined };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an object unchanged, and undefined for anything else. */
export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** Returns a string unchanged, and "" for anything else. */
export function asString(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns a non-empty string unchanged, and undefined for anything else: servers send `""` and `null` for absent fields. */
export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns an integer that was sent as a number or a string; undefined for anything else. */
export function parseInteger(value: unknown): number | undefined {
  // Number() of a blank string is 0.
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return Number.isInteger(number) ? (number as number) : undefined;
}

/** Ids and model names are repeated in every event: long ones would turn a short reply into gigabytes. */
const maxRepeatedLength = 1024;

/** Returns a string that is short enough to be repeated in every event, such as an id; undefined for anything else. */
export function boundedString(value: unknown): string | undefined {
  const text = nonEmptyString(value);
  return text === undefined || text.length > maxRepeatedLength ? undefined : text;
}

/** Returns undefined for text that is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Text of this length cannot be nested deeper than JSON.stringify supports (it overflows the stack at 4,400 levels). */
const maxUncheckedLength = 4096;

/** Like `parseJson`, but also returns undefined for JSON that exceeds `defaultJsonLimits`: JSON.stringify would overflow the stack. */
export function parseLimitedJson(text: string): JsonValue | undefined {
  if (text.length > maxUncheckedLength && findExceededJsonLimit(text) !== undefined)
    return undefined;
  return parseJson(text);
}

/** Deeper values count as different, to limit recursion. */
const maxComparedDepth = 300;

/** True if two JSON values are equal, in any order of their properties. Stops at the first difference. */
export function isDeepEqual(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (depth > maxComparedDepth) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let index = 0; index < a.length; index += 1)
      if (!isDeepEqual(a[index], b[index], depth + 1)) return false;
    return true;
  }
  const [left, right] = [a as JsonObject, b as JsonObject];
  let unmatchedCount = 0;
  // Not with Object.keys, whose arrays took most of the time per tool-call delta.
  for (const key in right) if (right[key] !== undefined) unmatchedCount += 1;
  for (const key in left) {
    const value = left[key];
    if (value === undefined) continue;
    if (!Object.hasOwn(right, key) || !isDeepEqual(value, right[key], depth + 1)) return false;
    unmatchedCount -= 1;
  }
  return unmatchedCount === 0;
}

/** True if the strings and property names of a JSON value have more than `length` characters; other values count one each. */
export function isJsonLongerThan(value: unknown, length: number): boolean {
  const stack: unknown[] = [value];
  let size = 0;
  while (stack.length > 0) {
    const current = stack.pop();
    size += typeof current === "string" ? current.length : 1;
    if (typeof current === "object" && current !== null)
      for (const name in current) {
        size += name.length;
        if (size + stack.length > length) return true;
        stack.push((current as JsonObject)[name]);
      }
    if (size > length) return true;
  }
  return false;
}
