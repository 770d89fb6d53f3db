import { fstatSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";
import type { LogTarget } from "../log.ts";

/** Output is dropped while the reader of a pipe has this much left to read. */
const maxBufferedBytes = 16 * 1024 * 1024;

type StandardStream = Writable & { readonly fd: number; readonly isTTY?: boolean };

/**
 * Standard output or standard error. Never throws: a full disk, a closed pipe or a closed terminal must not end the
 * process. `write` returns false if the text could not be written.
 */
export class OutputStream implements LogTarget {
  readonly isTTY: boolean;
  readonly #stream: StandardStream;
  /** Files are written directly: Node's stream stops at the first error, but a full disk may have space again later. */
  readonly #isFile: boolean;
  #endsInMidLine = false;
  /** The last write error, except EPIPE. */
  failure: NodeJS.ErrnoException | undefined;

  constructor(stream: StandardStream) {
    this.#stream = stream;
    this.isTTY = stream.isTTY === true;
    this.#isFile = !this.isTTY && isFile(stream.fd);
    stream.on("error", (error) => this.#recordFailure(error));
  }

  write(text: string): boolean {
    if (this.#isFile) return this.#writeToFile(text);
    if (this.#stream.destroyed || this.#stream.writableLength > maxBufferedBytes) return false;
    try {
      this.#stream.write(text);
      return true;
    } catch (error) {
      return this.#recordFailure(error as NodeJS.ErrnoException);
    }
  }

  #writeToFile(text: string): boolean {
    const bytes = Buffer.from(this.#endsInMidLine ? `\n${text}` : text);
    let written = 0;
    try {
      while (written < bytes.length)
        written += writeSync(this.#stream.fd, bytes, written, bytes.length - written);
      this.#endsInMidLine = false;
      return true;
    } catch (error) {
      if (written > 0) this.#endsInMidLine = true;
      return this.#recordFailure(error as NodeJS.ErrnoException);
    }
  }

  #recordFailure(error: NodeJS.ErrnoException): false {
    // `deltawire models | head` closes the pipe early.
    if (error.code !== "EPIPE") this.failure = error;
    return false;
  }
}

/** True for files and for character devices such as /dev/null, which are written like files. */
function isFile(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFile() || stats.isCharacterDevice();
  } catch {
    return false;
  }
}
