import {
  findChunkError,
  isErrorValue,
  type ChatChunk,
  type UpstreamChatEvent,
  type JsonObject,
  type JsonValue,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import type { Redactor } from "./redactor.ts";

/*
 * Removes secrets from an upstream's reply. Errors are redacted and then truncated; everything else that is not model output
 * is redacted. The model's text, its reasoning and the arguments of its calls are never changed.
 */

/** Limits for one string of an error, and for all its strings together, in characters. */
const maxErrorTextLength = 2000;
const maxErrorTotalLength = 8000;
const maxErrorFields = 100;
const maxErrorDepth = 8;
/** Values nested deeper than this are replaced by null, except in the model's output. */
const maxDataDepth = 64;
/** Maximum number of fields whose last value without a secret is remembered. */
const maxCleanFields = 100;

/** Redacts and truncates the text of an error, for clients and logs. */
export function redactErrorText(text: string, redactor: Redactor): string {
  return redactor.excerpt(text, maxErrorTextLength);
}

/** Redacts and truncates an error object, or any other value that an upstream sent as its error. */
export function redactError<Value>(error: Value, redactor: Redactor): Value {
  const budget = { characters: maxErrorTotalLength, fields: maxErrorFields };
  const visit = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      const text = redactor.excerpt(
        value,
        Math.min(maxErrorTextLength, Math.max(0, budget.characters)),
      );
      budget.characters -= text.length;
      return text;
    }
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxErrorDepth) return null;
    const entries: [string, unknown][] = [];
    for (const name in value) {
      if ((budget.fields -= 1) < 0 || budget.characters <= 0) break;
      const key = redactor.excerpt(name, maxErrorTextLength);
      entries.push([key, visit((value as JsonObject)[name], depth + 1)]);
    }
    return Array.isArray(value)
      ? entries.map(([, element]) => element)
      : Object.fromEntries(entries);
  };
  return visit(withKnownFieldsFirst(error), 0) as Value;
}

/** Moves the important fields to the front, so that the limits do not drop them. */
function withKnownFieldsFirst(error: unknown): unknown {
  if (typeof error !== "object" || error === null || Array.isArray(error)) return error;
  const { type, code, message, ...rest } = error as JsonObject;
  const knownFields = Object.entries({ type, code, message }).filter(
    ([, value]) => value !== undefined,
  );
  return { ...Object.fromEntries(knownFields), ...rest };
}

/** Returns a function that redacts the chunks of one reply of a Chat upstream. Chunks without a secret are returned unchanged. */
export function createChatReplyRedactor(
  redactor: Redactor,
): (input: UpstreamChatEvent) => UpstreamChatEvent {
  const replyRedactor = new ChatReplyRedactor(redactor);
  return (input) => replyRedactor.redact(input);
}

/** Like `createChatReplyRedactor`, for the events of one reply of a Responses upstream. */
export function createResponsesReplyRedactor(
  redactor: Redactor,
): (event: UpstreamResponseEvent) => UpstreamResponseEvent {
  const replyRedactor = new ResponsesReplyRedactor(redactor);
  return (event) => replyRedactor.redact(event);
}

/** Like `createChatReplyRedactor`, for the events of one reply of a Messages upstream. */
export function createMessagesReplyRedactor(
  redactor: Redactor,
): (event: UpstreamMessageEvent) => UpstreamMessageEvent {
  const data = new DataRedactor(redactor);
  return (event) => {
    if (event.type === "error") return redactError(event, redactor);
    return mapFields(event, (field, value) => {
      // Deltas and blocks are the model's output, or that of the upstream's own tools.
      if (field === "content_block" || field === "type") return value;
      if (field === "delta")
        return event.type === "content_block_delta" ? value : data.redactField(field, value);
      if (isErrorField(field) && isErrorValue(value)) return redactError(value, redactor);
      if (
        field !== "message" ||
        typeof value !== "object" ||
        value === null ||
        Array.isArray(value)
      )
        return data.redactField(field, value);
      return mapFields(value, (name, inner) =>
        name === "content" ? inner : data.redactField(name, inner),
      );
    });
  };
}

