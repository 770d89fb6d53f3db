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

/** Fields of a fragment that we do not know: of the call, and of its `function` or `custom`. */
export function unknownFieldsOf(fragment: ChatToolCallDelta): {
  ofCall: JsonObject | undefined;
  ofFunction: JsonObject | undefined;
} {
  return {
    ofCall: unknownFields(fragment, ofCalls),
    ofFunction: unknownFields(fragment.function ?? fragment.custom ?? {}, ofFunctions),
  };
}

const ofCalls = new Set([
  "index",
  "id",
  "type",
  "function",
  "custom",
  "name",
  "arguments",
  "input",
]);
const ofFunctions = new Set(["name", "arguments", "input"]);

/** The fields of an object that are not known; undefined, at no cost, where all are. */
function unknownFields(object: object, known: ReadonlySet<string>): JsonObject | undefined {
  let unknown: JsonObject | undefined;
  for (const field in object)
    if (!known.has(field)) (unknown ??= {})[field] = (object as JsonObject)[field];
  return unknown;
}

function absentIfNull(word: string | undefined): string | undefined {
  return word === "null" || word === "None" ? undefined : word;
}

function integer(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return Number.isInteger(number) ? (number as number) : undefined;
}
