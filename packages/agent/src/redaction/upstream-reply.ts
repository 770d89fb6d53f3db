import {
  errorIn,
  reportsError,
  type ChatChunk,
  type ChatInput,
  type JsonObject,
  type JsonValue,
  type ResponsesInput,
} from "@deltawire/wire";
import type { Redactor } from "./redactor.ts";

/*
 * What of an upstream's reply may leave the process. Errors are redacted and then bounded; everything else that is not
 * the model's own output is redacted. The model's words, its reasoning and the arguments of its calls are never changed.
 */

/** Characters of one text of an error, and of all its texts. */
const maxErrorText = 2000;
const maxErrorTexts = 8000;
const maxErrorFields = 100;
const maxErrorDepth = 8;
/** Deeper values beside the model's output are left out. */
const maxDataDepth = 64;

/** The text of an error as clients and logs may have it. */
export function errorText(text: string, redactor: Redactor): string {
  return redactor.excerpt(text, maxErrorText);
}

/** An error object, or whatever an upstream sent in its place, as clients may have it. */
export function redactError<Value>(error: Value, redactor: Redactor): Value {
  const budget = { texts: maxErrorTexts, fields: maxErrorFields };
  const visit = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      const text = redactor.excerpt(value, Math.min(maxErrorText, Math.max(0, budget.texts)));
      budget.texts -= text.length;
      return text;
    }
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxErrorDepth) return null;
    const entries: [string, unknown][] = [];
    for (const name in value) {
      if ((budget.fields -= 1) < 0 || budget.texts <= 0) break;
      const key = redactor.excerpt(name, maxErrorText);
      entries.push([key, visit((value as JsonObject)[name], depth + 1)]);
    }
    return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
  };
  return visit(withTextsFirst(error), 0) as Value;
}

/** What clients read first must not be what the bounds leave out. */
function withTextsFirst(error: unknown): unknown {
  if (typeof error !== "object" || error === null || Array.isArray(error)) return error;
  const { type, code, message, ...rest } = error as JsonObject;
  const known = Object.entries({ type, code, message }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(known), ...rest };
}

/** Returns what redacts the chunks of one reply of a Chat upstream. Chunks without a secret are the same object. */
export function redactChat(redactor: Redactor): (input: ChatInput) => ChatInput {
  const chunks = new ChatReplyRedactor(redactor);
  return (input) => chunks.redact(input);
}

/** The same for the events of one reply of a Responses upstream. */
export function redactResponses(redactor: Redactor): (event: ResponsesInput) => ResponsesInput {
  const events = new ResponsesReplyRedactor(redactor);
  return (event) => events.redact(event);
}

/** What the model says, in a delta or in a message of the Chat wire. */
const chatOutput = new Set([
  "role",
  "content",
  "refusal",
  "reasoning",
  "reasoning_content",
  "reasoning_text",
  "reasoning_details",
  "reasoning_opaque",
  "tool_calls",
  "function_call",
  "audio",
  "images",
  "annotations",
]);

/** Fields of a choice that are the model's output, beside its delta. */
const choiceOutput = new Set(["index", "finish_reason", "logprobs", "text"]);

