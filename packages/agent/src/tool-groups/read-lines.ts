import type { FileHandle } from "node:fs/promises";

export interface LinePage {
  lines: string[];
  /** True if more lines follow. */
  hasMore: boolean;
}

const chunkSize = 256 * 1024;
const maxLineBytes = 4_000;
const maxPageBytes = 120_000;
const LF = 10;

/**
 * Reads up to `lineCount` lines of a file, starting at line `firstLine`, counted from 1. Reads in chunks and buffers only the
 * page; long lines are truncated.
 */
export async function readLines(
  file: FileHandle,
  firstLine: number,
  lineCount: number,
  signal: AbortSignal,
): Promise<LinePage> {
  const buffer = Buffer.allocUnsafe(chunkSize);
  const page = new LinePageReader(firstLine, lineCount);
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, chunkSize, position);
    if (bytesRead === 0) return page.end();
    position += bytesRead;
    if (page.push(buffer.subarray(0, bytesRead)) === "full")
      return { lines: page.lines, hasMore: true };
  }
}

class LinePageReader {
  readonly lines: string[] = [];
  readonly #firstLine: number;
  readonly #lineCount: number;
  #lineNumber = 1;
  #bufferedChunks: Buffer[] = [];
  #bufferedBytes = 0;
  #lineBytes = 0;
  #pageBytes = 0;

  constructor(firstLine: number, lineCount: number) {
    this.#firstLine = firstLine;
    this.#lineCount = lineCount;
  }

  push(chunk: Buffer): "full" | "incomplete" {
    for (let start = 0; start < chunk.length;) {
      if (this.#isFull) return "full";
      const end = chunk.indexOf(LF, start);
      const stop = end === -1 ? chunk.length : end;
      if (this.#lineNumber >= this.#firstLine) this.#bufferChunk(chunk.subarray(start, stop));
      this.#lineBytes += stop - start;
      if (end === -1) break;
      this.#endLine();
      start = end + 1;
    }
    return "incomplete";
  }

  end(): LinePage {
    if (this.#lineBytes > 0) this.#endLine();
    return { lines: this.lines, hasMore: false };
  }

  get #isFull(): boolean {
    return this.lines.length >= this.#lineCount || this.#pageBytes >= maxPageBytes;
  }

  #bufferChunk(part: Buffer): void {
    const remaining = maxLineBytes - this.#bufferedBytes;
    if (remaining <= 0) return;
    const copy = Buffer.from(part.subarray(0, remaining)); // copied, because the buffer is reused
    this.#bufferedChunks.push(copy);
    this.#bufferedBytes += copy.length;
  }

  #endLine(): void {
    if (this.#lineNumber >= this.#firstLine) {
      const text = Buffer.concat(this.#bufferedChunks).toString("utf8");
      const omittedBytes = this.#lineBytes - this.#bufferedBytes;
      const line = this.#lineNumber === 1 ? text.replace(/^\uFEFF/, "") : text;
      this.lines.push(
        omittedBytes > 0 ? `${line}… (${omittedBytes} more bytes)` : line.replace(/\r$/, ""),
      );
      this.#pageBytes += this.#bufferedBytes + 8;
    }
    this.#lineNumber += 1;
    this.#bufferedChunks = [];
    this.#bufferedBytes = 0;
    this.#lineBytes = 0;
  }
}
