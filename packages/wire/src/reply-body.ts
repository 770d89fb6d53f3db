import { WireError } from "./error.ts";
import { isObject, parseJson, type JsonObject } from "./json.ts";
import {
  defaultJsonLimits,
  describeJsonLimit,
  findExceededJsonLimit,
  type JsonLimits,
} from "./json-limits.ts";
import { clearArray, type StreamEndReason, type StreamMachine } from "./stream-machine.ts";
import { PassthroughBytes } from "./passthrough-bytes.ts";
import type { Repairs } from "./repairs.ts";
import { SseDecoder, type SseEvent, type StreamingTextDecoder } from "./sse/decoder.ts";

export interface ReplyBodyOptions<Input = never> {
  repairs: Repairs;
  /**
   * Removes secrets from each upstream event before it is translated. Must return the same object if it changes nothing.
   * Text, reasoning and arguments that are buffered and emitted later are not passed to it a second time. Default: no
   * redaction.
   */
  redact?: (input: Input) => Input;
  /** Required if bytes are pushed: `new TextDecoder()`. */
  utf8?: StreamingTextDecoder;
  /** The kind of reply that was requested: a stream (default) or one JSON object. The other kind is accepted with a repair. */
  expect?: "stream" | "complete";
  /**
   * Limit in characters on one event or a JSON reply; default 16 Mi. If it is exceeded, `push` throws and further input is
   * ignored.
   */
  maxLength?: number;
  /** Limits on the JSON of an event or reply; default `defaultJsonLimits`. If one is exceeded, `push` or `end` throws. */
  jsonLimits?: JsonLimits;
  /** Makes the bytes of unchanged events available as `passthroughBytes`. Default false. */
  passthrough?: boolean;
}

/** Reads the events and the JSON replies of one wire. */
export interface ReplyBodyHandler<Input> {
  /**
   * Returns true if clients may receive the bytes of the event instead of the output. Redacts its own output; `ReplyBody`
   * redacts the output of the other methods.
   */
  onEvent(event: SseEvent, out: Input[]): boolean;
  onCompleteReply(reply: JsonObject, out: Input[]): void;
  /** Called for a body that is not a reply, such as a proxy's error page or truncated JSON. */
  onError(error: { message: string }, out: Input[]): void;
  /**
   * Reads a frequent event without decoding it, at `position` of a read. Returns where it ends, or `position` if it is unknown.
   * Clients may receive its bytes. Default: all events are decoded.
   */
  readText?(text: string, position: number, out: Input[]): number;
  /** Called at the end of an event stream, for example to report text that could not be parsed. */
  onEnd?(out: Input[]): void;
}

const lastAscii = 0x7f;
const questionMark = 0x3f;
/** In characters. */
const defaultMaxLength = 16 * 1024 * 1024;
/**
 * Events of up to this many characters are parsed without checking the limits: they cannot be nested deeper than
 * JSON.stringify supports (it overflows the stack at about 4,400 levels), and parsing them takes no measurable time.
 */
const maxUncheckedLength = 4096;

/** Limit in characters on the excerpt of an unreadable body. Callers redact it and truncate it further. */
const maxQuotedLength = 16_384;

/** The start of a body, for the error message if the body turns out not to be an event stream. */
interface BodyStart {
  /** The text of the first read. */
  text: string;
  /** The first characters of the body, from several reads if necessary, with `?` for non-ASCII bytes. */
  ascii: string;
}

/** In characters. Enough for a comment before the first tag of a web page. */
const maxAsciiStartLength = 512;
const webPagePattern =
  /^(?:\s|<!--(?:(?!-->).)*-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body)\b/is;

type ReplyBodyState =
  | { kind: "start" }
  /** `start` is undefined after the first event. */
  | { kind: "events"; decoder: SseDecoder; start: BodyStart | undefined }
  | { kind: "json"; text: string }
  /** A limit was exceeded: further input is ignored. */
  | { kind: "failed" };

/**
 * Reads the body of an upstream's reply: an event stream or one JSON object. It detects the kind from the first characters,
 * because some servers send the wrong kind or a wrong content type.
 */
