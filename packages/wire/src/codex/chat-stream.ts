import { WireError } from "../error.ts";
import {
  connectMachines,
  clearArray,
  type StreamEndReason,
  type StreamMachine,
} from "../stream-machine.ts";
import { SseDecoder, type SseEvent, type StreamingTextDecoder } from "../sse/decoder.ts";
import { createAggregator, getAggregateMode } from "./aggregate.ts";
import type { CodexEvent } from "./events.ts";
import { ChatStreamParser } from "./chat-stream-parser.ts";
import { checkUtf8 } from "./rust-text.ts";

export interface ChatStreamOptions {
  /** Codex's setting. True: every delta is emitted. False: deltas are merged into whole items; reasoning is emitted twice, as in Codex. */
  show_raw_agent_reasoning: boolean;
  /** Required if bytes are pushed: `new TextDecoder()`. */
  utf8?: StreamingTextDecoder;
  /** In characters; the default is that of `SseDecoder`. */
  maxEventLength?: number;
}

/** Parses the body of a Chat reply, given as bytes or text, into the events that Codex derived from it. */
export function createChatStream(
  options: ChatStreamOptions,
): StreamMachine<string | Uint8Array, CodexEvent> {
  const mode = getAggregateMode(options.show_raw_agent_reasoning);
  return connectMachines(new CodexChatStream(options), createAggregator(mode));
}

class CodexChatStream implements StreamMachine<string | Uint8Array, CodexEvent> {
  readonly #decoder: SseDecoder;
  readonly #utf8: StreamingTextDecoder | undefined;
  readonly #parser = new ChatStreamParser();
  readonly #events: SseEvent[] = [];
  /** At most four bytes, starting at the first incomplete or invalid character. */
  #incompleteBytes = new Uint8Array();

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
    clearArray(this.#events);
  }

  end(reason: StreamEndReason, out: CodexEvent[]): void {
    const check = checkUtf8(this.#incompleteBytes);
    if (check.state !== "complete" && (reason === "eof" || reason === "grace"))
      this.#parser.fail(
        check.state === "incomplete"
          ? "UTF8 error: incomplete utf-8 byte sequence from index 0"
          : `UTF8 error: invalid utf-8 sequence of ${check.length} bytes from index 0`,
        out,
      );
    this.#parser.end(reason, out);
  }

  /** Returns "" after an invalid character. As in Codex, the error is reported at the end of the stream. */
  #decode(bytes: Uint8Array): string {
    if (this.#utf8 === undefined)
      throw new WireError(
        "no_text_decoder",
        "pass a text decoder to push bytes: createChatStream({ utf8: new TextDecoder() })",
      );
    if (checkUtf8(this.#incompleteBytes).state === "invalid") return "";
    const pendingBytes =
      this.#incompleteBytes.length === 0 ? bytes : concatBytes(this.#incompleteBytes, bytes);
    const check = checkUtf8(pendingBytes);
    const validLength = check.state === "complete" ? pendingBytes.length : check.validLength;
    this.#incompleteBytes = pendingBytes.slice(validLength, validLength + maxCharacterBytes);
    return this.#utf8.decode(pendingBytes.subarray(0, validLength), { stream: true });
  }
}

/** In bytes. Enough to report what is wrong with the first invalid character. */
const maxCharacterBytes = 4;

function concatBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joinedBytes = new Uint8Array(first.length + second.length);
  joinedBytes.set(first);
  joinedBytes.set(second, first.length);
  return joinedBytes;
}
