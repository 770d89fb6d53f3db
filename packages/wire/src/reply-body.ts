import { WireError } from "./error.ts";
import { isObject, parseJson, type JsonObject } from "./json.ts";
import {
  defaultJsonLimits,
  describeJsonLimit,
  findExceededJsonLimit,
  type JsonLimits,
} from "./json-limits.ts";
import { empty, type StreamEnd, type StreamMachine } from "./machine.ts";
import { RelayedBytes } from "./relayed-bytes.ts";
import type { Repairs } from "./repairs.ts";
import { SseDecoder, type SseEvent, type Utf8Decoder } from "./sse/decoder.ts";

export interface ReplyBodyOptions<Input = never> {
  repairs: Repairs;
  /**
   * Removes what must not leave the process from everything but the model's output: text, reasoning and arguments are not
   * shown to it again once it has seen the event that they are a part of. Returns the same object if it holds nothing of
   * the kind. Default: nothing is removed.
   */
  redact?: (input: Input) => Input;
  /** Needed when bytes are pushed: `new TextDecoder()`. */
  utf8?: Utf8Decoder;
  /** What was asked for. Whatever comes is read; coming as the other is counted as a repair. */
  expect?: "stream" | "whole";
  /** How many characters one event, or a whole reply, may have; past it `push` throws, and nothing more is read. */
  maxLength?: number;
  /** What the JSON of one event, or of a whole reply, may hold; past it `push` or `end` throws. */
  jsonLimits?: JsonLimits;
  /** Whether bytes that need no mending are to be had as they came: see `relayed`. */
  relay?: boolean;
}

/** How one wire reads its events, and a reply that came whole. */
export interface ReplyReader<Input> {
  /**
   * Answers whether what it put out says the same as the event, to every client that could read the event. What it puts
   * out is redacted already; of the other methods that is not expected.
   */
  event(event: SseEvent, out: Input[]): boolean;
  whole(reply: JsonObject, out: Input[]): void;
  /** A body that is no reply at all: a proxy's page, half a JSON object. */
  error(error: { message: string }, out: Input[]): void;
  /** The stream has ended: what is owed for events that could not be read. */
  end?(out: Input[]): void;
}

const lastAscii = 0x7f;
const defaultMaxLength = 16 * 1024 * 1024;
/**
 * Events of up to this many characters are parsed without a count: they have at most half as many levels, which
 * JSON.stringify takes (it overflows the stack at about 4,400), and parsing them takes no time.
 */
const longestUncounted = 4096;

/** How much of a body that cannot be read is quoted. Callers that hold secrets redact it and cut it further. */
const quotedLength = 16_384;

/** How a body begins that may turn out to be no stream of events. */
interface Opening {
  /** Quoted if it is none. */
  text: string;
  /** Its first characters, however the bytes were cut, with `?` for what is not ASCII. */
  start: string;
}

/** Enough for a comment before the first tag of a web page. */
const startLength = 512;
const webPage = /^(?:\s|<!--(?:(?!-->).)*-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body)\b/is;

type State =
  | { reading: "blanks" }
  /** `opening`: how the body begins, until an event shows that it is one. */
  | { reading: "events"; decoder: SseDecoder; opening: Opening | undefined }
  | { reading: "json"; text: string }
  | { reading: "nothing" };

/**
 * The body of an upstream's reply: a stream of events, or one JSON object, whichever was asked for and whatever the
 * content type says.
 */
export class ReplyBody<Input> implements StreamMachine<string | Uint8Array, Input> {
  readonly #options: ReplyBodyOptions<Input>;
  readonly #reader: ReplyReader<Input>;
  readonly #events: SseEvent[] = [];
  #state: State = { reading: "blanks" };
  readonly #relayed: RelayedBytes | undefined;

  constructor(options: ReplyBodyOptions<Input>, reader: ReplyReader<Input>) {
    this.#options = options;
    this.#reader = reader;
    if (options.relay === true) this.#relayed = new RelayedBytes();
  }

  /**
   * The bytes that say what came out of the last push, where `relay` was asked for: they may go to a client of the same
   * wire in its place, if the translator put out the very same objects. Never with lines that a client must not get,
   * such as `id:`, and never with events that were mended or dropped.
   */
  get relayed(): Uint8Array | undefined {
    return this.#relayed?.events;
  }

  /** Whether `relayed` was asked for. */
  get relays(): boolean {
    return this.#relayed !== undefined;
  }

