const LF = 10;

/** Cuts bytes into lines. Each byte is looked at once, also where a line comes in thousands of pieces. */
export class LineReader {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in these bytes; "too long" if one has more than the limit. */
  push(bytes: Buffer): string[] | "too long" {
    const lines: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(LF, at);
      const piece = bytes.subarray(at, end === -1 ? bytes.length : end);
      this.#length += piece.length;
      if (this.#length > this.#maxBytes) return "too long";
      this.#pieces.push(piece);
      if (end === -1) break;
      lines.push(Buffer.concat(this.#pieces).toString("utf8").replace(/\r$/, ""));
      this.#pieces = [];
      this.#length = 0;
      at = end + 1;
    }
    return lines;
  }
}
