import { WireError } from "../error.ts";
import { TextAccumulator } from "../text-accumulator.ts";
import type { StreamEndReason, StreamMachine } from "../stream-machine.ts";

export interface SseEvent {
  /** The `event:` field, if present. */
  event: string | undefined;
  data: string;
  /** The last `id:` of the stream, from this event or an earlier one. */
  id: string | undefined;
  /** False for the last event if the stream ended before its blank line. */
  terminated: boolean;
}

/** The part of TextDecoder that is needed here. It is passed in because this package does not depend on a platform. */
export interface StreamingTextDecoder {
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}

export interface SseDecoderOptions {
  /** Required if bytes are pushed: `new TextDecoder()`. Use one per stream, since it buffers incomplete characters. */
  utf8?: StreamingTextDecoder;
  /**
   * Maximum length of an event or a line, in characters; default 16 Mi. If exceeded, `push` throws and later input is
   * ignored.
   */
  maxEventLength?: number;
  /** If true, a line with a space before "data:" is ignored, as the specification requires. Default false. */
  strictFields?: boolean;
  /**
   * Called where an event may begin, in text without `\r`. Reads a complete event itself, after all events that were emitted
   * before, and returns where it ends; returns `position` if it does not know the event.
   */
  readEvent?: (text: string, position: number) => number;
}

const defaultMaxEventLength = 16 * 1024 * 1024;
const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const BYTE_ORDER_MARK = 0xfeff;

/**
 * Decodes server-sent events from text or bytes that may be split anywhere: inside a character, between `\r` and `\n`,
 * after every byte. Each chunk is scanned once, and an incomplete line is only appended to.
 */
export class SseDecoder implements StreamMachine<string | Uint8Array, SseEvent> {
  /** The server's last `retry:` value, in milliseconds. */
  retry: number | undefined;
  /** Number of lines other than data, event names, comments and blank lines: ids, retry times, unknown fields. */
  otherLineCount = 0;
  commentCount = 0;

  readonly #utf8: StreamingTextDecoder | undefined;
  readonly #maxEventLength: number;
  readonly #strictFields: boolean;
  readonly #readEvent: ((text: string, position: number) => number) | undefined;
  #atStart = true;
  /** True after an event exceeded the limit. Later input is ignored, because it could start inside an event. */
  #isBroken = false;
  #afterCarriageReturn = false;
  /** The incomplete last line. It is only parsed once it is complete. */
  readonly #line = new TextAccumulator();
  /** The first data line of the current event. */
  #data: string | undefined;
  /** The following data lines, each after a line break. */
  #moreData: TextAccumulator | undefined;
  #event: string | undefined;
  #id: string | undefined;

  constructor(options: SseDecoderOptions = {}) {
    this.#utf8 = options.utf8;
    this.#maxEventLength = options.maxEventLength ?? defaultMaxEventLength;
    this.#strictFields = options.strictFields ?? false;
    this.#readEvent = options.readEvent;
  }