export class ReplyBody<Input> implements StreamMachine<string | Uint8Array, Input> {
  readonly #options: ReplyBodyOptions<Input>;
  readonly #handler: ReplyBodyHandler<Input>;
  readonly #events: SseEvent[] = [];
  /** The output of the current read. */
  #out: Input[] = [];
  /** True if clients may receive the bytes of the current read. */
  #isUnchanged = true;
  #state: ReplyBodyState = { kind: "start" };
  readonly #passthrough: PassthroughBytes | undefined;

  constructor(options: ReplyBodyOptions<Input>, handler: ReplyBodyHandler<Input>) {
    this.#options = options;
    this.#handler = handler;
    if (options.passthrough === true) this.#passthrough = new PassthroughBytes();
  }

  /**
   * The upstream's bytes for the output of the last `push`, if the `passthrough` option is set. They may be sent to a client
   * that uses the same wire if the translator emitted exactly the same objects. Undefined if the read had lines that must not be
   * forwarded, such as `id:`, or events that were repaired or dropped.
   */
  get passthroughBytes(): Uint8Array | undefined {
    return this.#passthrough?.eventBytes;
  }

  /** True if the `passthrough` option is set. */
  get isPassthroughEnabled(): boolean {
    return this.#passthrough !== undefined;
  }

