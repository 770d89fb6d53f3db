import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ChatToolCallDelta } from "../shapes/chat-reply.ts";

export interface Fragment {
  id: string | undefined;
  name: string | undefined;
  index: number | undefined;
  kind: "function" | "custom" | "unknown";
  arguments: string;
  /** They came as a JSON value, not as its text. */
  wasObject: boolean;
  extra: JsonObject | undefined;
}

/** What a fragment says, whichever way its server writes it. */
export function readFragment(
  fragment: ChatToolCallDelta,
  toolNames: ReadonlySet<string>,
): Fragment {
  const described: JsonObject = isObject(fragment.function)
    ? fragment.function
    : isObject(fragment.custom)
      ? fragment.custom
      : (fragment as JsonObject);
  const custom = isObject(fragment.custom) || fragment.type === "custom";
  const named = nonEmptyString(described["name"]);
  const given = custom ? (described["input"] ?? described["arguments"]) : described["arguments"];
  const wasObject = given !== undefined && given !== null && typeof given !== "string";
  return {
    id: absentIfNull(nonEmptyString(fragment.id)),
    name: named !== undefined && toolNames.has(named) ? named : absentIfNull(named),
    index: integer(fragment.index),
    kind: custom ? "custom" : isObject(fragment.function) ? "function" : "unknown",
    arguments: wasObject ? JSON.stringify(given) : (nonEmptyString(given) ?? ""),
    wasObject,
    extra: isObject(fragment["extra_content"]) ? fragment["extra_content"] : undefined,
  };
}

/** Decision 3: the first name wins; a piece is joined only on the way to a declared name. */
export function joinedName(
  present: string | undefined,
  added: string,
  toolNames: ReadonlySet<string>,
): string {
  if (present === undefined || present === added || toolNames.has(present)) return present ?? added;
  const joined = added.startsWith(present) ? added : present + added;
  for (const name of toolNames) if (name.startsWith(joined)) return joined;
  return present;
}

/** Asked of every fragment, so without any object of its own. */
export function hasUnknownFields(fragment: ChatToolCallDelta): boolean {
  for (const field in fragment) if (!isKnown(field)) return true;
  for (const field in fragment.function) if (!isKnown(field)) return true;
  for (const field in fragment.custom) if (!isKnown(field)) return true;
  return false;
}

/** Fields of a fragment that we do not know: of the call, and of its `function` or `custom`. */
export function unknownFieldsOf(fragment: ChatToolCallDelta): {
  ofCall: JsonObject;
  ofFunction: JsonObject;
} {
  const unknown = (object: object) =>
    Object.fromEntries(Object.entries(object as JsonObject).filter(([field]) => !isKnown(field)));
  return {
    ofCall: unknown(fragment),
    ofFunction: unknown(fragment.function ?? fragment.custom ?? {}),
  };
}

function isKnown(field: string): boolean {
  switch (field) {
    case "index":
    case "id":
    case "type":
    case "function":
    case "custom":
    case "name":
    case "arguments":
    case "input":
      return true;
    default:
      return false;
  }
}

function absentIfNull(word: string | undefined): string | undefined {
  return word === "null" || word === "None" ? undefined : word;
}

function integer(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return Number.isInteger(number) ? (number as number) : undefined;
}