  push(chunk: string | Uint8Array, out: SseEvent[]): void {
    let text = typeof chunk === "string" ? chunk : this.#decode(chunk);
    if (text === "" || this.#isBroken) return;
    if (this.#atStart) {
      this.#atStart = false;
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
    }
    if (text.includes("\r") || this.#afterCarriageReturn)
      this.#readLinesWithCarriageReturns(text, out);
    else this.#readLines(text, out);
  }

  end(_reason: StreamEndReason, out: SseEvent[]): void {
    const rest = this.#utf8?.decode() ?? "";
    if (rest !== "") this.push(rest, out);
    if (!this.#line.isEmpty) this.#completeLine("", out);
    this.#dispatch(out, false);
  }

  #decode(bytes: Uint8Array): string {
    if (this.#utf8 === undefined)
      throw new WireError(
        "no_text_decoder",
        "pass a text decoder to push bytes: new SseDecoder({ utf8: new TextDecoder() })",
      );
    return this.#utf8.decode(bytes, { stream: true });
  }

  /** Fast path for streams without `\r`, where nearly every event is a name, one `data: ` line and a blank line. */
  #readLines(text: string, out: SseEvent[]): void {
    const readEvent = this.#readEvent;
    let position = 0;
    if (!this.#line.isEmpty) {
      const end = text.indexOf("\n");
      if (end === -1) return this.#bufferLine(text);
      position = end + 1;
      this.#completeLine(text.slice(0, end), out);
    }
    while (position < text.length) {
      if (readEvent !== undefined && this.#event === undefined && this.#data === undefined) {
        const next = readEvent(text, position);
        if (next > position) {
          position = next;
          continue;
        }
      }
      const end = text.indexOf("\n", position);
      if (end === -1) return this.#bufferLine(position === 0 ? text : text.slice(position));
      if (
        text.charCodeAt(end + 1) === LF &&
        this.#data === undefined &&
        text.startsWith("data: ", position)
      ) {
        this.#assertWithinLimit(end - position);
        out.push({
          event: this.#event,
          data: text.slice(position + 6, end),
          id: this.#id,
          terminated: true,
        });
        this.#event = undefined;
        position = end + 2;
        continue;
      }
      if (text.startsWith("event: ", position)) {
        this.#assertWithinLimit(end - position);
        this.#event = text.slice(position + 7, end);
      } else this.#readLine(text.slice(position, end), out);
      position = end + 1;
    }
  }

  #readLinesWithCarriageReturns(text: string, out: SseEvent[]): void {
    let position = this.#afterCarriageReturn && text.charCodeAt(0) === LF ? 1 : 0;
    this.#afterCarriageReturn = false;
    let cr = text.indexOf("\r", position);
    while (position < text.length) {
      const lf = text.indexOf("\n", position);
      if (cr !== -1 && cr < position) cr = text.indexOf("\r", position);
      if (lf === -1 && cr === -1) return this.#bufferLine(text.slice(position));
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#completeLine(text.slice(position, end), out);
      position = end + 1;
      if (text.charCodeAt(end) === CR) {
        if (position === text.length) this.#afterCarriageReturn = true;
        else if (text.charCodeAt(position) === LF) position += 1;
      }
    }
  }

  #bufferLine(text: string): void {
    this.#line.append(text);
    this.#assertWithinLimit(this.#line.length);
  }

  #completeLine(rest: string, out: SseEvent[]): void {
    if (this.#line.isEmpty) return this.#readLine(rest, out);
    const line = this.#line.toString() + rest;
    this.#line.clear();
    this.#readLine(line, out);
  }

  #readLine(line: string, out: SseEvent[]): void {
    if (line === "") return this.#dispatch(out, true);
    this.#assertWithinLimit(line.length);
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.commentCount += 1;
      return;
    }
    const field = colon === -1 ? line : line.slice(0, colon);
    const value =
      colon === -1 ? "" : line.slice(line.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1);
    switch (field) {
      case "data":
        this.#addData(value);
        return;
      case "event":
        this.#event = value;
        return;
      case "id":
        this.otherLineCount += 1;
        if (!value.includes("\0")) this.#id = value;
        return;
      case "retry":
        this.otherLineCount += 1;
        if (/^\d+$/.test(value)) this.retry = Number(value);
        return;
      default:
        this.otherLineCount += 1;
        // Several recorded servers send a space before "data:". The specification ignores such lines, which would
        // drop their text.
        if (this.#strictFields) return;
        if (field.trimStart() === "data" && line.charCodeAt(colon) === COLON) this.#addData(value);
    }
  }

  #addData(value: string): void {
    if (this.#data === undefined) {
      this.#data = value;
      return this.#assertWithinLimit(value.length);
    }
    // String concatenation of thousands of lines would build a deep tree of strings.
    this.#moreData ??= new TextAccumulator();
    this.#moreData.append(`\n${value}`);
    this.#assertWithinLimit(this.#data.length + this.#moreData.length);
  }

  #dispatch(out: SseEvent[], terminated: boolean): void {
    if (this.#data !== undefined) {
      const data =
        this.#moreData === undefined ? this.#data : this.#data + this.#moreData.toString();
      out.push({ event: this.#event, data, id: this.#id, terminated });
    }
    this.#data = undefined;
    this.#moreData = undefined;
    this.#event = undefined;
  }

  #assertWithinLimit(length: number): void {
    if (length <= this.#maxEventLength) return;
    this.#line.clear();
    this.#data = undefined;
    this.#moreData = undefined;
    this.#isBroken = true;
    throw new WireError(
      "event_too_large",
      `an event is longer than the limit of ${this.#maxEventLength} characters`,
    );
  }
}
