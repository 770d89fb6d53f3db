import type { JsonValue } from "@deltawire/tasks";

/*
 * Finds references in the JSON source of arguments. Braces written as escapes, such as `\u007b`, do not form a reference.
 * Inserted text can therefore always be escaped so that it is not expanded.
 */

/** Names contain no whitespace and no braces. */
const referencePattern = /\{\{var:((?:[^\s{}"\\]|\\.)+)\}\}/g;

/** Returns the names referred to in the strings of a JSON text, without duplicates. */
export function findReferences(json: string): string[] {
  const names = new Set<string>();
  mapStrings(json, (rawString) => {
    for (const [, name = ""] of rawString.matchAll(referencePattern)) {
      const parsedName = parseName(name);
      if (parsedName !== undefined) names.add(parsedName);
    }
    return rawString;
  });
  return [...names];
}

/**
 * Escapes references to these names, so that they are not expanded. Returns the text unchanged if there are none, or if it
 * is not valid JSON.
 */
export function escapeReferences(json: string, names: readonly string[] | "all"): string {
  const shouldEscape = (name: string): boolean => names === "all" || names.includes(name);
  if (names.length === 0 || !isJson(json) || !findReferences(json).some(shouldEscape)) return json;
  return json.replace(referencePattern, (match, name: string) =>
    shouldEscape(parseName(name) ?? "") ? `\\u007b${match.slice(1)}` : match,
  );
}

/**
 * Parses JSON and replaces references with their values. References within inserted values are not expanded. Returns undefined
 * if the inserted values have more than `maxLength` characters.
 */
export function expandReferences(
  json: string,
  values: ReadonlyMap<string, string>,
  maxLength = Infinity,
): JsonValue | undefined {
  let length = 0;
  const expanded = mapStrings(json, (rawString) =>
    rawString.replace(referencePattern, (match, name: string) => {
      const value = values.get(parseName(name) ?? "");
      length += value?.length ?? 0;
      return value === undefined || length > maxLength ? match : JSON.stringify(value).slice(1, -1);
    }),
  );
  return length > maxLength ? undefined : expanded;
}

/** Parses JSON after applying `transform` to the source of every string value, including its quotes. */
function mapStrings(json: string, transform: (rawString: string) => string): JsonValue {
  if (!json.includes("{{var:")) return JSON.parse(json) as JsonValue;
  const revive = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== "string") return value;
    const { source = JSON.stringify(value) } = context ?? {};
    const newSource = transform(source);
    return newSource === source ? value : JSON.parse(newSource);
  };
  return JSON.parse(json, revive) as JsonValue;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parseName(rawString: string): string | undefined {
  const name = JSON.parse(`"${rawString}"`) as string;
  return /[\s{}]/.test(name) ? undefined : name;
}
