import { mediaTypeEssence } from "@deltawire/tasks";
import {
  isObject,
  parseJson,
  isErrorValue,
  SseDecoder,
  parseUpstreamFailure,
  type JsonObject,
  type SseEvent,
} from "@deltawire/wire";
import { toRejectedOutcome, type FailedAttempt } from "../upstream/attempt-outcome.ts";
import type { MediaUsage } from "./media-usage.ts";

/** Translates a reply while it arrives: bytes in, Responses events out. */
export interface MediaReply {
  readonly failure: FailedAttempt | undefined;
  /** True once the result is complete, even if the connection is still open. */
  readonly isComplete: boolean;
  readonly usage: MediaUsage;
  /** Shown while waiting. `fraction` is between 0 and 1; undefined if unknown. */
  readonly progress: { message: string; fraction: number | undefined };
  push(bytes: Buffer, out: JsonObject[]): void;
  end(out: JsonObject[]): void;
}

/** The headers of a reply that describe its body. */
export interface ReplyHead {
  contentType: string | undefined;
  /** Content-Length in bytes; undefined if unknown. */
  length: number | undefined;
}

/** Receives the contents of a body. */
export interface MediaBodyHandler {
  onEvent(event: JsonObject): void;
  /** Called for `[DONE]`, with which many streams end. */
  onDone(): void;
  /** Called for a reply that is not a stream, with its complete text. */
  onComplete(text: string): void;
}

/** Detects whether a body is an event stream or a complete reply, and decodes it. */
export class MediaBodyDecoder {
  readonly #handler: MediaBodyHandler;
  readonly #maxLength: number;
  readonly #chunks: Buffer[] = [];
  readonly #events: SseEvent[] = [];
  #decoder: SseDecoder | undefined;
  #isUndetermined: boolean;

  constructor(contentType: string | undefined, maxLength: number, handler: MediaBodyHandler) {
    this.#handler = handler;
    const type = mediaTypeEssence(contentType);
    if (type === "text/event-stream") this.#decoder = createEventDecoder(maxLength);
    // Without a content type, the body is a stream if it starts like one.
    this.#isUndetermined = type === "" || type === "application/octet-stream";
    this.#maxLength = maxLength;
  }

  push(bytes: Buffer): void {
    if (this.#isUndetermined) {
      this.#isUndetermined = false;
      if (/^\s*(?:data|event|id|retry)?:/.test(bytes.subarray(0, 16).toString("latin1")))
        this.#decoder = createEventDecoder(this.#maxLength);
    }
    if (this.#decoder === undefined) return void this.#chunks.push(bytes);
    this.#decoder.push(bytes, this.#events);
    this.#emitEvents();
  }

  end(): void {
    if (this.#decoder === undefined)
      return this.#handler.onComplete(Buffer.concat(this.#chunks).toString("utf8"));
    this.#decoder.end("eof", this.#events);
    this.#emitEvents();
  }

  #emitEvents(): void {
    for (const { data, event: name } of this.#events.splice(0)) {
      if (data.trim() === "[DONE]") this.#handler.onDone();
      const event = parseJson(data);
      // Unreadable events are skipped, like events of an unknown type.
      if (isObject(event)) this.#handler.onEvent({ ...(name ? { type: name } : {}), ...event });
    }
  }
}

function createEventDecoder(maxEventLength: number): SseDecoder {
  return new SseDecoder({ utf8: new TextDecoder(), maxEventLength });
}

/** Returns the error of a reply or an event such as `{ error }`; undefined if it contains none. */
export function parseReplyError(reply: JsonObject): FailedAttempt | undefined {
  const { error } = reply;
  const hasError = isErrorValue(error);
  if (!hasError && reply["type"] !== "error" && reply["object"] !== "error") return undefined;
  return toRejectedOutcome(parseUpstreamFailure(hasError ? error : reply));
}

export function createTruncatedOutcome(expected: string): FailedAttempt {
  const message = `the upstream's reply ended before ${expected}`;
  return { type: "failed", failure: { code: "upstream_stream_truncated", message } };
}

/** Creates the outcome of a reply above the limit. It is not retried, because the next reply would be just as large. */
export function createTooLargeOutcome(maxBytes: number): FailedAttempt {
  const message = `the upstream's reply is larger than the limit of ${maxBytes} bytes`;
  return { type: "failed", failure: { code: "invalid_reply", message } };
}

/** Longer than what clients receive, because the text is truncated again after redaction. */
const maxQuotedLength = 16_384;

/** Quotes the reply of a proxy or a broken server, which is often the only hint at the cause. */
export function createUnreadableOutcome(text: string): FailedAttempt {
  const excerpt = text.slice(0, maxQuotedLength).trim();
  const message = `the upstream sent an unexpected reply: ${excerpt}`;
  return { type: "failed", failure: { code: "upstream_error", message } };
}
