const LF = 10;
const CR = 13;

/** `TextDecoder` of the platform. */
export interface StreamingTextDecoder {
  decode(bytes: Uint8Array, options: { stream: boolean }): string;
}

/**
 * Reads the data of server-sent events from chunks that may be split anywhere: within a character, between `\r` and `\n`. Each
 * byte is searched once; an unfinished line is only stored. Event names and ids are ignored: the data contains them.
 */
export class SseReader {
  readonly #decoder: StreamingTextDecoder;
  /** The parts of an unfinished line. */
  #pieces: string[] = [];
  #data: string | undefined;
  #afterCarriageReturn = false;

  constructor(decoder: StreamingTextDecoder) {
    this.#decoder = decoder;
  }

  push(bytes: Uint8Array): string[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const events: string[] = [];
    if (text === "") return events;
    let start = this.#afterCarriageReturn && text.charCodeAt(0) === LF ? 1 : 0;
    this.#afterCarriageReturn = text.charCodeAt(text.length - 1) === CR;
    const nextEnd = text.includes("\r") ? findLineEnd : findLineFeed;
    for (let end = nextEnd(text, start); end !== -1; end = nextEnd(text, start)) {
      this.#readLine(this.#completeLine(text.slice(start, end)), events);
      start = end + 1;
      if (text.charCodeAt(end) === CR && text.charCodeAt(start) === LF) start += 1;
    }
    if (start < text.length) this.#pieces.push(text.slice(start));
    return events;
  }

  #completeLine(rest: string): string {
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
    const value = parseDataLine(line);
    if (value !== undefined)
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }
}

function findLineFeed(text: string, from: number): number {
  return text.indexOf("\n", from);
}

function findLineEnd(text: string, from: number): number {
  for (let index = from; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === LF || unit === CR) return index;
  }
  return -1;
}

function parseDataLine(line: string): string | undefined {
  if (line === "data") return "";
  if (!line.startsWith("data:")) return undefined;
  return line.slice(line.startsWith(" ", 5) ? 6 : 5);
}
