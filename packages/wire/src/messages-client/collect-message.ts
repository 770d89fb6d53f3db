import { isObject, parseJson, type JsonObject } from "../json.ts";
import type {
  MessageBlock,
  MessageDelta,
  MessageError,
  MessageEvent,
  MessageObject,
  MessageUsage,
} from "../shapes/messages-reply.ts";
import { TextAccumulator } from "../text-accumulator.ts";

export type CollectMessageResult =
  | { ok: true; message: MessageObject }
  | { ok: false; error: MessageError };

/** Builds a complete message from the events of a stream. Returns the error instead if the stream ended with one. */
export function collectMessage(events: Iterable<MessageEvent>): CollectMessageResult | undefined {
  const collector = new MessageCollector();
  for (const event of events) collector.push(event);
  return collector.result;
}

/** Incremental form of `collectMessage`. A call whose arguments are incomplete is left out. */
export class MessageCollector {
  #message: MessageObject | undefined;
  #error: MessageError | undefined;
  #block: MessageBlock | undefined;
  readonly #text = new TextAccumulator();

  push(event: MessageEvent): void {
    switch (event.type) {
      case "message_start":
        this.#message = { ...event.message, content: [] };
        return;
      case "content_block_start":
        this.#block = { ...event.content_block };
        return;
      case "content_block_delta":
        return this.#pushDelta(event.delta);
      case "content_block_stop":
        return this.#endBlock();
      case "message_delta":
        if (this.#message !== undefined)
          this.#message = {
            ...this.#message,
            ...event.delta,
            usage: mergeUsage(this.#message.usage, event.usage),
          };
        return;
      case "error":
        this.#error = event;
        return;
      default:
    }
  }

  /** Undefined if no message has begun. */
  get result(): CollectMessageResult | undefined {
    if (this.#error !== undefined) return { ok: false, error: this.#error };
    return this.#message && { ok: true, message: this.#message };
  }

  #pushDelta(delta: MessageDelta): void {
    switch (delta.type) {
      case "text_delta":
        return this.#text.append(delta.text);
      case "thinking_delta":
        return this.#text.append(delta.thinking);
      case "input_json_delta":
        return this.#text.append(delta.partial_json);
      case "signature_delta":
        if (this.#block?.type === "thinking") this.#block.signature = delta.signature;
        return;
      default:
        this.#pushForwarded(delta);
    }
  }

  /** Adds deltas that only a Messages upstream sends. */
  #pushForwarded(delta: JsonObject): void {
    const block = this.#block as JsonObject | undefined;
    if (block === undefined) return;
    if (delta["type"] === "compaction_delta") block["content"] = delta["content"];
    if (delta["type"] !== "citations_delta") return;
    const citations = Array.isArray(block["citations"]) ? block["citations"] : [];
    block["citations"] = [...citations, delta["citation"] ?? null];
  }

  #endBlock(): void {
    const block = this.#block;
    const text = this.#text.toString();
    this.#text.clear();
    this.#block = undefined;
    switch (block?.type) {
      case "text":
        this.#message?.content.push({ ...block, text });
        return;
      case "thinking":
        this.#message?.content.push({ ...block, thinking: text });
        return;
      case "tool_use": {
        const input = text === "" ? {} : parseJson(text);
        if (isObject(input)) this.#message?.content.push({ ...block, input });
        return;
      }
      default:
        this.#endForwarded(block, text);
    }
  }

  /** Blocks that only a Messages upstream sends are kept as they are. Some of them have a streamed input, too. */
  #endForwarded(block: MessageBlock | undefined, text: string): void {
    if (block === undefined) return;
    const input = text === "" ? undefined : parseJson(text);
    const withInput: object = isObject(input) ? { ...block, input } : block;
    this.#message?.content.push(withInput as MessageBlock);
  }
}

/** Counts in the last event replace those in the first one. */
function mergeUsage(first: MessageUsage, last: Partial<MessageUsage> | null): MessageUsage {
  const counts = Object.entries(last ?? {}).filter(([, count]) => count !== null);
  return { ...first, ...Object.fromEntries(counts) };
}
