import type { ModelOptions } from "@deltawire/tasks/chats";
import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";
import type { ModelAbilities } from "../model.ts";
import { optionProblems } from "./option-values.ts";

/**
 * Options of several layers as one, the last layer over those before it. Objects are merged, anything else is replaced
 * whole. `null` takes out what an earlier layer has set; an object of which nothing else is left goes with it, one that
 * was set empty stays.
 */
export function mergeOptions(layers: readonly (ModelOptions | undefined)[]): ModelOptions {
  let merged: JsonObject = {};
  for (const layer of layers)
    if (layer !== undefined) merged = over(merged, byTheirNames(layer), "");
  return withoutNulls(merged) ?? {};
}

/** What a Chat client calls something, and where it is on the Responses wire. Of two in one layer the first counts. */
const aliases: readonly { alias: string; path: readonly [string] | readonly [string, string] }[] = [
  { alias: "max_completion_tokens", path: ["max_output_tokens"] },
  { alias: "max_tokens", path: ["max_output_tokens"] },
  { alias: "reasoning_effort", path: ["reasoning", "effort"] },
  { alias: "verbosity", path: ["text", "verbosity"] },
  { alias: "response_format", path: ["text", "format"] },
];

/** A layer in the words of the Responses wire. What it says in these words already is left as it is. */
function byTheirNames(layer: ModelOptions): JsonObject {
  const own = { ...layer };
  for (const { alias, path } of aliases) {
    const value = own[alias];
    delete own[alias];
    if (value === undefined) continue;
    const [name, inner] = path;
    const said = ownValue(own, name);
    const meant = alias === "response_format" ? textFormat(value) : value;
    if (inner === undefined) {
      if (said === undefined) own[name] = meant;
    } else if (said === undefined) own[name] = { [inner]: meant };
    else if (isObject(said) && ownValue(said, inner) === undefined)
      own[name] = { ...said, [inner]: meant };
  }
  return own;
}

/** Chat puts the fields of a schema one level deeper. */
function textFormat(format: JsonValue): JsonValue {
  if (!isObject(format) || !isObject(format["json_schema"])) return format;
  const { json_schema: schema, ...rest } = format;
  return { ...rest, ...schema };
}

/** One of several kinds each: two of them merged would be neither. A `null` within means what it says. */
const wholes = new Set(["text.format", "tool_choice"]);

function over(below: JsonObject, above: JsonObject, path: string): JsonObject {
  const merged: JsonObject = { ...below };
  for (const [name, value] of Object.entries(above)) {
    if (value === undefined || name === "__proto__") continue;
    const at = path === "" ? name : `${path}.${name}`;
    if (!isObject(value) || wholes.has(at)) {
      merged[name] = value;
      continue;
    }
    const present = ownValue(merged, name);
    merged[name] = over(isObject(present) ? present : {}, value, at);
  }
  return merged;
}

/** Undefined: there were only nulls. */
function withoutNulls(object: JsonObject, path = ""): JsonObject | undefined {
  const names = Object.keys(object);
  const kept: JsonObject = {};
  for (const name of names) {
    const value = object[name];
    if (value === null || value === undefined) continue;
    const at = path === "" ? name : `${path}.${name}`;
    const left = isObject(value) && !wholes.has(at) ? withoutNulls(value, at) : value;
    if (left !== undefined) kept[name] = left;
  }
  return names.length > 0 && Object.keys(kept).length === 0 ? undefined : kept;
}

/** Every object has a `constructor`, but nobody has set it. */
function ownValue(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * What of merged options this model can follow, and what it cannot, in words for people. A name that no rule here knows is
 * left to the gateway, which knows the server.
 */
export function fitOptions(
  options: ModelOptions,
  abilities: ModelAbilities,
  model = "this model",
): { options: ModelOptions; notices: string[] } {
  const fitted = { ...options };
  const notices: string[] = [];
  const leaveOut = (names: readonly string[], why: string): void => {
    const set = names.filter((name) => Object.hasOwn(fitted, name));
    for (const name of set) delete fitted[name];
    if (set.length > 0) notices.push(`Left out: ${set.join(", ")}. ${why}`);
  };
  if (abilities.type !== "chat") {
    const others = Object.keys(fitted).filter((name) => name !== "media");
    leaveOut(others, "Only media options are for a model of this kind.");
    return { options: fitted, notices };
  }
  leaveOut(["media"], "This model makes neither pictures nor sound.");
  if (!abilities.tools)
    leaveOut(
      ["tool_choice", "parallel_tool_calls", "max_tool_calls"],
      "This model cannot call tools.",
    );
  const { reasoning } = fitted;
  const effort = isObject(reasoning) ? reasoning["effort"] : undefined;
  if (abilities.efforts.length === 0) {
    // Not to reason is what it does.
    if (effort === "none") delete fitted["reasoning"];
    else leaveOut(["reasoning"], "This model does not reason.");
  } else if (effort !== undefined && !isEffort(effort, abilities)) {
    takeOut(fitted, ["reasoning", "effort"]);
    notices.push(
      `Left out: the reasoning effort ${JSON.stringify(effort)}. This model knows ${abilities.efforts.join(", ")}.`,
    );
  }
  for (const path of abilities.refuses)
    if (takeOut(fitted, path.split(".")))
      notices.push(`${path} is not taken by ${model}: left out`);
  return { options: fitted, notices };
}

/** Whether something was there. An object of which nothing is left goes with it. */
function takeOut(object: JsonObject, [name = "", ...inner]: readonly string[]): boolean {
  const value = ownValue(object, name);
  if (value === undefined) return false;
  const rest = isObject(value) ? { ...value } : {};
  if (inner.length > 0 && !takeOut(rest, inner)) return false;
  if (inner.length > 0 && Object.keys(rest).length > 0) object[name] = rest;
  else delete object[name];
  return true;
}

function isEffort(effort: JsonValue, { efforts }: ModelAbilities): boolean {
  return typeof effort === "string" && efforts.includes(effort);
}

/** What the gateway itself says in every request. */
const reserved = new Set([
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
const deepest = 64;

/** What is wrong with options that somebody sent, each with its path; none: they can be used. */
export function checkOptions(options: unknown): string[] {
  if (!isObject(options)) return ["expected an object"];
  return Object.entries(options).flatMap(([name, value]) => {
    if (reserved.has(name)) return [`${name}: cannot be set here`];
    if (!isWithin(value, deepest)) return [`${name}: nested more than ${deepest} levels deep`];
    return optionProblems(name, value ?? null);
  });
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}
