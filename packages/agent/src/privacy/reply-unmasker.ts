import { isObject, type JsonObject, type JsonValue, type ResponseEvent } from "@deltawire/wire";
import { StreamUnmasker } from "./stream-unmasker.ts";
import type { Vault } from "./vault.ts";

type ReplyEvent = ResponseEvent | JsonObject;

/** Texts that are streamed as `${name}.delta`; `${name}.done` holds the complete text in the field `doneField`. */
const streamedTexts: Readonly<Record<string, { doneField: string; isJson?: true }>> = {
  "response.output_text": { doneField: "text" },
  "response.refusal": { doneField: "refusal" },
  "response.reasoning_summary_text": { doneField: "text" },
  "response.reasoning_text": { doneField: "text" },
  "response.function_call_arguments": { doneField: "arguments", isJson: true },
  "response.mcp_call_arguments": { doneField: "arguments", isJson: true },
  "response.custom_tool_call_input": { doneField: "input" },
  "response.code_interpreter_call_code": { doneField: "code" },
  "response.audio.transcript": { doneField: "transcript" },
};

interface OpenText {
  unmasker: StreamUnmasker;
  /** The latest delta event, the template for the event with the remaining text. */
  lastDelta: JsonObject;
}

/** Restores the private values in the events of a model's reply. */
export class ReplyUnmasker {
  readonly #vault: Vault;
  readonly #openTexts = new Map<string, OpenText>();
  #sequenceNumber: number | undefined;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  push(batch: readonly ReplyEvent[]): ReplyEvent[] {
    const outputEvents: ReplyEvent[] = [];
    for (const event of batch) this.#handle(event as JsonObject, outputEvents);
    return outputEvents;
  }

  /** Returns the text that is still held back. Called at the end of a reply, even after a failure. */
  end(): ReplyEvent[] {
    const outputEvents: ReplyEvent[] = [];
    this.#release(() => true, outputEvents);
    return outputEvents;
  }

  #handle(event: JsonObject, outputEvents: ReplyEvent[]): void {
    const type = toKeyPart(event["type"]);
    const dot = type.lastIndexOf(".");
    const text = Object.hasOwn(streamedTexts, type.slice(0, dot))
      ? streamedTexts[type.slice(0, dot)]
      : undefined;
    const step = type.slice(dot + 1);
    if (text !== undefined && step === "delta")
      return this.#handleDelta(event, text.isJson === true, outputEvents);
    if (text !== undefined && step === "done") {
      const key = getTextKey(event);
      this.#release((openKey) => openKey === key, outputEvents);
    } else if (
      type === "response.content_part.done" ||
      type === "response.reasoning_summary_part.done"
    )
      this.#release((openKey) => openKey.endsWith(`|${getPartKey(event)}`), outputEvents);
    else if (type === "response.output_item.done")
      this.#release((_, delta) => belongsToItem(event, delta), outputEvents);
    else if (/^(?:response\.(?:completed|incomplete|failed|cancelled)|error)$/.test(type))
      this.#release(() => true, outputEvents);
    this.#emit(this.#unmaskEvent(event), outputEvents);
  }

  #handleDelta(event: JsonObject, isJson: boolean, outputEvents: ReplyEvent[]): void {
    const { delta } = event;
    if (typeof delta !== "string") return this.#emit(event, outputEvents);
    const key = getTextKey(event);
    let openText = this.#openTexts.get(key);
    if (openText === undefined) {
      const unmask = (text: string, precedingText: string): string =>
        isJson
          ? this.#vault.unmaskJson(text, precedingText)
          : this.#vault.unmask(text, precedingText);
      openText = { unmasker: new StreamUnmasker(unmask, { isJson }), lastDelta: event };
      this.#openTexts.set(key, openText);
    }
    openText.lastDelta = event;
    const readyText = openText.unmasker.push(delta);
    if (readyText === delta) this.#emit(event, outputEvents);
    else if (readyText !== "") this.#emit({ ...event, delta: readyText }, outputEvents);
  }

  /** Emits the text that is held back for each part that is done. */
  #release(isDone: (key: string, delta: JsonObject) => boolean, outputEvents: ReplyEvent[]): void {
    for (const [key, { unmasker, lastDelta }] of this.#openTexts) {
      if (!isDone(key, lastDelta)) continue;
      this.#openTexts.delete(key);
      const delta = unmasker.end();
      if (delta === "") continue;
      this.#emit(
        { ...lastDelta, delta, ...(Array.isArray(lastDelta["logprobs"]) && { logprobs: [] }) },
        outputEvents,
      );
    }
  }

  /** Renumbers events that have a sequence number, since events are added and dropped. */
  #emit(event: JsonObject, outputEvents: ReplyEvent[]): void {
    const { sequence_number: number } = event;
    if (typeof number !== "number") {
      outputEvents.push(event);
      return;
    }
    this.#sequenceNumber = this.#sequenceNumber === undefined ? number : this.#sequenceNumber + 1;
    outputEvents.push(
      number === this.#sequenceNumber ? event : { ...event, sequence_number: this.#sequenceNumber },
    );
  }

  #unmaskEvent(event: JsonObject): JsonObject {
    const { response } = event;
    if (!isObject(response)) return unmaskValue(event, this.#vault) as JsonObject;
    // The rest of a response is an echo of the request.
    const { output, error } = response;
    const readable = {
      ...(output !== undefined && { output: unmaskValue(output, this.#vault) }),
      ...(error !== undefined && { error: unmaskValue(error, this.#vault) }),
    };
    return { ...event, response: { ...response, ...readable } };
  }
}

/** Unmasks every string in a value. Returns the same object if nothing changes. */
function unmaskValue(value: JsonValue, vault: Vault, name = ""): JsonValue {
  if (typeof value === "string") {
    if (name === "encrypted_content") return value;
    return name === "arguments" ? vault.unmaskJson(value) : vault.unmask(value);
  }
  if (Array.isArray(value)) {
    const elements = value.map((element) => unmaskValue(element, vault, name));
    return elements.some((element, index) => element !== value[index]) ? elements : value;
  }
  if (!isObject(value)) return value;
  let copy: JsonObject | undefined;
  for (const [key, element] of Object.entries(value)) {
    if (element === undefined) continue;
    const unmasked = unmaskValue(element, vault, key);
    if (unmasked === element) continue;
    copy ??= { ...value };
    copy[key] = unmasked;
  }
  return copy ?? value;
}

function getTextKey(event: JsonObject): string {
  const type = toKeyPart(event["type"]);
  return `${type.slice(0, type.lastIndexOf("."))}|${getPartKey(event)}`;
}

/** Identifies the item of an event and the part in it. */
function getPartKey(event: JsonObject): string {
  const { item_id: item, output_index: output, content_index, summary_index } = event;
  return `${toKeyPart(item ?? output)}|${toKeyPart(content_index)}|${toKeyPart(summary_index)}`;
}

function toKeyPart(value: JsonValue | undefined): string {
  return typeof value === "string" || typeof value === "number" ? `${value}` : "";
}

function belongsToItem({ item, output_index: index }: JsonObject, delta: JsonObject): boolean {
  const id = isObject(item) ? item["id"] : undefined;
  const { item_id: itemId = null } = delta;
  return itemId === null || id === undefined ? delta["output_index"] === index : itemId === id;
}
