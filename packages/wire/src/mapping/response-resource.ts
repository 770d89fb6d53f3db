import {
  isJsonLongerThan,
  isObject,
  nonEmptyString,
  type JsonObject,
  type JsonValue,
} from "../json.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";

/* The response object of Open Responses (2026-04-24), in which no field is optional. */

/** The parameters that a response object repeats, with the values of a request without parameters. */
export const parameterDefaults: JsonObject = {
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: "default",
  store: false,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
  user: null,
};

/** The other required fields that may be null. */
const stateDefaults: JsonObject = {
  completed_at: null,
  error: null,
  incomplete_details: null,
  usage: null,
};

/** Parameters whose echo does not depend on the request: the upstream reports the tier, and the caller runs requests in the background. */
const notEchoed = new Set(["background", "service_tier"]);

/**
 * The longest field that is echoed, in characters. At least three events contain the response object: instructions of
 * 50 MB blocked the event loop for 0.3 to 0.8 s and resulted in a reply of 150 MB.
 */
const maxEchoedLength = 1_000_000;

/**
 * Builds the fields of a response object that echo the request: all parameters of the specification, with defaults for
 * those that the request does not set. Fields that are too long get their default value.
 */
export function buildRequestEcho(request: ResponsesRequest): JsonObject {
  const echo: JsonObject = { ...parameterDefaults };
  for (const field of Object.keys(parameterDefaults)) {
    const requested = request[field];
    if (
      requested !== undefined &&
      requested !== null &&
      !notEchoed.has(field) &&
      !isJsonLongerThan(requested, maxEchoedLength)
    )
      echo[field] = completeParameter(field, requested);
  }
  return echo;
}

/**
 * Adds the required fields that a response object lacks, and those of its tools and settings. `getDefaults` returns the
 * values of missing fields, else the specification's are used. Returns the same object if nothing is missing. `added`
 * receives the names of the fields.
 */
export function completeResponse(
  response: JsonObject,
  getDefaults: () => JsonObject,
  added: string[],
): JsonObject {
  let completed = response;
  let defaults: JsonObject | undefined;
  for (const field of requiredFields) {
    const value = response[field];
    const isMissing =
      value === undefined || value === "" || (value === null && !nullableFields.has(field));
    if (!isMissing) {
      const complete = completeParameter(field, value);
      if (complete === value) continue;
      completed = { ...completed, [field]: complete };
    } else {
      defaults ??= { ...stateDefaults, ...parameterDefaults, ...getDefaults() };
      completed = { ...completed, [field]: defaults[field] ?? null };
    }
    added.push(field);
  }
  return completed;
}

/**
 * The fields that every response object must have, except for its status and its output, which depend on the event.
 * `user` is deprecated and not required.
 */
const requiredFields = [
  "id",
  "object",
  "created_at",
  "model",
  ...Object.keys(stateDefaults),
  ...Object.keys(parameterDefaults).filter((field) => field !== "user"),
];

const nullableFields = new Set([
  ...Object.keys(stateDefaults),
  "metadata",
  ...Object.keys(parameterDefaults).filter((field) => parameterDefaults[field] === null),
  "reasoning",
]);

/** Adds the required fields of tools and settings. Returns the same value if it is complete. */
function completeParameter(field: string, value: JsonValue | undefined): JsonValue | undefined {
  switch (field) {
    case "tools":
      return Array.isArray(value) ? mapChanged(value, completeTool) : value;
    case "tool_choice":
      return isObject(value) && value["type"] === "allowed_tools"
        ? withDefaults(value, { mode: "auto", tools: [] })
        : value;
    case "text":
      return isObject(value) ? completeText(value) : value;
    case "reasoning":
      return isObject(value) ? withDefaults(value, { effort: null, summary: null }) : value;
    default:
      return value;
  }
}

function completeTool(tool: JsonValue): JsonValue {
  if (!isObject(tool)) return tool;
  if (tool["type"] === "function")
    return withDefaults(tool, { description: null, parameters: null, strict: null });
  if (tool["type"] !== "namespace" || !Array.isArray(tool["tools"])) return tool;
  const tools = mapChanged(tool["tools"], completeTool);
  return tools === tool["tools"] ? tool : { ...tool, tools };
}

function completeText(text: JsonObject): JsonObject {
  const { format, verbosity } = text;
  if (verbosity === null) {
    const { verbosity: _verbosity, ...rest } = text;
    return completeText(rest);
  }
  if (!isObject(format)) return { ...text, format: { type: "text" } };
  if (nonEmptyString(format["type"]) !== "json_schema") return text;
  const complete = withDefaults(format, { name: "answer", description: null, strict: false });
  if (complete["strict"] === null) return { ...text, format: { ...complete, strict: false } };
  return complete === format ? text : { ...text, format: complete };
}

/** Sets the fields that are undefined. Returns the same object if there are none. */
function withDefaults(value: JsonObject, defaults: JsonObject): JsonObject {
  const isComplete = Object.keys(defaults).every((field) => value[field] !== undefined);
  return isComplete ? value : { ...defaults, ...value };
}

/** Maps the elements. Returns the same array if none changes. */
function mapChanged(
  values: readonly JsonValue[],
  map: (value: JsonValue) => JsonValue,
): JsonValue[] {
  const mapped = values.map(map);
  return mapped.every((value, index) => value === values[index]) ? (values as JsonValue[]) : mapped;
}
