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
      if (value !== null && value !== undefined) envelope[field] = value;
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
  for (const [field, value] of Object.entries(rest))
    if (value !== null && value !== undefined)
      known[field] = joined(known[field], value as JsonObject);
  const message = known["message"] as JsonObject;
  for (const [field, value] of Object.entries(delta ?? {})) {
    if (value === null || value === undefined || field === "role") continue;
    message[field] =
      field === "tool_calls"
        ? withCalls(message[field] as JsonObject[] | undefined, value as ChatToolCallDelta[])
        : joined(message[field], value as JsonObject);
  }
  choices.set(index, known);
}

/** Text grows, lists grow, objects are merged; of anything else the last one counts. */
function joined(present: JsonObject[string], added: JsonObject[string]): JsonObject[string] {
  if (typeof present === "string" && typeof added === "string") return present + added;
  if (Array.isArray(present) && Array.isArray(added)) return [...present, ...added];
  if (!isObject(present) || !isObject(added)) return added;
  const merged = { ...present };
  for (const [field, value] of Object.entries(added))
    merged[field] = value === null ? merged[field] : joined(merged[field], value);
  return merged;
}

function withCalls(present: JsonObject[] = [], added: ChatToolCallDelta[]): JsonObject[] {
  const calls = [...present];
  for (const { index, ...fragment } of added) {
    const at = index ?? calls.length;
    calls[at] = joined(calls[at] ?? {}, fragment as JsonObject) as JsonObject;
  }
  return calls;
}
