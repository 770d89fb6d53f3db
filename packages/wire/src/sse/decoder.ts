import { WireError } from "../error.ts";
import { GrowingText } from "../growing-text.ts";
import type { StreamEnd, StreamMachine } from "../machine.ts";

export interface SseEvent {
  /** The `event:` field, if there was one. */
  event: string | undefined;
  data: string;
  /** The last `id:` seen in the stream, this event's or an earlier one's. */
  id: string | undefined;
  /** False for a last event that the stream's end cut short of its blank line. */
  terminated: boolean;
}

/** What a TextDecoder does. It is handed in, because this package knows no platform. */
export interface Utf8Decoder {
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}

export interface SseDecoderOptions {
  /** Needed when bytes are pushed: `new TextDecoder()`. One for each stream, it keeps half characters. */
  utf8?: Utf8Decoder;
  /** How many characters one event, or one line, may have; past it `push` throws, and nothing more is read. */
  maxEventLength?: number;
  /** To the letter of the specification: a line with a blank before "data:" is no data. */
  strictFields?: boolean;
}

const defaultMaxEventLength = 16 * 1024 * 1024;
const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const BYTE_ORDER_MARK = 0xfeff;

/**
 * Server-sent events from text or bytes cut anywhere: inside a character, between `\r` and `\n`, one byte at a
 * time. A new chunk is searched once and an unfinished line is only appended to, so that an endless line costs
 * nothing until it meets the limit.
 */
export class SseDecoder implements StreamMachine<string | Uint8Array, SseEvent> {
  /** The server's `retry:`, in milliseconds. */
  retry: number | undefined;
  /** How many lines there were beside data, names of events, comments and blanks: ids, retry times, unknown fields. */
  otherLines = 0;
  comments = 0;

  readonly #utf8: Utf8Decoder | undefined;
  readonly #maxEventLength: number;
  readonly #strictFields: boolean;
  #atStart = true;
  /** An event was too large: what comes after it would be half an event, and so nothing comes. */
  #broken = false;
  #afterCarriageReturn = false;
  /** A line that has not ended yet. It is only appended to, and looked into when it has. */
  readonly #line = new GrowingText();
  /** The first line of data of an event, and the lines after it. */
  #data: string | undefined;
  #moreData: GrowingText | undefined;
  #event: string | undefined;
  #id: string | undefined;

  constructor(options: SseDecoderOptions = {}) {
    this.#utf8 = options.utf8;
    this.#maxEventLength = options.maxEventLength ?? defaultMaxEventLength;
    this.#strictFields = options.strictFields ?? false;
  }

  push(chunk: string | Uint8Array, out: SseEvent[]): void {
    let text = typeof chunk === "string" ? chunk : this.#decode(chunk);
    if (text === "" || this.#broken) return;
    if (this.#atStart) {
      this.#atStart = false;
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
    }
    if (text.includes("\r") || this.#afterCarriageReturn) this.#readAnyLineEnds(text, out);
    else this.#readLines(text, out);
  }

  end(_how: StreamEnd, out: SseEvent[]): void {
    const rest = this.#utf8?.decode() ?? "";
    if (rest !== "") this.push(rest, out);
    if (!this.#line.isEmpty) this.#completeLine("", out);
    this.#dispatch(out, false);
  }

  #decode(bytes: Uint8Array): string {
    if (this.#utf8 === undefined)
      throw new WireError(
        "no_text_decoder",
        "bytes need a text decoder: new SseDecoder({ utf8: new TextDecoder() })",
      );
    return this.#utf8.decode(bytes, { stream: true });
  }

  /** The usual stream: lines end in `\n`, and nearly every event is a name, one `data: ` line and a blank one. */
  #readLines(text: string, out: SseEvent[]): void {
    let at = 0;
    if (!this.#line.isEmpty) {
      const end = text.indexOf("\n");
      if (end === -1) return this.#keep(text);
      at = end + 1;
      this.#completeLine(text.slice(0, end), out);
    }
    while (at < text.length) {
      const end = text.indexOf("\n", at);
      if (end === -1) return this.#keep(at === 0 ? text : text.slice(at));
      if (
        text.charCodeAt(end + 1) === LF &&
        this.#data === undefined &&
        text.startsWith("data: ", at)
      ) {
        this.#limit(end - at);
        out.push({
          event: this.#event,
          data: text.slice(at + 6, end),
          id: this.#id,
          terminated: true,
        });
        this.#event = undefined;
        at = end + 2;
        continue;
      }
      if (text.startsWith("event: ", at)) {
        this.#limit(end - at);
        this.#event = text.slice(at + 7, end);
      } else this.#readLine(text.slice(at, end), out);
      at = end + 1;
    }
  }

  #readAnyLineEnds(text: string, out: SseEvent[]): void {
    let at = this.#afterCarriageReturn && text.charCodeAt(0) === LF ? 1 : 0;
    this.#afterCarriageReturn = false;
    let cr = text.indexOf("\r", at);
    while (at < text.length) {
      const lf = text.indexOf("\n", at);
      if (cr !== -1 && cr < at) cr = text.indexOf("\r", at);
      if (lf === -1 && cr === -1) return this.#keep(text.slice(at));
      const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
      this.#completeLine(text.slice(at, end), out);
      at = end + 1;
      if (text.charCodeAt(end) === CR) {
        if (at === text.length) this.#afterCarriageReturn = true;
        else if (text.charCodeAt(at) === LF) at += 1;
      }
    }
  }

  #keep(text: string): void {
    this.#line.add(text);
    this.#limit(this.#line.length);
  }

  #completeLine(rest: string, out: SseEvent[]): void {
    if (this.#line.isEmpty) return this.#readLine(rest, out);
    const line = this.#line.toString() + rest;
    this.#line.clear();
    this.#readLine(line, out);
  }

  #readLine(line: string, out: SseEvent[]): void {
    if (line === "") return this.#dispatch(out, true);
    this.#limit(line.length);
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.comments += 1;
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
        this.otherLines += 1;
        if (!value.includes("\0")) this.#id = value;
        return;
      case "retry":
        this.otherLines += 1;
        if (/^\d+$/.test(value)) this.retry = Number(value);
        return;
      default:
        this.otherLines += 1;
        // A stray blank before "data:" was recorded on several servers; to the letter the line is no field at
        // all and its words would be lost.
        if (this.#strictFields) return;
        if (field.trimStart() === "data" && line.charCodeAt(colon) === COLON) this.#addData(value);
    }
  }

  #addData(value: string): void {
    if (this.#data === undefined) {
      this.#data = value;
      return this.#limit(value.length);
    }
    // Thousands of lines, appended one by one, would be a tree of as many nodes.
    this.#moreData ??= new GrowingText();
    this.#moreData.add(`\n${value}`);
    this.#limit(this.#data.length + this.#moreData.length);
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

  #limit(length: number): void {
    if (length <= this.#maxEventLength) return;
    this.#line.clear();
    this.#data = undefined;
    this.#moreData = undefined;
    this.#broken = true;
    throw new WireError(
      "event_too_large",
      `one event has more than ${this.#maxEventLength} characters, which is the limit`,
    );
  }
}
