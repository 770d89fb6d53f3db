import { isObject, type JsonValue } from "@deltawire/wire";
import { suggestName } from "./suggest-name.ts";

/** Returns a description of the expected value, or undefined if the value is valid. */
type ValueCheck = (value: JsonValue) => string | undefined;

/**
 * Returns the problems of one request parameter, each with its path. Unknown names are accepted, because providers have
 * parameters of their own, unless they resemble a known name: servers would silently ignore such a typo. Null removes a
 * parameter and is always valid.
 */
export function findOptionProblems(name: string, value: JsonValue): string[] {
  return findProblems(knownParameters, name, value, name);
}

/** Undefined: the name is known, but its value is not checked. */
type OptionFields = ReadonlyMap<string, ValueCheck | OptionFields | undefined>;

function findProblems(
  fields: OptionFields,
  name: string,
  value: JsonValue,
  path: string,
): string[] {
  if (!fields.has(name)) {
    const suggestion = suggestName(name, fields.keys());
    return suggestion === undefined
      ? []
      : [`${path}: unknown parameter (did you mean ${suggestion}?)`];
  }
  const check = fields.get(name);
  if (value === null || check === undefined) return [];
  if (typeof check === "function") {
    const expected = check(value);
    return expected === undefined ? [] : [`${path}: expected ${expected}`];
  }
  if (!isObject(value)) return [`${path}: expected an object`];
  return Object.entries(value).flatMap(([key, element = null]) =>
    findProblems(check, key, element, `${path}.${key}`),
  );
}

const numberBetween =
  (min: number, max: number): ValueCheck =>
  (value) =>
    typeof value === "number" && value >= min && value <= max
      ? undefined
      : `a number from ${min} to ${max}`;

const integerFrom =
  (min: number): ValueCheck =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= min
      ? undefined
      : `an integer of at least ${min}`;

const stringValue: ValueCheck = (value) => (typeof value === "string" ? undefined : "a string");
const booleanValue: ValueCheck = (value) =>
  typeof value === "boolean" ? undefined : "true or false";
const objectValue: ValueCheck = (value) => (isObject(value) ? undefined : "an object");
const typedObject: ValueCheck = (value) =>
  isObject(value) && typeof value["type"] === "string" ? undefined : "an object with a type";

const stringOrStrings: ValueCheck = (value) =>
  typeof value === "string" ||
  (Array.isArray(value) && value.every((element) => typeof element === "string"))
    ? undefined
    : "a string or a list of strings";

const toolChoiceModes: readonly JsonValue[] = ["auto", "none", "required"];
const toolChoice: ValueCheck = (value) =>
  toolChoiceModes.includes(value) || typedObject(value) === undefined
    ? undefined
    : '"auto", "none", "required", or an object with a type, such as {"type": "function", "name": "…"}';

/** The parameters of both wires. */
const knownParameters: OptionFields = new Map<string, ValueCheck | OptionFields | undefined>([
  ["temperature", numberBetween(0, 2)],
  ["top_p", numberBetween(0, 1)],
  ["frequency_penalty", numberBetween(-2, 2)],
  ["presence_penalty", numberBetween(-2, 2)],
  ["max_output_tokens", integerFrom(1)],
  ["max_completion_tokens", integerFrom(1)],
  ["max_tokens", integerFrom(1)],
  ["max_tool_calls", integerFrom(1)],
  ["top_logprobs", integerFrom(0)],
  ["parallel_tool_calls", booleanValue],
  ["tool_choice", toolChoice],
  [
    "reasoning",
    new Map<string, ValueCheck>([
      ["effort", stringValue],
      ["summary", stringValue],
    ]),
  ],
  ["reasoning_effort", stringValue],
  [
    "text",
    new Map<string, ValueCheck>([
      ["format", typedObject],
      ["verbosity", stringValue],
    ]),
  ],
  ["verbosity", stringValue],
  ["response_format", typedObject],
  ["stop", stringOrStrings],
  ["metadata", objectValue],
  ["media", objectValue],
  ["service_tier", stringValue],
  ["truncation", stringValue],
  ["user", stringValue],
  ["safety_identifier", stringValue],
  ["logit_bias", objectValue],
  ["prompt_cache_key", stringValue],
  // Parameters that resemble another name but are not typos.
  ["min_tokens", undefined],
  ["repetition_penalty", undefined],
  ["logprobs", undefined],
]);
