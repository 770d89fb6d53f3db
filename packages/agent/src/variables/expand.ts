import type { JsonValue } from "@deltawire/tasks";

/*
 * References in the text of arguments, as they are written there: what is written as an escape, such as `\u007b` for a brace,
 * begins and ends none. So a text that somebody puts into the arguments can be written in a way that it is never one itself.
 */

/** A name has no blanks and no braces. */
const reference = /\{\{var:((?:[^\s{}"\\]|\\.)+)\}\}/g;

/** The names that are referred to in the strings of JSON, each once. */
export function referencesIn(json: string): string[] {
  const names = new Set<string>();
  inStrings(json, (written) => {
    for (const [, name = ""] of written.matchAll(reference)) {
      const read = nameOf(name);
      if (read !== undefined) names.add(read);
    }
    return written;
  });
  return [...names];
}

/**
 * Returns the JSON of the same value in which no reference to these names is expanded. The same text if there is none, or
 * if it is not JSON.
 */
export function escapeReferences(json: string, names: readonly string[] | "all"): string {
  const isWanted = (name: string): boolean => names === "all" || names.includes(name);
  if (names.length === 0 || !isJson(json) || !referencesIn(json).some(isWanted)) return json;
  return json.replace(reference, (whole, name: string) =>
    isWanted(nameOf(name) ?? "") ? `\\u007b${whole.slice(1)}` : whole,
  );
}

/**
 * What JSON says, with texts in the place of their names. Once: what comes in that way is never looked at. Undefined if
 * that would put in more than `longest` characters.
 */
export function expandReferences(
  json: string,
  values: ReadonlyMap<string, string>,
  longest = Infinity,
): JsonValue | undefined {
  let length = 0;
  const expanded = inStrings(json, (written) =>
    written.replace(reference, (whole, name: string) => {
      const value = values.get(nameOf(name) ?? "");
      length += value?.length ?? 0;
      return value === undefined || length > longest ? whole : JSON.stringify(value).slice(1, -1);
    }),
  );
  return length > longest ? undefined : expanded;
}

/** `change` gets every string that is a value, with its quotes, as it is written. */
function inStrings(json: string, change: (written: string) => string): JsonValue {
  if (!json.includes("{{var:")) return JSON.parse(json) as JsonValue;
  const revive = (_key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== "string") return value;
    const { source = JSON.stringify(value) } = context ?? {};
    const changed = change(source);
    return changed === source ? value : JSON.parse(changed);
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

function nameOf(written: string): string | undefined {
  const name = JSON.parse(`"${written}"`) as string;
  return /[\s{}]/.test(name) ? undefined : name;
}
