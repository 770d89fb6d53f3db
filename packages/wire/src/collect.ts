import { isObject, type JsonObject } from "./json.ts";
import type {
  ChatChunkChoice,
  ChatCompletion,
  ChatOutput,
  ChatToolCallDelta,
  ErrorBody,
} from "./shapes/chat-reply.ts";
import type { OutputItem, ResponseEvent, ResponseObject } from "./shapes/responses-reply.ts";

/*
 * Events to the whole object. A whole reply is the fold over the stream that says the same, so that both paths agree.
 */

/** The response that a sequence of events amounts to; undefined while none has begun. */
export function collectResponse(events: Iterable<ResponseEvent>): ResponseObject | undefined {
  let response: ResponseObject | undefined;
  const items: OutputItem[] = [];
  for (const event of events) {
    if ("response" in event) response = event.response;
    else if (event.type === "response.output_item.done") items[event.output_index] = event.item;
  }
  if (response === undefined || response.output.length > 0) return response;
  return { ...response, output: items.filter((item) => item !== undefined) };
}

export type CollectedChat =
  | { ok: true; completion: ChatCompletion }
  | { ok: false; error: ErrorBody };

/** The completion that repaired chunks amount to, or the error that they ended in. */
export function collectChat(outputs: Iterable<ChatOutput>): CollectedChat {
  const envelope: JsonObject = {};
  const choices = new Map<number, JsonObject>();
  for (const output of outputs) {
    if (output === "[DONE]") continue;
    if (isObject(output.error)) return { ok: false, error: output.error as unknown as ErrorBody };
    const { choices: listed, ...rest } = output;
    for (const [field, value] of Object.entries(rest as JsonObject))
      envelope[field] = added(field, envelope[field], value);
    for (const choice of listed ?? []) addChoice(choices, choice);
  }
  const completion = {
    ...envelope,
    object: "chat.completion",
    choices: [...choices.keys()].toSorted((a, b) => a - b).map((index) => choices.get(index)),
  };
  return { ok: true, completion: completion as unknown as ChatCompletion };
}

function addChoice(choices: Map<number, JsonObject>, choice: ChatChunkChoice): void {
  const { delta, index = 0, message: _soFar, ...rest } = choice;
  const known: JsonObject = choices.get(index) ?? {
    index,
    message: { role: "assistant", content: null, refusal: null },
    finish_reason: null,
    logprobs: null,
  };
  for (const [field, value] of Object.entries(rest as JsonObject))
    known[field] = added(field, known[field], value);
  const message = known["message"] as JsonObject;
  for (const [field, value] of Object.entries((delta ?? {}) as JsonObject)) {
    if (field === "role") continue;
    if (field !== "tool_calls") message[field] = added(field, message[field], value);
    else if (Array.isArray(value))
      message[field] = withCalls(message[field], value as ChatToolCallDelta[]);
    else message[field] ??= value;
  }
  choices.set(index, known);
}

/** What a stream sends in pieces. Of anything else the last counts: joined, "safe" would become "safesafe". */
const growing = new Set([
  "content",
  "refusal",
  "reasoning",
  "reasoning_content",
  "reasoning_text",
  "text",
  "arguments",
  "input",
  "data",
  "transcript",
]);
const listed = new Set(["content", "refusal", "reasoning_details", "annotations", "images"]);
const nested = new Set(["audio", "logprobs", "function", "custom", "reasoning"]);

type Value = JsonObject[string];

function added(field: string, present: Value, value: Value): Value {
  if (value === null || value === undefined) return present === undefined ? value : present;
  if (growing.has(field) && typeof present === "string" && typeof value === "string")
    return present + value;
  if (listed.has(field) && Array.isArray(present) && Array.isArray(value))
    return [...present, ...value];
  if (!nested.has(field) || !isObject(present) || !isObject(value)) return value;
  const merged = { ...present };
  for (const [key, inner] of Object.entries(value)) merged[key] = added(key, merged[key], inner);
  return merged;
}

function withCalls(present: Value, fragments: ChatToolCallDelta[]): JsonObject[] {
  const calls = Array.isArray(present) ? (present as JsonObject[]).slice() : [];
  for (const { index, ...fragment } of fragments) {
    const at = index ?? calls.length;
    const call = { ...calls[at] };
    for (const [field, value] of Object.entries(fragment as JsonObject))
      call[field] = added(field, call[field], value);
    calls[at] = call;
  }
  return calls;
}
