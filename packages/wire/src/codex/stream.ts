import { WireError } from "../error.ts";
import { connect, empty, type StreamEnd, type StreamMachine } from "../machine.ts";
import { SseDecoder, type SseEvent, type Utf8Decoder } from "../sse/decoder.ts";
import { aggregate, aggregateMode } from "./aggregate.ts";
import type { CodexEvent } from "./events.ts";
import { ChatStreamParser } from "./parser.ts";
import { checkUtf8 } from "./rust-text.ts";

export interface ChatStreamOptions {
  /** Codex's setting: true keeps every delta, false gives one message and one reasoning item a turn. */
  show_raw_agent_reasoning: boolean;
  /** Needed when bytes are pushed: `new TextDecoder()`. */
  utf8?: Utf8Decoder;
  maxEventLength?: number;
}

/** The body of a Chat reply as what Codex made of it: bytes or text in, Codex's events out. */
export function chatStream(
  options: ChatStreamOptions,
): StreamMachine<string | Uint8Array, CodexEvent> {
  const mode = aggregateMode(options.show_raw_agent_reasoning);
  return connect(new ChatStream(options), aggregate(mode));
}

class ChatStream implements StreamMachine<string | Uint8Array, CodexEvent> {
  readonly #decoder: SseDecoder;
  readonly #utf8: Utf8Decoder | undefined;
  readonly #parser = new ChatStreamParser();
  readonly #events: SseEvent[] = [];
  /** From the first byte on that makes no whole character. */
  #held = new Uint8Array();

  constructor({ utf8, maxEventLength }: ChatStreamOptions) {
    this.#utf8 = utf8;
    this.#decoder = new SseDecoder({
      strictFields: true,
      ...(maxEventLength === undefined ? {} : { maxEventLength }),
    });
  }

  push(chunk: string | Uint8Array, out: CodexEvent[]): void {
    const text = typeof chunk === "string" ? chunk : this.#decode(chunk);
    this.#decoder.push(text, this.#events);
    for (const event of this.#events) this.#parser.push(event, out);
    empty(this.#events);
  }

  end(how: StreamEnd, out: CodexEvent[]): void {
    const fault = checkUtf8(this.#held);
    if (fault.state !== "whole" && (how === "eof" || how === "grace"))
      this.#parser.fail(
        fault.state === "incomplete"
          ? "UTF8 error: incomplete utf-8 byte sequence from index 0"
          : `UTF8 error: invalid utf-8 sequence of ${fault.length} bytes from index 0`,
        out,
      );
    this.#parser.end(how, out);
  }

  /** A broken character stops the reading but is no error yet: that comes at the end of the stream, as in Codex. */
  #decode(bytes: Uint8Array): string {
    if (this.#utf8 === undefined)
      throw new WireError(
        "no_text_decoder",
        "bytes need a text decoder: chatStream({ utf8: new TextDecoder() })",
      );
    if (checkUtf8(this.#held).state === "invalid") return "";
    const all = this.#held.length === 0 ? bytes : joined(this.#held, bytes);
    const check = checkUtf8(all);
    const valid = check.state === "whole" ? all.length : check.valid;
    this.#held = all.slice(valid, valid + longestCharacter);
    return this.#utf8.decode(all.subarray(0, valid), { stream: true });
  }
}

/** In bytes. More need not be kept to know what is wrong with the first one. */
const longestCharacter = 4;

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
