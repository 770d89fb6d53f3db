import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { empty, type StreamEnd, type StreamMachine } from "../machine.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatChunk, ChatChunkChoice } from "../shapes/chat-reply.ts";
import { SseDecoder, type SseEvent, type Utf8Decoder } from "../sse/decoder.ts";
import { ChunkReader, type ChatInput } from "./chunk-reader.ts";
import { WireError } from "../error.ts";

export interface ChatBodyOptions {
  repairs: Repairs;
  /** Needed when bytes are pushed: `new TextDecoder()`. */
  utf8?: Utf8Decoder;
  /** What was asked for. Whatever comes is read; coming as the other is counted as a repair. */
  expect?: "stream" | "whole";
  /** How many characters one event, or a whole reply, may have. */
  maxLength?: number;
}

const defaultMaxLength = 32 * 1024 * 1024;

type State =
  | { reading: "blanks" }
  | { reading: "events"; decoder: SseDecoder }
  | { reading: "json"; text: string };

/**
 * The body of a Chat upstream's reply: a stream of events, or one JSON object, whichever was asked for and whatever
 * the content type says. A whole reply comes out as one chunk and the sentinel.
 */
export class ChatBody implements StreamMachine<string | Uint8Array, ChatInput> {
  readonly #options: ChatBodyOptions;
  readonly #reader: ChunkReader;
  readonly #events: SseEvent[] = [];
  #state: State = { reading: "blanks" };

  constructor(options: ChatBodyOptions) {
    this.#options = options;
    this.#reader = new ChunkReader(options.repairs);
  }

  push(chunk: string | Uint8Array, out: ChatInput[]): void {
    if (this.#state.reading === "events") {
      this.#state.decoder.push(chunk, this.#events);
      return this.#readEvents(out);
    }
    const text = typeof chunk === "string" ? chunk : this.#decode(chunk);
    if (this.#state.reading === "json") return this.#keepJson(this.#state.text + text);
    const first = text.trimStart();
    if (first === "") return;
    if (first.startsWith("{") || first.startsWith("[")) return this.#keepJson(first);
    if (this.#options.expect === "whole") this.#options.repairs.add("stream_for_whole_reply", "");
    const { utf8, maxLength } = this.#options;
    const decoder = new SseDecoder({
      ...(utf8 === undefined ? {} : { utf8 }),
      maxEventLength: maxLength ?? defaultMaxLength,
    });
    this.#state = { reading: "events", decoder };
    // `utf8` may hold half a character by now; as it goes on with the same one, nothing is lost.
    decoder.push(text, this.#events);
    this.#readEvents(out);
  }

  end(how: StreamEnd, out: ChatInput[]): void {
    switch (this.#state.reading) {
      case "blanks":
        return;
      case "events":
        this.#state.decoder.end(how, this.#events);
        return this.#readEvents(out);
      case "json":
        return this.#readJson(this.#state.text, out);
    }
  }

  #decode(bytes: Uint8Array): string {
    const { utf8 } = this.#options;
    if (utf8 === undefined)
      throw new WireError(
        "no_text_decoder",
        "bytes need a text decoder: { utf8: new TextDecoder() }",
      );
    return utf8.decode(bytes, { stream: true });
  }

  #readEvents(out: ChatInput[]): void {
    if (this.#events.length === 0) return;
    for (const { data, terminated, event } of this.#events) {
      if (!terminated) this.#options.repairs.add("last_event_unterminated", data);
      const input = this.#reader.read(data);
      if (input === undefined) continue;
      // Groq names the event and sends the bare error object.
      if (event === "error" && input !== "[DONE]" && input.error === undefined && !input.choices)
        out.push({ error: input as JsonObject });
      else out.push(input);
    }
    empty(this.#events);
  }

  #keepJson(text: string): void {
    const limit = this.#options.maxLength ?? defaultMaxLength;
    if (text.length > limit) {
      this.#state = { reading: "json", text: "" };
      throw new WireError("event_too_large", `the reply has more than ${limit} characters`);
    }
    this.#state = { reading: "json", text };
  }

  #readJson(text: string, out: ChatInput[]): void {
    const parsed = parseJson(text);
    // Google's compatible endpoint wraps its errors in an array.
    const reply = Array.isArray(parsed) ? parsed[0] : parsed;
    if (!isObject(reply)) {
      this.#options.repairs.add("event_not_json", text);
      return;
    }
    if (this.#options.expect !== "whole") this.#options.repairs.add("whole_reply_for_stream", "");
    out.push(chunkOfWholeReply(reply), "[DONE]");
  }
}

/** A whole reply as the one chunk that says the same, so that one machine reads both. */
export function chunkOfWholeReply(reply: JsonObject): ChatChunk {
  if (!Array.isArray(reply["choices"])) {
    // A bare `{"message": …}` or `{"detail": …}` is how some servers say that something went wrong.
    const said = nonEmptyString(reply["message"]) ?? nonEmptyString(reply["detail"]);
    const error = reply["error"] ?? (said === undefined ? reply : { ...reply, message: said });
    return { error };
  }
  const choices = reply["choices"].filter(isObject).map((choice, position): ChatChunkChoice => {
    const { message, ...rest } = choice;
    const said = isObject(message) ? message : choice["delta"];
    const delta = isObject(said) ? { ...said } : {};
    if (Array.isArray(delta["tool_calls"]))
      delta["tool_calls"] = delta["tool_calls"]
        .filter(isObject)
        .map((call, index) => ({ ...call, index }));
    const index = typeof choice["index"] === "number" ? choice["index"] : position;
    return { ...rest, index, delta };
  });
  return { ...reply, choices };
}