/** Fields of a delta or message of the Chat wire that hold the model's output. */
const chatOutputFields = new Set([
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

/** Fields of a choice, other than its delta, that hold the model's output. */
const choiceOutputFields = new Set(["index", "finish_reason", "logprobs", "text"]);

class ChatReplyRedactor {
  readonly #data: DataRedactor;
  readonly #redactor: Redactor;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
    this.#data = new DataRedactor(redactor);
  }

  redact(input: UpstreamChatEvent): UpstreamChatEvent {
    if (input === "[DONE]") return input;
    if (findChunkError(input) === input) return redactError(input, this.#redactor);
    let redacted: ChatChunk | undefined;
    for (const field in input) {
      const value = input[field];
      const redactedValue = this.#redactChunkField(field, value);
      if (redactedValue !== value) (redacted ??= { ...input })[field] = redactedValue;
    }
    return redacted ?? input;
  }

  #redactChunkField(field: string, value: unknown): unknown {
    if (field === "choices" && Array.isArray(value))
      return mapElements(value, (choice) => this.#redactChoice(choice));
    if (field === "error") return redactError(value, this.#redactor);
    return this.#data.redactField(field, value);
  }

  #redactChoice(choice: unknown): unknown {
    if (typeof choice !== "object" || choice === null || hasOnlyModelOutput(choice as JsonObject))
      return choice;
    return mapFields(choice as JsonObject, (field, value) => {
      if (choiceOutputFields.has(field)) return value;
      if (field === "error" && isErrorValue(value)) return redactError(value, this.#redactor);
      if (field !== "delta" && field !== "message") return this.#data.redactField(field, value);
      if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
      return mapFields(value, (name, inner) =>
        chatOutputFields.has(name) ? inner : this.#data.redactField(name, inner),
      );
    });
  }
}

/** Fast path for nearly every chunk. True for a choice that contains only model output. */
function hasOnlyModelOutput(choice: JsonObject): boolean {
  for (const field in choice) if (field !== "delta" && !choiceOutputFields.has(field)) return false;
  const { delta } = choice;
  if (typeof delta !== "object" || delta === null || Array.isArray(delta)) return true;
  for (const field in delta) if (!chatOutputFields.has(field)) return false;
  return true;
}

/** Fields of events of the Responses wire that hold the model's output, or padding. */
const eventOutputFields = new Set([
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
  /** The last item id that contained no secret. */
  #cleanItemId: unknown;
  readonly #redactor: Redactor;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
    this.#data = new DataRedactor(redactor);
  }

  redact(event: UpstreamResponseEvent): UpstreamResponseEvent {
    if (event.type === "error") return redactError(event, this.#redactor);
    if (this.#hasOnlyModelOutput(event)) return event;
    const redacted = this.#redactFields(event);
    if (redacted === event) this.#cleanItemId = event["item_id"];
    return redacted;
  }

  /** Fast path for nearly every event. True for an event that contains only model output and the position of its item. */
  #hasOnlyModelOutput(event: UpstreamResponseEvent): boolean {
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

  #redactFields(event: UpstreamResponseEvent): UpstreamResponseEvent {
    return mapFields(event, (field, value) => {
      if (eventOutputFields.has(field)) return value;
      if (field === "response" || field === "item") return this.#redactObject(field, value);
      if (isErrorField(field) && isErrorValue(value)) return redactError(value, this.#redactor);
      return this.#data.redactField(field, value);
    });
  }

  /** Redacts all fields of a response except its output, and only the error of an item. */
  #redactObject(kind: "response" | "item", object: JsonValue | undefined): JsonValue | undefined {
    if (typeof object !== "object" || object === null || Array.isArray(object)) return object;
    return mapFields(object, (field, value) => {
      if (isErrorField(field) && isErrorValue(value)) return redactError(value, this.#redactor);
      if (kind === "response" && field === "output" && Array.isArray(value))
        return mapElements(value, (item) =>
          this.#redactObject("item", item as JsonValue),
        ) as JsonValue;
      return kind === "item" ? value : this.#data.redactField(field, value);
    });
  }
}

function isErrorField(field: string): boolean {
  return field === "error" || field === "incomplete_details" || field === "status_details";
}

/** Redacts values that are not model output. Most repeat from event to event, and are checked once. */
class DataRedactor {
  readonly #redactor: Redactor;
  /** The last value of each field that contained no secret. */
  readonly #cleanValues = new Map<string, string>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  redactField<Value>(field: string, value: Value): Value {
    if (typeof value !== "string") return this.#redact(value, 0) as Value;
    if (value.length < 12 || this.#cleanValues.get(field) === value) return value;
    const redacted = this.#redactor.redactData(value);
    if (redacted === value && this.#cleanValues.size < maxCleanFields)
      this.#cleanValues.set(field, value);
    return redacted as Value & string;
  }

  #redact(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#redactor.redactData(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxDataDepth) return null;
    if (Array.isArray(value))
      return mapElements(value, (element) => this.#redact(element, depth + 1));
    const object = value as JsonObject;
    for (const name in object)
      if (this.#redactor.redactData(name) !== name)
        return Object.fromEntries(
          Object.entries(object).map(([key, fieldValue]) => [
            this.#redactor.redactData(key),
            this.#redact(fieldValue, depth + 1),
          ]),
        );
    return mapFields(object, (_, fieldValue) => this.#redact(fieldValue, depth + 1) as JsonValue);
  }
}

/** Returns the same array if no element changed. */
function mapElements(list: readonly unknown[], map: (element: unknown) => unknown): unknown {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index += 1) {
    const mapped = map(list[index]);
    if (mapped !== list[index]) (copy ??= [...list])[index] = mapped;
  }
  return copy ?? list;
}

/** Returns the same object if no field changed. */
function mapFields<Fields extends JsonObject>(
  object: Fields,
  map: (field: string, value: JsonValue | undefined) => JsonValue | undefined,
): Fields {
  let copy: JsonObject | undefined;
  for (const field in object) {
    const value: JsonValue | undefined = object[field];
    const mapped = map(field, value);
    if (mapped !== value) (copy ??= { ...object })[field] = mapped as JsonValue;
  }
  return (copy as Fields | undefined) ?? object;
}