  push(chunk: string | Uint8Array, out: Input[]): void {
    this.#out = out;
    if (this.#state.kind === "events") {
      const { decoder, start } = this.#state;
      if (start !== undefined) start.ascii = appendAsciiStart(start.ascii, chunk);
      const { otherLineCount, commentCount } = decoder;
      this.#isUnchanged = true;
      decoder.push(chunk, this.#events);
      this.#readEvents(out);
      const isUnmodified = this.#isUnchanged && decoder.otherLineCount === otherLineCount;
      this.#passthrough?.push(chunk, isUnmodified, decoder.commentCount !== commentCount);
      return;
    }
    if (this.#state.kind === "failed") return;
    const text = typeof chunk === "string" ? chunk : this.#decode(chunk);
    if (this.#state.kind === "json") return this.#bufferJson(this.#state.text + text);
    const trimmedText = text.trimStart();
    if (trimmedText === "") return;
    if (trimmedText.startsWith("{") || trimmedText.startsWith("["))
      return this.#bufferJson(trimmedText);
    if (this.#options.expect === "complete")
      this.#options.repairs.add("stream_for_complete_reply", "");
    const { utf8, maxLength } = this.#options;
    const decoder = new SseDecoder({
      ...(utf8 === undefined ? {} : { utf8 }),
      maxEventLength: maxLength ?? defaultMaxLength,
      ...(this.#handler.readText === undefined ? {} : { readEvent: this.#readText }),
    });
    this.#state = {
      kind: "events",
      decoder,
      start: {
        text: trimmedText.slice(0, maxQuotedLength),
        ascii: appendAsciiStart("", trimmedText),
      },
    };
    // `utf8` may hold an incomplete character; the SSE decoder continues with the same `utf8`.
    this.#isUnchanged = true;
    decoder.push(text, this.#events);
    this.#readEvents(out);
    // The bytes may contain white space, a byte order mark or part of a character that is missing in the text.
    const isTextUnchanged =
      trimmedText === text && typeof chunk !== "string" && (chunk[0] ?? 0) <= lastAscii;
    const isUnmodified = this.#isUnchanged && isTextUnchanged && decoder.otherLineCount === 0;
    this.#passthrough?.push(chunk, isUnmodified, decoder.commentCount > 0);
  }

  end(reason: StreamEndReason, out: Input[]): void {
    const start = out.length;
    this.#end(reason, out);
    this.#redactFrom(start, out);
  }

  #end(reason: StreamEndReason, out: Input[]): void {
    switch (this.#state.kind) {
      case "start":
      case "failed":
        return;
      case "events":
        this.#state.decoder.end(reason, this.#events);
        this.#readEvents(out);
        if (this.#state.start !== undefined) {
          const { text, ascii } = this.#state.start;
          this.#emitUnreadable(text, out, ascii);
        } else this.#handler.onEnd?.(out);
        return;
      case "json":
        return this.#readJson(this.#state.text, out);
      default:
    }
  }

  #redactFrom(start: number, out: Input[]): void {
    const { redact } = this.#options;
    if (redact === undefined) return;
    for (let index = start; index < out.length; index += 1)
      out[index] = redact(out[index] as Input);
  }

  #decode(bytes: Uint8Array): string {
    const { utf8 } = this.#options;
    if (utf8 === undefined)
      throw new WireError(
        "no_text_decoder",
        "pushing bytes requires the option utf8: new TextDecoder()",
      );
    return utf8.decode(bytes, { stream: true });
  }

  readonly #readText = (text: string, position: number): number => {
    this.#readEvents(this.#out);
    return this.#handler.readText?.(text, position, this.#out) ?? position;
  };

  /** Sets `#isUnchanged` to false if clients must not receive the bytes of the events instead of the output. */
  #readEvents(out: Input[]): void {
    if (this.#events.length === 0) return;
    if (this.#state.kind === "events") this.#state.start = undefined;
    for (const event of this.#events) {
      if (event.data.length > maxUncheckedLength)
        this.#assertJsonWithinLimits(event.data, "an event of the upstream's reply");
      if (!event.terminated) this.#options.repairs.add("last_event_unterminated", event.data);
      if (!this.#handler.onEvent(event, out)) this.#isUnchanged = false;
    }
    clearArray(this.#events);
  }

  #bufferJson(text: string): void {
    const limit = this.#options.maxLength ?? defaultMaxLength;
    if (text.length > limit) {
      this.#state = { kind: "failed" };
      throw new WireError(
        "event_too_large",
        `the upstream's reply exceeds the limit of ${limit} characters`,
      );
    }
    this.#state = { kind: "json", text };
  }

  #assertJsonWithinLimits(text: string, subject: string): void {
    const limits = this.#options.jsonLimits ?? defaultJsonLimits;
    const exceeded = findExceededJsonLimit(text, limits);
    if (exceeded === undefined) return;
    this.#state = { kind: "failed" };
    clearArray(this.#events);
    throw new WireError("reply_too_large", `${subject} ${describeJsonLimit(exceeded, limits)}`);
  }

  #readJson(text: string, out: Input[]): void {
    if (text.length > maxUncheckedLength)
      this.#assertJsonWithinLimits(text, "the upstream's reply");
    const parsed = parseJson(text);
    // Google's compatible endpoint wraps its errors in an array.
    const reply = Array.isArray(parsed) ? parsed[0] : parsed;
    if (!isObject(reply)) return this.#emitUnreadable(text, out);
    if (this.#options.expect !== "complete")
      this.#options.repairs.add("complete_reply_for_stream", "");
    this.#handler.onCompleteReply(reply, out);
  }

  /** Quotes the body in the error: the text of a proxy or a broken server is often the only hint for the user. */
  #emitUnreadable(text: string, out: Input[], asciiStart = ""): void {
    this.#options.repairs.add("event_not_json", text);
    const excerpt = text.slice(0, maxQuotedLength).trim();
    if (webPagePattern.test(asciiStart)) {
      const error = {
        code: "upstream_web_page",
        message: `${webPageMessage}: ${excerpt}`,
        body: excerpt,
      };
      return this.#handler.onError(error, out);
    }
    const message = `the upstream's reply is neither an event stream nor valid JSON: ${excerpt}`;
    this.#handler.onError({ message }, out);
  }
}

const webPageMessage = "the upstream returned a web page (text/html) instead of an API reply";

/** Appends a chunk to `BodyStart.ascii`, up to `maxAsciiStartLength`. */
function appendAsciiStart(start: string, chunk: string | Uint8Array): string {
  const remaining = maxAsciiStartLength - start.length;
  if (remaining <= 0) return start;
  if (typeof chunk === "string") return start + chunk.slice(0, remaining);
  const codes = Array.from(chunk.subarray(0, remaining), (byte) =>
    byte <= lastAscii ? byte : questionMark,
  );
  return start + String.fromCharCode(...codes);
}