class ChatReplyRedactor {
  readonly #data: DataRedactor;
  readonly #redactor: Redactor;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
    this.#data = new DataRedactor(redactor);
  }

  redact(input: ChatInput): ChatInput {
    if (input === "[DONE]") return input;
    if (errorIn(input) === input) return redactError(input, this.#redactor);
    let redacted: ChatChunk | undefined;
    for (const field in input) {
      const value = input[field];
      const clean = this.#chunkField(field, value);
      if (clean !== value) (redacted ??= { ...input })[field] = clean;
    }
    return redacted ?? input;
  }

  #chunkField(field: string, value: unknown): unknown {
    if (field === "choices" && Array.isArray(value))
      return mapChanged(value, (choice) => this.#choice(choice));
    if (field === "error") return redactError(value, this.#redactor);
    return this.#data.redactField(field, value);
  }

  #choice(choice: unknown): unknown {
    if (typeof choice !== "object" || choice === null || isPlainChoice(choice as JsonObject))
      return choice;
    return mapFields(choice as JsonObject, (field, value) => {
      if (choiceOutput.has(field)) return value;
      if (field === "error" && reportsError(value)) return redactError(value, this.#redactor);
      if (field !== "delta" && field !== "message") return this.#data.redactField(field, value);
      if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
      return mapFields(value, (name, inner) =>
        chatOutput.has(name) ? inner : this.#data.redactField(name, inner),
      );
    });
  }
}

/** True for what nearly every chunk holds: a choice with the model's output and nothing else. */
function isPlainChoice(choice: JsonObject): boolean {
  for (const field in choice) if (field !== "delta" && !choiceOutput.has(field)) return false;
  const { delta } = choice;
  if (typeof delta !== "object" || delta === null || Array.isArray(delta)) return true;
  for (const field in delta) if (!chatOutput.has(field)) return false;
  return true;
}

/** Fields of events of the Responses wire that hold the model's output, or padding. */
const eventOutput = new Set([
  "type",
  "delta",
  "text",
  "arguments",
  "input",
  "refusal",
  "code",
  "logprobs",
  "annotation",
  "part",
  "partial_image_b64",
  "obfuscation",
]);

class ResponsesReplyRedactor {
  readonly #data: DataRedactor;
  /** The last id of an item without a secret. */
  #cleanItemId: unknown;
  readonly #redactor: Redactor;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
    this.#data = new DataRedactor(redactor);
  }

  redact(event: ResponsesInput): ResponsesInput {
    if (event.type === "error") return redactError(event, this.#redactor);
    if (this.#isPlain(event)) return event;
    const redacted = this.#redactFields(event);
    if (redacted === event) this.#cleanItemId = event["item_id"];
    return redacted;
  }

  /** True for what nearly every event is: the model's output, and which item it belongs to. */
  #isPlain(event: ResponsesInput): boolean {
    for (const field in event)
      switch (field) {
        case "type":
        case "delta":
        case "logprobs":
        case "obfuscation":
          break;
        case "sequence_number":
        case "output_index":
        case "content_index":
        case "summary_index":
          if (typeof event[field] !== "number") return false;
          break;
        case "item_id":
          if (event[field] !== this.#cleanItemId) return false;
          break;
        default:
          return false;
      }
    return true;
  }

  #redactFields(event: ResponsesInput): ResponsesInput {
    return mapFields(event, (field, value) => {
      if (eventOutput.has(field)) return value;
      if (field === "response" || field === "item") return this.#object(field, value);
      if (isErrorField(field) && reportsError(value)) return redactError(value, this.#redactor);
      return this.#data.redactField(field, value);
    });
  }

  /** Of a response everything but its output, of an item only its error. */
  #object(kind: "response" | "item", object: JsonValue | undefined): JsonValue | undefined {
    if (typeof object !== "object" || object === null || Array.isArray(object)) return object;
    return mapFields(object, (field, value) => {
      if (isErrorField(field) && reportsError(value)) return redactError(value, this.#redactor);
      if (kind === "response" && field === "output" && Array.isArray(value))
        return mapChanged(value, (item) => this.#object("item", item as JsonValue)) as JsonValue;
      return kind === "item" ? value : this.#data.redactField(field, value);
    });
  }
}

function isErrorField(field: string): boolean {
  return field === "error" || field === "incomplete_details" || field === "status_details";
}

/** Redacts values beside the model's output. Most are the same from event to event, and are looked at once. */
class DataRedactor {
  readonly #redactor: Redactor;
  /** The last value of each field without a secret. */
  readonly #clean = new Map<string, string>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  redactField<Value>(field: string, value: Value): Value {
    if (typeof value !== "string") return this.#redact(value, 0) as Value;
    if (value.length < 12 || this.#clean.get(field) === value) return value;
    const redacted = this.#redactor.redactData(value);
    if (redacted === value && this.#clean.size < maxErrorFields) this.#clean.set(field, value);
    return redacted as Value & string;
  }

  #redact(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#redactor.redactData(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxDataDepth) return null;
    if (Array.isArray(value)) return mapChanged(value, (each) => this.#redact(each, depth + 1));
    const object = value as JsonObject;
    for (const name in object)
      if (this.#redactor.redactData(name) !== name)
        return Object.fromEntries(
          Object.entries(object).map(([key, each]) => [
            this.#redactor.redactData(key),
            this.#redact(each, depth + 1),
          ]),
        );
    return mapFields(object, (_, each) => this.#redact(each, depth + 1) as JsonValue);
  }
}

/** The same array if no element changed. */
function mapChanged(list: readonly unknown[], map: (each: unknown) => unknown): unknown {
  let changed: unknown[] | undefined;
  for (let at = 0; at < list.length; at += 1) {
    const mapped = map(list[at]);
    if (mapped !== list[at]) (changed ??= [...list])[at] = mapped;
  }
  return changed ?? list;
}

/** The same object if no field changed. */
function mapFields<Fields extends JsonObject>(
  object: Fields,
  map: (field: string, value: JsonValue | undefined) => JsonValue | undefined,
): Fields {
  let changed: JsonObject | undefined;
  for (const field in object) {
    const value: JsonValue | undefined = object[field];
    const mapped = map(field, value);
    if (mapped !== value) (changed ??= { ...object })[field] = mapped as JsonValue;
  }
  return (changed as Fields | undefined) ?? object;
}
