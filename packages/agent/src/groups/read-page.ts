import type { FileHandle } from "node:fs/promises";

export interface Page {
  lines: string[];
  /** Whether lines follow. */
  more: boolean;
}

const chunkSize = 256 * 1024;
const maxLineBytes = 4_000;
const maxPageBytes = 120_000;
const LF = 10;

/**
 * Lines of a file from a number on, counted from 1. Whatever its size, it is read in chunks and only the page is kept;
 * a line without an end is cut.
 */
export async function readPage(
  file: FileHandle,
  first: number,
  count: number,
  signal: AbortSignal,
): Promise<Page> {
  const buffer = Buffer.allocUnsafe(chunkSize);
  const page = new PageReader(first, count);
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, chunkSize, position);
    if (bytesRead === 0) return page.end();
    position += bytesRead;
    if (page.push(buffer.subarray(0, bytesRead)) === "full")
      return { lines: page.lines, more: true };
  }
}

class PageReader {
  readonly lines: string[] = [];
  readonly #first: number;
  readonly #count: number;
  #number = 1;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #lineBytes = 0;
  #pageBytes = 0;

  constructor(first: number, count: number) {
    this.#first = first;
    this.#count = count;
  }

  push(chunk: Buffer): "full" | "wants more" {
    for (let at = 0; at < chunk.length;) {
      if (this.#isFull) return "full";
      const end = chunk.indexOf(LF, at);
      const stop = end === -1 ? chunk.length : end;
      if (this.#number >= this.#first) this.#keep(chunk.subarray(at, stop));
      this.#lineBytes += stop - at;
      if (end === -1) break;
      this.#endLine();
      at = end + 1;
    }
    return "wants more";
  }

  end(): Page {
    if (this.#lineBytes > 0) this.#endLine();
    return { lines: this.lines, more: false };
  }

  get #isFull(): boolean {
    return this.lines.length >= this.#count || this.#pageBytes >= maxPageBytes;
  }

  #keep(part: Buffer): void {
    const room = maxLineBytes - this.#keptBytes;
    if (room <= 0) return;
    const piece = Buffer.from(part.subarray(0, room)); // a copy: the chunk's memory is used again
    this.#kept.push(piece);
    this.#keptBytes += piece.length;
  }

  #endLine(): void {
    if (this.#number >= this.#first) {
      const text = Buffer.concat(this.#kept).toString("utf8");
      const cut = this.#lineBytes - this.#keptBytes;
      const line = this.#number === 1 ? text.replace(/^\uFEFF/, "") : text;
      this.lines.push(cut > 0 ? `${line}… (${cut} bytes more)` : line.replace(/\r$/, ""));
      this.#pageBytes += this.#keptBytes + 8;
    }
    this.#number += 1;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#lineBytes = 0;
  }
}
