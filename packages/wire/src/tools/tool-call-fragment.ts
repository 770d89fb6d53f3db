import { isObject, nonEmptyString, parseInteger, type JsonObject } from "../json.ts";
import type { ChatToolCallDelta } from "../shapes/chat-reply.ts";

/** The delta of a call in one form for all servers. */
export interface ToolCallFragment {
  id: string | undefined;
  name: string | undefined;
  index: number | undefined;
  kind: "function" | "custom" | "unknown";
  arguments: string;
  /** True if the arguments were sent as a JSON value, usually an object, instead of a string. */
  hasNonStringArguments: boolean;
  extraContent: JsonObject | undefined;
}

/** Parses the delta of a call in any of the forms that servers send. */
export function parseToolCallFragment(
  delta: ChatToolCallDelta,
  toolNames: ReadonlySet<string>,
): ToolCallFragment {
  const definition: JsonObject = isObject(delta.function)
    ? delta.function
    : isObject(delta.custom)
      ? delta.custom
      : (delta as JsonObject);
  const isCustom = isObject(delta.custom) || delta.type === "custom";
  const rawName = nonEmptyString(definition["name"]);
  const rawArguments = isCustom
    ? (definition["input"] ?? definition["arguments"])
    : definition["arguments"];
  const hasNonStringArguments =
    rawArguments !== undefined && rawArguments !== null && typeof rawArguments !== "string";
  return {
    id: dropNullText(nonEmptyString(delta.id)),
    name: rawName !== undefined && toolNames.has(rawName) ? rawName : dropNullText(rawName),
    index: parseInteger(delta.index),
    kind: isCustom ? "custom" : isObject(delta.function) ? "function" : "unknown",
    arguments: hasNonStringArguments
      ? JSON.stringify(rawArguments)
      : (nonEmptyString(rawArguments) ?? ""),
    hasNonStringArguments,
    extraContent: isObject(delta["extra_content"]) ? delta["extra_content"] : undefined,
  };
}

/** The first name wins (decision 3). A further piece is appended only if the result is a prefix of an offered name. */
export function joinToolName(
  current: string | undefined,
  added: string,
  toolNames: ReadonlySet<string>,
): string {
  if (current === undefined || current === added || toolNames.has(current)) return current ?? added;
  const joined = added.startsWith(current) ? added : current + added;
  for (const name of toolNames) if (name.startsWith(joined)) return joined;
  return current;
}

/** Called for every delta, so it allocates nothing. */
export function hasUnknownFields(delta: ChatToolCallDelta): boolean {
  for (const field in delta) if (!isKnownField(field)) return true;
  for (const field in delta.function) if (!isKnownField(field)) return true;
  for (const field in delta.custom) if (!isKnownField(field)) return true;
  return false;
}

/** Returns the unknown fields of a delta and those of its `function` or `custom` object. */
export function pickUnknownFields(delta: ChatToolCallDelta): {
  callFields: JsonObject;
  functionFields: JsonObject;
} {
  const pickUnknown = (object: object) =>
    Object.fromEntries(
      Object.entries(object as JsonObject).filter(([field]) => !isKnownField(field)),
    );
  return {
    callFields: pickUnknown(delta),
    functionFields: pickUnknown(delta.function ?? delta.custom ?? {}),
  };
}

function isKnownField(field: string): boolean {
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

/** Some servers send a missing id or name as the text of a null value: "null", or "None" in Python. */
function dropNullText(text: string | undefined): string | undefined {
  return text === "null" || text === "None" ? undefined : text;
}
