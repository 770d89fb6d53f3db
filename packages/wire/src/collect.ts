import { WireError } from "./error.ts";
import { isObject, type JsonObject } from "./json.ts";
import { ReplyBudget } from "./reply-budget.ts";
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
  const collector = new ResponseCollector();
  for (const event of events) collector.push(event);
  return collector.response;
}

/** The same for events as they come: nothing is stored but what they amount to. */
export class ResponseCollector {
  #response: ResponseObject | undefined;
  readonly #items = new Map<number, OutputItem>();

  push(event: ResponseEvent): void {
    if ("response" in event) this.#response = event.response;
    else if (event.type === "response.output_item.done")
      this.#items.set(event.output_index, event.item);
  }

  get response(): ResponseObject | undefined {
    const response = this.#response;
    if (response === undefined || response.output.length > 0) return response;
    const inOrder = [...this.#items].toSorted(([a], [b]) => a - b);
    return { ...response, output: inOrder.map(([, item]) => item) };
  }
}

export type CollectedChat =
  | { ok: true; completion: ChatCompletion }
  | { ok: false; error: ErrorBody };

/** The completion that repaired chunks amount to, or the error that they ended in. */
export function collectChat(outputs: Iterable<ChatOutput>): CollectedChat {
  const collector = new ChatCollector();
  for (const output of outputs) collector.push(output);
  return collector.collected;
}

/** The same for chunks as they come. Throws a WireError `reply_too_large` for a reply with too many fields. */
export class ChatCollector {
  readonly #fields: Fields;
  readonly #envelope: JsonObject = {};
  readonly #choices = new Map<number, CollectedChoice>();
  #error: ErrorBody | undefined;

  constructor(budget = new ReplyBudget()) {
    this.#fields = new Fields(budget);
  }

  push(output: ChatOutput): void {
    if (output === "[DONE]" || this.#error !== undefined) return;
    if (isObject(output.error)) {
      this.#error = output.error as unknown as ErrorBody;
      return;
    }
    const { choices, ...rest } = output;
    this.#fields.addAll(this.#envelope, rest as JsonObject);
    for (const choice of choices ?? []) this.#addChoice(choice);
  }

  get collected(): CollectedChat {
    if (this.#error !== undefined) return { ok: false, error: this.#error };
    const inOrder = [...this.#choices].toSorted(([a], [b]) => a - b);
    const completion = {
      ...this.#envelope,
      object: "chat.completion",
      choices: inOrder.map(([, { choice }]) => choice),
    };
    return { ok: true, completion: completion as unknown as ChatCompletion };
  }

  #addChoice({ delta, index = 0, message: _soFar, ...rest }: ChatChunkChoice): void {
    let known = this.#choices.get(index);
    if (known === undefined) {
      const message: JsonObject = { role: "assistant", content: null, refusal: null };
      const choice: JsonObject = { index, message, finish_reason: null, logprobs: null };
      known = { choice, message, calls: undefined };
      this.#choices.set(index, known);
    }
    this.#fields.addAll(known.choice, rest as JsonObject);
    const { message } = known;
    const fields = (delta ?? {}) as JsonObject;
    for (const field in fields) {
      const value = fields[field];
      if (field === "role") continue;
      if (field !== "tool_calls") this.#fields.add(message, field, value);
      else if (!Array.isArray(value)) message[field] ??= value;
      else {
        if (known.calls === undefined) message[field] = known.calls = [];
        this.#addCalls(known.calls, value as ChatToolCallDelta[]);
      }
    }
  }

  #addCalls(calls: JsonObject[], fragments: readonly ChatToolCallDelta[]): void {
    for (const { index, ...fragment } of fragments) {
      const call = (calls[index ?? calls.length] ??= {});
      this.#fields.addAll(call, fragment as JsonObject);
    }
  }
}

interface CollectedChoice {
  readonly choice: JsonObject;
  readonly message: JsonObject;
  calls: JsonObject[] | undefined;
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

/** How many fields the objects of a reply may have in all. */
const mostFields = 100_000;

/** Adds what chunks say to objects of its own: lists and nested objects grow in place, those of the chunks do not. */
class Fields {
  readonly #budget: ReplyBudget;
  #count = 0;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  addAll(into: JsonObject, fields: JsonObject): void {
    for (const field in fields) this.add(into, field, fields[field]);
  }

  add(into: JsonObject, field: string, value: Value): void {
    const present = into[field];
    if (present === undefined) this.#countField();
    if (value === null || value === undefined) {
      if (present === undefined) into[field] = value;
    } else if (growing.has(field) && typeof present === "string" && typeof value === "string")
      into[field] = present + value;
    else if (listed.has(field) && Array.isArray(value)) {
      this.#budget.addValue(value);
      if (!Array.isArray(present)) into[field] = [...value];
      else for (const each of value) present.push(each);
    } else if (nested.has(field) && isObject(value)) {
      const inner: JsonObject = isObject(present) ? present : {};
      into[field] = inner;
      this.addAll(inner, value);
    } else into[field] = value;
  }

  #countField(): void {
    this.#count += 1;
    if (this.#count > mostFields)
      throw new WireError(
        "reply_too_large",
        `the upstream's reply has more than ${mostFields} fields, which is the limit`,
      );
  }
}
