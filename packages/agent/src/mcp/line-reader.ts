const LF = 10;
/** Bytes of the beginning and of the end of a line that is too long. */
const excerptBytes = 256;

/** A line with more bytes than the limit: how it begins and how it ends. */
export interface LongLine {
  readonly head: string;
  readonly tail: string;
}

/** Cuts bytes into lines. Each byte is looked at once, also where a line comes in thousands of pieces. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #line = new ByteBuffer();
  #length = 0;
  /** The beginning of a line that is too long and has not ended. */
  #head: string | undefined;
  #tail = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in these bytes; "endless" if one does not end within four times the limit. */
  push(bytes: Buffer): (string | LongLine)[] | "endless" {
    const lines: (string | LongLine)[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(LF, at);
      const piece = bytes.subarray(at, end === -1 ? bytes.length : end);
      this.#length += piece.length;
      if (this.#length > 4 * this.#maxBytes) return "endless";
      if (this.#length > this.#maxBytes) this.#skip(piece);
      else this.#line.append(piece);
      if (end === -1) break;
      lines.push(this.#complete());
      at = end + 1;
    }
    return lines;
  }

  #skip(piece: Buffer): void {
    if (this.#head === undefined) {
      const stored = this.#line.take();
      this.#head = Buffer.concat([stored, piece]).subarray(0, excerptBytes).toString("utf8");
      this.#tail = stored;
    }
    // Copies, so that an excerpt does not keep a complete read in memory.
    this.#tail = Buffer.from(
      Buffer.concat([this.#tail.subarray(-excerptBytes), piece]).subarray(-excerptBytes),
    );
  }

  #complete(): string | LongLine {
    const line =
      this.#head === undefined
        ? this.#line.take().toString("utf8").replace(/\r$/, "")
        : { head: this.#head, tail: this.#tail.toString("utf8") };
    this.#length = 0;
    this.#head = undefined;
    return line;
  }
}

/** Collects bytes in one block of memory: a server may send a long message in millions of pieces of one byte. */
export class ByteBuffer {
  #block = Buffer.alloc(0);
  #length = 0;

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#length * 2));
      larger.set(this.#block.subarray(0, this.#length));
      this.#block = larger;
    }
    this.#block.set(piece, this.#length);
    this.#length = length;
  }

  /** Returns all bytes and is empty then. */
  take(): Buffer<ArrayBuffer> {
    const bytes = this.#block.subarray(0, this.#length);
    this.#block = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
