const LF = 10;
/** Size of `head` and `tail` of a line that is too long, in bytes. */
const excerptBytes = 256;

/** The beginning and the end of a line that exceeds the limit. */
export interface LongLine {
  readonly head: string;
  readonly tail: string;
}

/** Splits bytes into lines. Reads each byte once, even if a line arrives in thousands of chunks. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #line = new ByteBuffer();
  #length = 0;
  /** The beginning of a line that is too long and not complete yet. */
  #head: string | undefined;
  #tail = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the lines that end in these bytes, or "endless" if a line exceeds four times the limit. */
  push(bytes: Buffer): (string | LongLine)[] | "endless" {
    const lines: (string | LongLine)[] = [];
    for (let position = 0; position < bytes.length;) {
      const end = bytes.indexOf(LF, position);
      const chunk = bytes.subarray(position, end === -1 ? bytes.length : end);
      this.#length += chunk.length;
      if (this.#length > 4 * this.#maxBytes) return "endless";
      if (this.#length > this.#maxBytes) this.#skipChunk(chunk);
      else this.#line.append(chunk);
      if (end === -1) break;
      lines.push(this.#takeLine());
      position = end + 1;
    }
    return lines;
  }

  #skipChunk(chunk: Buffer): void {
    if (this.#head === undefined) {
      const lineStart = this.#line.take();
      this.#head = Buffer.concat([lineStart, chunk]).subarray(0, excerptBytes).toString("utf8");
      this.#tail = lineStart;
    }
    // Copied, so that the excerpt does not keep the complete chunk in memory.
    this.#tail = Buffer.from(
      Buffer.concat([this.#tail.subarray(-excerptBytes), chunk]).subarray(-excerptBytes),
    );
  }

  #takeLine(): string | LongLine {
    const line =
      this.#head === undefined
        ? this.#line.take().toString("utf8").replace(/\r$/, "")
        : { head: this.#head, tail: this.#tail.toString("utf8") };
    this.#length = 0;
    this.#head = undefined;
    return line;
  }
}

/** Collects bytes in one block of memory: a server may send a long message in millions of one-byte chunks. */
export class ByteBuffer {
  #block = Buffer.alloc(0);
  #length = 0;

  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#block.length) {
      const newBlock = Buffer.allocUnsafeSlow(Math.max(length, this.#length * 2));
      newBlock.set(this.#block.subarray(0, this.#length));
      this.#block = newBlock;
    }
    this.#block.set(chunk, this.#length);
    this.#length = length;
  }

  /** Returns all bytes and empties the buffer. */
  take(): Buffer<ArrayBuffer> {
    const bytes = this.#block.subarray(0, this.#length);
    this.#block = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