  push(chunk: string | Uint8Array, out: Input[]): void {
    if (this.#state.reading === "events") {
      const { decoder, opening } = this.#state;
      if (opening !== undefined) opening.start = started(opening.start, chunk);
      const { otherLines, comments } = decoder;
      decoder.push(chunk, this.#events);
      const same = this.#readEvents(out);
      const plain = same && decoder.otherLines === otherLines;
      this.#relayed?.push(chunk, plain, decoder.comments !== comments);
      return;
    }
    if (this.#state.reading === "nothing") return;
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
    this.#state = {
      reading: "events",
      decoder,
      opening: { text: first.slice(0, quotedLength), start: started("", first) },
    };
    // `utf8` may hold half a character by now; as it goes on with the same one, nothing is lost.
    decoder.push(text, this.#events);
    const same = this.#readEvents(out);
    // Blanks, a byte order mark, half a character: what the first text has lost, the bytes still have.
    const untouched = first === text && typeof chunk !== "string" && (chunk[0] ?? 0) <= lastAscii;
    const plain = same && untouched && decoder.otherLines === 0;
    this.#relayed?.push(chunk, plain, decoder.comments > 0);
  }

  end(how: StreamEnd, out: Input[]): void {
    const before = out.length;
    this.#end(how, out);
    this.#redactFrom(before, out);
  }

  #end(how: StreamEnd, out: Input[]): void {
    switch (this.#state.reading) {
      case "blanks":
      case "nothing":
        return;
      case "events":
        this.#state.decoder.end(how, this.#events);
        this.#readEvents(out);
        if (this.#state.opening !== undefined) {
          const { text, start } = this.#state.opening;
          this.#unreadable(text, out, start);
        } else this.#reader.end?.(out);
        return;
      case "json":
        return this.#readJson(this.#state.text, out);
      default:
    }
  }

  #redactFrom(before: number, out: Input[]): void {
    const { redact } = this.#options;
    if (redact === undefined) return;
    for (let at = before; at < out.length; at += 1) out[at] = redact(out[at] as Input);
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

  /** Answers whether what came out says the same as what went in. */
  #readEvents(out: Input[]): boolean {
    if (this.#events.length === 0) return true;
    if (this.#state.reading === "events") this.#state.opening = undefined;
    let same = true;
    for (const event of this.#events) {
      if (event.data.length > longestUncounted)
        this.#checkJson(event.data, "an event of the upstream");
      if (!event.terminated) this.#options.repairs.add("last_event_unterminated", event.data);
      if (!this.#reader.event(event, out)) same = false;
    }
    empty(this.#events);
    return same;
  }

  #keepJson(text: string): void {
    const limit = this.#options.maxLength ?? defaultMaxLength;
    if (text.length > limit) {
      this.#state = { reading: "nothing" };
      throw new WireError(
        "event_too_large",
        `the reply has more than ${limit} characters, which is the limit`,
      );
    }
    this.#state = { reading: "json", text };
  }

  #checkJson(text: string, what: string): void {
    const limits = this.#options.jsonLimits ?? defaultJsonLimits;
    const exceeded = findExceededJsonLimit(text, limits);
    if (exceeded === undefined) return;
    this.#state = { reading: "nothing" };
    empty(this.#events);
    throw new WireError(
      "reply_too_large",
      `${what} ${describeJsonLimit(exceeded, limits)}, which is the limit`,
    );
  }

  #readJson(text: string, out: Input[]): void {
    if (text.length > longestUncounted) this.#checkJson(text, "the upstream's reply");
    const parsed = parseJson(text);
    // Google's compatible endpoint wraps its errors in an array.
    const reply = Array.isArray(parsed) ? parsed[0] : parsed;
    if (!isObject(reply)) return this.#unreadable(text, out);
    if (this.#options.expect !== "whole") this.#options.repairs.add("whole_reply_for_stream", "");
    this.#reader.whole(reply, out);
  }

  /** The words of a proxy or a broken server are all that its user has to go by. */
  #unreadable(text: string, out: Input[], start = ""): void {
    this.#options.repairs.add("event_not_json", text);
    const quoted = text.slice(0, quotedLength).trim();
    if (webPage.test(start)) {
      const error = {
        code: "upstream_web_page",
        message: `${webPageMessage}: ${quoted}`,
        body: quoted,
      };
      return this.#reader.error(error, out);
    }
    const message = `the upstream answered with neither events nor whole JSON: ${quoted}`;
    this.#reader.error({ message }, out);
  }
}

const webPageMessage = "the upstream answered a web page (text/html), not an API";

/** The start of a body, with what has come of it since. */
function started(start: string, chunk: string | Uint8Array): string {
  const missing = startLength - start.length;
  if (missing <= 0) return start;
  if (typeof chunk === "string") return start + chunk.slice(0, missing);
  const codes = Array.from(chunk.subarray(0, missing), (byte) => (byte <= lastAscii ? byte : 63));
  return start + String.fromCharCode(...codes);
}
