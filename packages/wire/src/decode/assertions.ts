import { WireError } from "../error.ts";
import { isObject, type JsonObject } from "../json.ts";

/*
 * Assertions for untrusted JSON. Each takes a value and its path. If the value is invalid, it throws `invalid_request` with
 * the path, the expected form, the actual value and, for common mistakes, advice.
 */

export function throwInvalid(
  path: string,
  expected: string,
  value: unknown,
  advice?: string,
): never {
  const hint = advice === undefined ? "" : `; ${advice}`;
  throw new WireError(
    "invalid_request",
    `${path}: expected ${expected}, got ${formatValue(value)}${hint}`,
    {
      param: path,
    },
  );
}

export function assertObject(value: unknown, path: string, expected = "an object"): JsonObject {
  return isObject(value) && !ArrayBuffer.isView(value)
    ? value
    : throwInvalid(path, expected, value);
}

export function assertArray(value: unknown, path: string, expected = "an array"): unknown[] {
  return Array.isArray(value) ? value : throwInvalid(path, expected, value);
}

export function assertString(value: unknown, path: string, advice?: string): void {
  if (typeof value !== "string") throwInvalid(path, "a string", value, advice);
}

export function assertOneOf(
  value: unknown,
  path: string,
  allowed: readonly string[],
  advice?: string,
): void {
  if (typeof value !== "string" || !allowed.includes(value))
    throwInvalid(path, `one of ${allowed.join(", ")}`, value, advice);
}

export type OptionalFieldType = "string" | "number" | "boolean" | "object" | "array";

/** Throws if a field has another type than the given one. Fields may be absent or null. */
export function assertOptionalFields(
  object: JsonObject,
  path: string,
  fields: Readonly<Record<string, OptionalFieldType>>,
): void {
  for (const [name, type] of Object.entries(fields)) {
    const value = object[name];
    if (value === undefined || value === null) continue;
    if (getJsonType(value) !== type)
      throwInvalid(joinPath(path, name), typeDescriptions[type], value);
  }
}

export function joinPath(path: string, field: string): string {
  return path === "" ? field : `${path}.${field}`;
}

/**
 * Throws if the value is not JSON or is nested more than 256 levels deep. JSON.parse accepts thousands of levels, but then
 * JSON.stringify fails with a RangeError when the request is forwarded. A cycle also reaches the limit.
 */
export function assertJsonTree(value: unknown, path: string, depth = 0): void {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol")
      throwInvalid(path, "JSON", value);
    return;
  }
  if (depth > maxDepth)
    throw new WireError("invalid_request", `${path}: nested more than ${maxDepth} levels deep`, {
      param: path,
    });
  if (Array.isArray(value)) {
    for (const [index, child] of value.entries())
      assertJsonTree(child, depth < maxPathDepth ? `${path}[${index}]` : path, depth + 1);
  } else {
    for (const [name, child] of Object.entries(value))
      assertJsonTree(child, depth < maxPathDepth ? joinPath(path, name) : path, depth + 1);
  }
}

const maxDepth = 256;
/** Paths in messages have at most this many segments. */
const maxPathDepth = 6;

const typeDescriptions: Record<OptionalFieldType, string> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "an array",
};

function getJsonType(value: unknown): string {
  return Array.isArray(value) ? "array" : typeof value;
}

function formatValue(value: unknown): string {
  switch (typeof value) {
    case "undefined":
      return "nothing";
    case "string":
      return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
    case "number":
    case "boolean":
      return String(value);
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? "an array" : "an object";
    default:
      return `a ${typeof value}`;
  }
}
