import { isObject, type JsonValue } from "@deltawire/wire";
import { misspelled } from "./misspelled.ts";

/** What a value has to be, in words; undefined: it is. */
type Check = (value: JsonValue) => string | undefined;

/**
 * What is wrong with one parameter of a request, with its path. Of names that nobody here knows nothing is: providers have
 * their own. One that is nearly a known name is a slip, and would be ignored in silence. Null takes a parameter out.
 */
export function optionProblems(name: string, value: JsonValue): string[] {
  return problemsIn(parameters, name, value, name);
}

/** Undefined: known, and of no form of its own. */
type Fields = ReadonlyMap<string, Check | Fields | undefined>;

function problemsIn(fields: Fields, name: string, value: JsonValue, path: string): string[] {
  if (!fields.has(name)) {
    const meant = misspelled(name, fields.keys());
    return meant === undefined ? [] : [`${path}: is no parameter; did you mean ${meant}?`];
  }
  const known = fields.get(name);
  if (value === null || known === undefined) return [];
  if (typeof known === "function") {
    const wanted = known(value);
    return wanted === undefined ? [] : [`${path}: expected ${wanted}`];
  }
  if (!isObject(value)) return [`${path}: expected an object`];
  return Object.entries(value).flatMap(([inner, one = null]) =>
    problemsIn(known, inner, one, `${path}.${inner}`),
  );
}

const number =
  (least: number, most: number): Check =>
  (value) =>
    typeof value === "number" && value >= least && value <= most
      ? undefined
      : `a number from ${least} to ${most}`;

const wholeFrom =
  (least: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= least
      ? undefined
      : `a whole number, ${least} or more`;

const text: Check = (value) => (typeof value === "string" ? undefined : "a text");
const flag: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");
const object: Check = (value) => (isObject(value) ? undefined : "an object");
const typed: Check = (value) =>
  isObject(value) && typeof value["type"] === "string" ? undefined : "an object with a type";

const texts: Check = (value) =>
  typeof value === "string" ||
  (Array.isArray(value) && value.every((one) => typeof one === "string"))
    ? undefined
    : "a text or a list of texts";

const toolChoices: readonly JsonValue[] = ["auto", "none", "required"];
const toolChoice: Check = (value) =>
  toolChoices.includes(value) || typed(value) === undefined
    ? undefined
    : '"auto", "none", "required", or an object with a type, such as {"type": "function", "name": "…"}';

/** By their names on both wires. */
const parameters: Fields = new Map<string, Check | Fields | undefined>([
  ["temperature", number(0, 2)],
  ["top_p", number(0, 1)],
  ["frequency_penalty", number(-2, 2)],
  ["presence_penalty", number(-2, 2)],
  ["max_output_tokens", wholeFrom(1)],
  ["max_completion_tokens", wholeFrom(1)],
  ["max_tokens", wholeFrom(1)],
  ["max_tool_calls", wholeFrom(1)],
  ["top_logprobs", wholeFrom(0)],
  ["parallel_tool_calls", flag],
  ["tool_choice", toolChoice],
  [
    "reasoning",
    new Map<string, Check>([
      ["effort", text],
      ["summary", text],
    ]),
  ],
  ["reasoning_effort", text],
  [
    "text",
    new Map<string, Check>([
      ["format", typed],
      ["verbosity", text],
    ]),
  ],
  ["verbosity", text],
  ["response_format", typed],
  ["stop", texts],
  ["metadata", object],
  ["media", object],
  ["service_tier", text],
  ["truncation", text],
  ["user", text],
  ["safety_identifier", text],
  ["logit_bias", object],
  ["prompt_cache_key", text],
  // Near to another name, and names of their own.
  ["min_tokens", undefined],
  ["repetition_penalty", undefined],
  ["logprobs", undefined],
]);
