import { bareType } from "@deltawire/tasks";
import {
  isObject,
  parseJson,
  reportsError,
  SseDecoder,
  upstreamFailure,
  type JsonObject,
  type SseEvent,
} from "@deltawire/wire";
import { refusedBy, type FailedOutcome } from "../upstream/failure.ts";
import type { MediaUsage } from "./usage.ts";

/** A reply while it comes: bytes go in, events of a Responses stream come out. */
export interface MediaReply {
  readonly failure: FailedOutcome | undefined;
  /** Everything that was asked for has come, whether or not the connection is closed. */
  readonly isWhole: boolean;
  readonly usage: MediaUsage;
  /** For whoever waits, in words, and how much of it there is where that is known. */
  readonly progress: { words: string; fraction: number | undefined };
  push(bytes: Buffer, out: JsonObject[]): void;
  end(out: JsonObject[]): void;
}

/** What the head of a reply tells of its body. */
export interface ReplyHead {
  contentType: string | undefined;
  /** In bytes, where it is told. */
  length: number | undefined;
}

/** What a body turns out to hold. */
export interface BodyReader {
  event(event: JsonObject): void;
  /** The sentinel with which many streams end. */
  done(): void;
  /** A reply that is no stream, asked for or not. */
  whole(text: string): void;
}

/** Tells a stream of events from a reply in one piece. */
export class MediaBody {
  readonly #reader: BodyReader;
  readonly #maxLength: number;
  readonly #pieces: Buffer[] = [];
  readonly #events: SseEvent[] = [];
  #decoder: SseDecoder | undefined;
  #isOpen: boolean;

  constructor(contentType: string | undefined, maxLength: number, reader: BodyReader) {
    this.#reader = reader;
    const type = bareType(contentType);
    if (type === "text/event-stream") this.#decoder = eventDecoder(maxLength);
    // A body that says nothing of itself is a stream if it begins like one.
    this.#isOpen = type === "" || type === "application/octet-stream";
    this.#maxLength = maxLength;
  }

  push(bytes: Buffer): void {
    if (this.#isOpen) {
      this.#isOpen = false;
      if (/^\s*(?:data|event|id|retry)?:/.test(bytes.subarray(0, 16).toString("latin1")))
        this.#decoder = eventDecoder(this.#maxLength);
    }
    if (this.#decoder === undefined) return void this.#pieces.push(bytes);
    this.#decoder.push(bytes, this.#events);
    this.#read();
  }

  end(): void {
    if (this.#decoder === undefined)
      return this.#reader.whole(Buffer.concat(this.#pieces).toString("utf8"));
    this.#decoder.end("eof", this.#events);
    this.#read();
  }

  #read(): void {
    for (const { data, event: name } of this.#events.splice(0)) {
      if (data.trim() === "[DONE]") this.#reader.done();
      const event = parseJson(data);
      // What cannot be read is skipped, as an event of a type that nobody knows would be.
      if (isObject(event)) this.#reader.event({ ...(name ? { type: name } : {}), ...event });
    }
  }
}

function eventDecoder(maxEventLength: number): SseDecoder {
  return new SseDecoder({ utf8: new TextDecoder(), maxEventLength });
}

/** The error of a reply that says that it failed: `{ error }`, in one piece or as an event. */
export function errorOf(reply: JsonObject): FailedOutcome | undefined {
  const { error } = reply;
  const hasError = reportsError(error);
  if (!hasError && reply["type"] !== "error" && reply["object"] !== "error") return undefined;
  return refusedBy(upstreamFailure(hasError ? error : reply));
}

export function brokenOff(what: string): FailedOutcome {
  const message = `the upstream's reply ended before ${what}`;
  return { is: "failed", failure: { code: "upstream_stream_truncated", message } };
}

/** A reply past the limit; as large the next time, so it is not asked for again. */
export function tooLarge(mostBytes: number): FailedOutcome {
  const message = `the upstream's reply has more than ${mostBytes} bytes, which is the limit`;
  return { is: "failed", failure: { code: "invalid_reply", message } };
}

/** More than a client receives; what it receives is cut when it has been redacted. */
const quotedLength = 16_384;

/** The words of a proxy or a broken server are all that its user has to go by. */
export function unreadable(text: string): FailedOutcome {
  const quoted = text.slice(0, quotedLength).trim();
  const message = `the upstream answered with something else than was asked for: ${quoted}`;
  return { is: "failed", failure: { code: "upstream_error", message } };
}
