import { asString, isObject, type JsonObject } from "@deltawire/wire";

/*
 * The schemas of Open Responses (specification of 2026-04-24) for the response object and the events of a stream.
 * Items, tools and events of other types are extensions, which are not checked.
 */

type Check = (value: unknown) => string | undefined;

const string = ofType("string");
const boolean = ofType("boolean");
const number = ofType("number");
const integer: Check = (value) =>
  Number.isInteger(value) ? undefined : `expected an integer, got ${format(value)}`;
const anything: Check = (value) => (value === undefined ? "is missing" : undefined);

const error = object({ code: string, message: string });
const usage = object({
  input_tokens: integer,
  input_tokens_details: object({ cached_tokens: integer }),
  output_tokens: integer,
  output_tokens_details: object({ reasoning_tokens: integer }),
  total_tokens: integer,
});

const topLogprob = object({ token: string, logprob: number, bytes: listOf(integer) });
const logprob = object({
  token: string,
  logprob: number,
  bytes: listOf(integer),
  top_logprobs: listOf(topLogprob),
});
const logprobs = optional(listOf(logprob));
const annotation = byType({
  url_citation: object({ url: string, title: string, start_index: integer, end_index: integer }),
});
const part = byType({
  output_text: object({ text: string, annotations: listOf(annotation), logprobs }),
  refusal: object({ refusal: string }),
  summary_text: object({ text: string }),
  reasoning_text: object({ text: string }),
  text: object({ text: string }),
});

const status = oneOf("in_progress", "completed", "incomplete");
const item = byType({
  message: object({
    id: string,
    status,
    role: oneOf("assistant"),
    content: listOf(part),
    phase: optional(oneOf("commentary", "final_answer")),
  }),
  function_call: object({ id: string, call_id: string, name: string, arguments: string, status }),
  reasoning: object({
    id: string,
    summary: listOf(part),
    content: optional(listOf(part)),
    encrypted_content: optional(string),
  }),
  compaction: object({ id: string, encrypted_content: string }),
});

const tool = byType({
  function: object({
    name: string,
    description: nullable(string),
    parameters: nullable(isObjectCheck),
    strict: nullable(boolean),
  }),
});
const toolChoiceMode = oneOf("none", "auto", "required");
const toolChoice: Check = (value) =>
  isObject(value)
    ? byType({
        function: object({ name: optional(string) }),
        allowed_tools: object({ mode: toolChoiceMode, tools: listOf(isObjectCheck) }),
      })(value)
    : toolChoiceMode(value);
const textFormat = byType({
  text: object({}),
  json_object: object({}),
  json_schema: object({ name: string, description: nullable(string), strict: boolean }),
});

const response = object({
  id: string,
  object: oneOf("response"),
  created_at: integer,
  completed_at: nullable(integer),
  status: string,
  incomplete_details: nullable(object({ reason: string })),
  model: string,
  previous_response_id: nullable(string),
  instructions: nullable(anything),
  output: listOf(item),
  error: nullable(error),
  tools: listOf(tool),
  tool_choice: toolChoice,
  truncation: oneOf("auto", "disabled"),
  parallel_tool_calls: boolean,
  text: object({ format: textFormat, verbosity: optional(oneOf("low", "medium", "high")) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: integer,
  temperature: number,
  reasoning: nullable(object({ effort: nullable(string), summary: nullable(string) })),
  usage: nullable(usage),
  max_output_tokens: nullable(integer),
  max_tool_calls: nullable(integer),
  store: boolean,
  background: boolean,
  service_tier: string,
  metadata: anything,
  safety_identifier: nullable(string),
  prompt_cache_key: nullable(string),
});

const itemPosition = { item_id: string, output_index: integer };
const partPosition = { ...itemPosition, content_index: integer };
const summaryPosition = { ...itemPosition, summary_index: integer };
const eventChecks: Record<string, Check> = {
  "response.created": object({ response }),
  "response.queued": object({ response }),
  "response.in_progress": object({ response }),
  "response.completed": object({ response }),
  "response.failed": object({ response }),
  "response.incomplete": object({ response }),
  "response.output_item.added": object({ output_index: integer, item }),
  "response.output_item.done": object({ output_index: integer, item }),
  "response.content_part.added": object({ ...partPosition, part }),
  "response.content_part.done": object({ ...partPosition, part }),
  "response.output_text.delta": object({ ...partPosition, delta: string, logprobs }),
  "response.output_text.done": object({ ...partPosition, text: string, logprobs }),
  "response.output_text.annotation.added": object({
    ...partPosition,
    annotation_index: integer,
    annotation,
  }),
  "response.refusal.delta": object({ ...partPosition, delta: string }),
  "response.refusal.done": object({ ...partPosition, refusal: string }),
  "response.reasoning.delta": object({ ...partPosition, delta: string }),
  "response.reasoning.done": object({ ...partPosition, text: string }),
  "response.reasoning_summary_part.added": object({ ...summaryPosition, part }),
  "response.reasoning_summary_part.done": object({ ...summaryPosition, part }),
  "response.reasoning_summary_text.delta": object({ ...summaryPosition, delta: string }),
  "response.reasoning_summary_text.done": object({ ...summaryPosition, text: string }),
  "response.function_call_arguments.delta": object({ ...itemPosition, delta: string }),
  "response.function_call_arguments.done": object({ ...itemPosition, arguments: string }),
};

/** Returns the differences between a response object and the specification. */
export function findResponseFaults(value: unknown): string[] {
  const fault = response(value);
  return fault === undefined ? [] : [fault];
}

/** Returns the differences between the events of a stream and the specification. */
export function findEventFaults(events: readonly object[]): string[] {
  return events.flatMap((event, position) => {
    const { type, sequence_number } = event as JsonObject;
    const fault =
      (Number.isInteger(sequence_number) ? undefined : "sequence_number is missing") ??
      eventChecks[asString(type)]?.(event);
    return fault === undefined ? [] : [`#${position} ${asString(type)}: ${fault}`];
  });
}

function ofType(type: "string" | "boolean" | "number"): Check {
  return (value) =>
    typeof value === type ? undefined : `expected a ${type}, got ${format(value)}`;
}

function oneOf(...values: readonly string[]): Check {
  return (value) =>
    values.includes(value as string)
      ? undefined
      : `expected ${values.join(" or ")}, got ${format(value)}`;
}

function nullable(check: Check): Check {
  return (value) => (value === null ? undefined : check(value));
}

function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value));
}

function isObjectCheck(value: unknown): string | undefined {
  return isObject(value) ? undefined : `expected an object, got ${format(value)}`;
}

function object(fields: Readonly<Record<string, Check>>): Check {
  return (value) => {
    if (!isObject(value)) return isObjectCheck(value);
    for (const [name, check] of Object.entries(fields)) {
      const fault = check(value[name]);
      if (fault !== undefined) return `${name}: ${fault}`;
    }
    return undefined;
  };
}

function listOf(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return `expected a list, got ${format(value)}`;
    for (const [index, element] of value.entries()) {
      const fault = check(element);
      if (fault !== undefined) return `[${index}] ${fault}`;
    }
    return undefined;
  };
}

/** Checks an object by its type. Other types are extensions. */
function byType(checks: Readonly<Record<string, Check>>): Check {
  return (value) => {
    if (!isObject(value)) return isObjectCheck(value);
    if (typeof value["type"] !== "string") return "type is missing";
    return Object.hasOwn(checks, value["type"]) ? checks[value["type"]]?.(value) : undefined;
  };
}

function format(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 60);
}
