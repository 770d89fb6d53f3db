import { WireError } from "./error.ts";
import { isObject, type JsonObject } from "./json.ts";
import { ReplyBudget } from "./reply-budget.ts";
import type {
  ChatChunkChoice,
  ChatCompletion,
  ChatStreamEvent,
  ChatToolCallDelta,
  ErrorBody,
} from "./shapes/chat-reply.ts";
import type {
  ResponseOutputItem,
  ResponseEvent,
  ResponseObject,
} from "./shapes/responses-reply.ts";

/* Builds a complete reply from the events of a stream, so that streamed and complete replies always agree. */

/** Returns the response that results from the events; undefined if no response has begun. */
export function collectResponse(events: Iterable<ResponseEvent>): ResponseObject | undefined {
  const collector = new ResponseCollector();
  for (const event of events) collector.push(event);
  return collector.response;
}

/** Incremental form of `collectResponse`. Stores the response and its items, not the events. */
export class ResponseCollector {
  #response: ResponseObject | undefined;
  readonly #items = new Map<number, ResponseOutputItem>();

  push(event: ResponseEvent): void {
    if ("response" in event) this.#response = event.response;
    else if (event.type === "response.output_item.done")
      this.#items.set(event.output_index, event.item);
  }

  get response(): ResponseObject | undefined {
    const response = this.#response;
    if (response === undefined || response.output.length > 0) return response;
    const sorted = [...this.#items].toSorted(([a], [b]) => a - b);
    return { ...response, output: sorted.map(([, item]) => item) };
  }
}

export type CollectChatResult =
  | { ok: true; completion: ChatCompletion }
  | { ok: false; error: ErrorBody };

/** Builds a completion from repaired chunks. Returns the error instead if the stream ended with one. */
export function collectChat(events: Iterable<ChatStreamEvent>): CollectChatResult {
  const collector = new ChatCollector();
  for (const event of events) collector.push(event);
  return collector.result;
}

/** Incremental form of `collectChat`. `push` throws a WireError `reply_too_large` if the reply has too many fields. */
export class ChatCollector {
  readonly #merger: FieldMerger;
  readonly #envelope: JsonObject = {};
  readonly #choices = new Map<number, ChoiceAccumulator>();
  #error: ErrorBody | undefined;

  constructor(budget = new ReplyBudget()) {
    this.#merger = new FieldMerger(budget);
  }

  push(event: ChatStreamEvent): void {
    if (event === "[DONE]" || this.#error !== undefined) return;
    if (isObject(event.error)) {
      this.#error = event.error as unknown as ErrorBody;
      return;
    }
    const { choices, ...rest } = event;
    this.#merger.mergeAll(this.#envelope, rest as JsonObject);
    for (const choice of choices ?? []) this.#addChoice(choice);
  }

  get result(): CollectChatResult {
    if (this.#error !== undefined) return { ok: false, error: this.#error };
    const sorted = [...this.#choices].toSorted(([a], [b]) => a - b);
    const completion = {
      ...this.#envelope,
      object: "chat.completion",
      choices: sorted.map(([, { choice }]) => choice),
    };
    return { ok: true, completion: completion as unknown as ChatCompletion };
  }

  #addChoice({ delta, index = 0, message: _message, ...rest }: ChatChunkChoice): void {
    let accumulator = this.#choices.get(index);
    if (accumulator === undefined) {
      const message: JsonObject = { role: "assistant", content: null, refusal: null };
      const choice: JsonObject = { index, message, finish_reason: null, logprobs: null };
      accumulator = { choice, message, calls: undefined };
      this.#choices.set(index, accumulator);
    }
    this.#merger.mergeAll(accumulator.choice, rest as JsonObject);
    const { message } = accumulator;
    const fields = (delta ?? {}) as JsonObject;
    for (const field in fields) {
      const value = fields[field];
      if (field === "role") continue;
      if (field !== "tool_calls") this.#merger.merge(message, field, value);
      else if (!Array.isArray(value)) message[field] ??= value;
      else {
        if (accumulator.calls === undefined) message[field] = accumulator.calls = [];
        this.#addCalls(accumulator.calls, value as ChatToolCallDelta[]);
      }
    }
  }

  #addCalls(calls: JsonObject[], callDeltas: readonly ChatToolCallDelta[]): void {
    for (const { index, ...fields } of callDeltas) {
      const call = (calls[index ?? calls.length] ??= {});
      this.#merger.mergeAll(call, fields as JsonObject);
    }
  }
}

interface ChoiceAccumulator {
  readonly choice: JsonObject;
  readonly message: JsonObject;
  calls: JsonObject[] | undefined;
}

/** Strings that a stream sends in pieces. For other strings the last value wins: "safe" must not become "safesafe". */
const concatenatedFields = new Set([
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
const arrayFields = new Set(["content", "refusal", "reasoning_details", "annotations", "images"]);
const objectFields = new Set(["audio", "logprobs", "function", "custom", "reasoning"]);

type FieldValue = JsonObject[string];

/** Limit on the total number of fields in all objects of a reply. */
const maxFields = 100_000;

/** Merges the fields of chunks into the accumulated objects, which it changes in place. The chunks are not changed. */
class FieldMerger {
  readonly #budget: ReplyBudget;
  #count = 0;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  mergeAll(target: JsonObject, fields: JsonObject): void {
    for (const field in fields) this.merge(target, field, fields[field]);
  }

  merge(target: JsonObject, field: string, value: FieldValue): void {
    const current = target[field];
    if (current === undefined) this.#countField();
    if (value === null || value === undefined) {
      if (current === undefined) target[field] = value;
    } else if (
      concatenatedFields.has(field) &&
      typeof current === "string" &&
      typeof value === "string"
    )
      target[field] = current + value;
    else if (arrayFields.has(field) && Array.isArray(value)) {
      this.#budget.addValue(value);
      if (!Array.isArray(current)) target[field] = [...value];
      else for (const element of value) current.push(element);
    } else if (objectFields.has(field) && isObject(value)) {
      const inner: JsonObject = isObject(current) ? current : {};
      target[field] = inner;
      this.mergeAll(inner, value);
    } else target[field] = value;
  }

  #countField(): void {
    this.#count += 1;
    if (this.#count > maxFields)
      throw new WireError(
        "reply_too_large",
        `the upstream's reply exceeds the limit of ${maxFields} fields`,
      );
  }
}
