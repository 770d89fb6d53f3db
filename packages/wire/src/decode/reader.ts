import { WireError } from "../error.ts";
import { isObject, type JsonObject } from "../json.ts";

/*
 * Reading untrusted JSON by hand. Every function takes a value and its path, checks it in place and says
 * on failure where it stands, what was expected, what was found and, where we know, what to do about it.
 */

export function refuse(path: string, expected: string, value: unknown, advice?: string): never {
  const hint = advice === undefined ? "" : `; ${advice}`;
  throw new WireError(
    "invalid_request",
    `${path}: expected ${expected}, got ${show(value)}${hint}`,
    {
      param: path,
    },
  );
}

export function readObject(value: unknown, path: string, expected = "an object"): JsonObject {
  return isObject(value) && !ArrayBuffer.isView(value) ? value : refuse(path, expected, value);
}

export function readArray(value: unknown, path: string, expected = "an array"): unknown[] {
  return Array.isArray(value) ? value : refuse(path, expected, value);
}

export function readString(value: unknown, path: string, advice?: string): void {
  if (typeof value !== "string") refuse(path, "a string", value, advice);
}

export function readWord(
  value: unknown,
  path: string,
  words: readonly string[],
  advice?: string,
): void {
  if (typeof value !== "string" || !words.includes(value))
    refuse(path, `one of ${words.join(", ")}`, value, advice);
}

/** Fields that may be absent: `null` says the same as leaving them out. */
export type FieldType = "string" | "number" | "boolean" | "object" | "array";

export function readOptional(
  object: JsonObject,
  path: string,
  fields: Readonly<Record<string, FieldType>>,
): void {
  for (const [name, type] of Object.entries(fields)) {
    const value = object[name];
    if (value === undefined || value === null) continue;
    if (kindOf(value) !== type) refuse(at(path, name), typeNames[type], value);
  }
}

export function at(path: string, field: string): string {
  return path === "" ? field : `${path}.${field}`;
}

/**
 * JSON only, and not too deep: a tree of some thousand levels parses, but the recursion in JSON.stringify
 * ends it with a RangeError when the request is sent on. A cycle runs into the same limit.
 */
export function readJsonTree(value: unknown, path: string, level = 0): void {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol")
      refuse(path, "JSON", value);
    return;
  }
  if (level > deepest)
    throw new WireError(
      "invalid_request",
      `${path}: nested deeper than ${deepest} levels; flatten it`,
      {
        param: path,
      },
    );
  if (Array.isArray(value)) {
    for (const [index, child] of value.entries())
      readJsonTree(child, level < namedLevels ? `${path}[${index}]` : path, level + 1);
  } else {
    for (const [name, child] of Object.entries(value))
      readJsonTree(child, level < namedLevels ? at(path, name) : path, level + 1);
  }
}

const deepest = 256;
/** A path of 256 steps helps nobody. */
const namedLevels = 6;

const typeNames: Record<FieldType, string> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "an array",
};

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "array" : typeof value;
}

function show(value: unknown): string {
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
