import type { ModelOptions } from "@deltawire/tasks/chats";
import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";
import type { ModelCapabilities } from "../model.ts";
import { findOptionProblems } from "./check-option-values.ts";

/**
 * Merges layers of options; later layers take precedence. Objects are merged deeply, all other values are replaced. `null`
 * removes what an earlier layer has set, and also the enclosing object if nothing else remains in it. Objects that were
 * explicitly set to `{}` remain.
 */
export function mergeOptions(layers: readonly (ModelOptions | undefined)[]): ModelOptions {
  let merged: JsonObject = {};
  for (const layer of layers)
    if (layer !== undefined) merged = mergeLayer(merged, resolveAliases(layer), "");
  return removeNulls(merged) ?? {};
}

/** Names of the Chat wire and their paths on the Responses wire. If a layer has two names for one path, the first is used. */
const optionAliases: readonly {
  alias: string;
  path: readonly [string] | readonly [string, string];
}[] = [
  { alias: "max_completion_tokens", path: ["max_output_tokens"] },
  { alias: "max_tokens", path: ["max_output_tokens"] },
  { alias: "reasoning_effort", path: ["reasoning", "effort"] },
  { alias: "verbosity", path: ["text", "verbosity"] },
  { alias: "response_format", path: ["text", "format"] },
];

/** Renames Chat parameters to those of the Responses wire, which take precedence if a layer has both. */
function resolveAliases(layer: ModelOptions): JsonObject {
  const resolved = { ...layer };
  for (const { alias, path } of optionAliases) {
    const value = resolved[alias];
    delete resolved[alias];
    if (value === undefined) continue;
    const [name, inner] = path;
    const existingValue = getOwnValue(resolved, name);
    const translated = alias === "response_format" ? toTextFormat(value) : value;
    if (inner === undefined) {
      if (existingValue === undefined) resolved[name] = translated;
    } else if (existingValue === undefined) resolved[name] = { [inner]: translated };
    else if (isObject(existingValue) && getOwnValue(existingValue, inner) === undefined)
      resolved[name] = { ...existingValue, [inner]: translated };
  }
  return resolved;
}

/** The Chat wire nests the fields of a schema one level deeper. */
function toTextFormat(format: JsonValue): JsonValue {
  if (!isObject(format) || !isObject(format["json_schema"])) return format;
  const { json_schema: schema, ...rest } = format;
  return { ...rest, ...schema };
}

/** Options that are replaced as a unit: they are unions, and merged variants would be invalid. `null` inside them is a value. */
const atomicOptions = new Set(["text.format", "tool_choice"]);

function mergeLayer(base: JsonObject, layer: JsonObject, path: string): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [name, value] of Object.entries(layer)) {
    if (value === undefined || name === "__proto__") continue;
    const fullPath = path === "" ? name : `${path}.${name}`;
    if (!isObject(value) || atomicOptions.has(fullPath)) {
      merged[name] = value;
      continue;
    }
    const currentValue = getOwnValue(merged, name);
    merged[name] = mergeLayer(isObject(currentValue) ? currentValue : {}, value, fullPath);
  }
  return merged;
}

/** Returns undefined if the object contained only nulls. */
function removeNulls(object: JsonObject, path = ""): JsonObject | undefined {
  const names = Object.keys(object);
  const remaining: JsonObject = {};
  for (const name of names) {
    const value = object[name];
    if (value === null || value === undefined) continue;
    const fullPath = path === "" ? name : `${path}.${name}`;
    const cleaned =
      isObject(value) && !atomicOptions.has(fullPath) ? removeNulls(value, fullPath) : value;
    if (cleaned !== undefined) remaining[name] = cleaned;
  }
  return names.length > 0 && Object.keys(remaining).length === 0 ? undefined : remaining;
}

/** Ignores inherited properties such as `constructor`. */
function getOwnValue(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * Returns the options that the model supports, and notices for the user about the others. Unknown names remain: the gateway
 * knows whether the server supports them.
 */
export function filterSupportedOptions(
  options: ModelOptions,
  capabilities: ModelCapabilities,
  model = "this model",
): { options: ModelOptions; notices: string[] } {
  const supported = { ...options };
  const notices: string[] = [];
  const dropOptions = (names: readonly string[], reason: string): void => {
    const dropped = names.filter((name) => Object.hasOwn(supported, name));
    for (const name of dropped) delete supported[name];
    if (dropped.length > 0) notices.push(`Not sent: ${dropped.join(", ")}. ${reason}`);
  };
  if (capabilities.type !== "chat") {
    const unsupported = Object.keys(supported).filter((name) => name !== "media");
    dropOptions(unsupported, "This kind of model only supports media options.");
    return { options: supported, notices };
  }
  dropOptions(["media"], "This model does not generate images or audio.");
  if (!capabilities.tools)
    dropOptions(
      ["tool_choice", "parallel_tool_calls", "max_tool_calls"],
      "This model cannot call tools.",
    );
  const { reasoning } = supported;
  const effort = isObject(reasoning) ? reasoning["effort"] : undefined;
  if (capabilities.efforts.length === 0) {
    // The model does not reason anyway, so this needs no notice.
    if (effort === "none") delete supported["reasoning"];
    else dropOptions(["reasoning"], "This model does not reason.");
  } else if (effort !== undefined && !isSupportedEffort(effort, capabilities)) {
    deletePath(supported, ["reasoning", "effort"]);
    notices.push(
      `Not sent: reasoning effort ${JSON.stringify(effort)}. This model supports ${capabilities.efforts.join(", ")}.`,
    );
  }
  for (const path of capabilities.unsupported_options)
    if (deletePath(supported, path.split(".")))
      notices.push(`${path} is not supported by ${model} and was not sent`);
  return { options: supported, notices };
}

/** Deletes a value and the enclosing objects that become empty. Returns false if the value does not exist. */
function deletePath(object: JsonObject, [name = "", ...inner]: readonly string[]): boolean {
  const value = getOwnValue(object, name);
  if (value === undefined) return false;
  const copy = isObject(value) ? { ...value } : {};
  if (inner.length > 0 && !deletePath(copy, inner)) return false;
  if (inner.length > 0 && Object.keys(copy).length > 0) object[name] = copy;
  else delete object[name];
  return true;
}

function isSupportedEffort(effort: JsonValue, { efforts }: ModelCapabilities): boolean {
  return typeof effort === "string" && efforts.includes(effort);
}

/** Parameters that the gateway sets itself. */
const reservedOptions = new Set([
  "model",
  "input",
  "messages",
  "instructions",
  "tools",
  "stream",
  "store",
  "include",
  "previous_response_id",
  "background",
  "conversation",
  "prompt",
  "stream_options",
  "client_metadata",
  "n",
]);
const maxDepth = 64;

/** Validates options from a client. Returns the problems, each starting with the option's path. Empty if there are none. */
export function validateModelOptions(options: unknown): string[] {
  if (!isObject(options)) return ["expected an object"];
  return Object.entries(options).flatMap(([name, value]) => {
    if (reservedOptions.has(name)) return [`${name}: cannot be set here`];
    if (!isWithinDepth(value, maxDepth))
      return [`${name}: nested more than ${maxDepth} levels deep`];
    return findOptionProblems(name, value ?? null);
  });
}

function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithinDepth(inner, levels - 1));
}
