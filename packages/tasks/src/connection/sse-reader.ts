const LF = 10;
const CR = 13;

/** `TextDecoder` of the platform. */
export interface Utf8Decoder {
  decode(bytes: Uint8Array, options: { stream: boolean }): string;
}

/**
 * Reads the data of server-sent events from bytes that are cut anywhere: within a character, between `\r` and `\n`. Each
 * byte is searched once; an unfinished line is only stored. Names and ids are ignored: the data has its own.
 */
export class SseReader {
  readonly #utf8: Utf8Decoder;
  /** Of an unfinished line. */
  #pieces: string[] = [];
  #data: string | undefined;
  #afterCarriageReturn = false;

  constructor(utf8: Utf8Decoder) {
    this.#utf8 = utf8;
  }

  push(bytes: Uint8Array): string[] {
    const text = this.#utf8.decode(bytes, { stream: true });
    const events: string[] = [];
    if (text === "") return events;
    let start = this.#afterCarriageReturn && text.charCodeAt(0) === LF ? 1 : 0;
    this.#afterCarriageReturn = text.charCodeAt(text.length - 1) === CR;
    const nextEnd = text.includes("\r") ? anyLineEnd : lineFeed;
    for (let end = nextEnd(text, start); end !== -1; end = nextEnd(text, start)) {
      this.#readLine(this.#wholeLine(text.slice(start, end)), events);
      start = end + 1;
      if (text.charCodeAt(end) === CR && text.charCodeAt(start) === LF) start += 1;
    }
    if (start < text.length) this.#pieces.push(text.slice(start));
    return events;
  }

  #wholeLine(rest: string): string {
    if (this.#pieces.length === 0) return rest;
    const line = this.#pieces.join("") + rest;
    this.#pieces = [];
    return line;
  }

  #readLine(line: string, events: string[]): void {
    if (line === "") {
      if (this.#data !== undefined) events.push(this.#data);
      this.#data = undefined;
      return;
    }
    const value = dataOf(line);
    if (value !== undefined)
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }
}

function lineFeed(text: string, from: number): number {
  return text.indexOf("\n", from);
}

function anyLineEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === LF || unit === CR) return at;
  }
  return -1;
}

function dataOf(line: string): string | undefined {
  if (line === "data") return "";
  if (!line.startsWith("data:")) return undefined;
  return line.slice(line.startsWith(" ", 5) ? 6 : 5);
}
