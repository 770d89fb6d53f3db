import { fstatSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";
import type { LogTarget } from "../log.ts";

/** What a slow reader of a pipe may leave unread. */
const mostWaitingBytes = 16 * 1024 * 1024;

type StandardStream = Writable & { readonly fd: number; readonly isTTY?: boolean };

/**
 * Standard output or standard error. Nothing that happens there is thrown: a full disk, a closed pipe or a terminal that is
 * gone must not end the process. `write` returns false if the text was lost.
 */
export class StandardOutput implements LogTarget {
  readonly isTTY: boolean;
  readonly #stream: StandardStream;
  /** Files are written directly: Node's stream gives up at the first error, but a disk has room again some time. */
  readonly #isFile: boolean;
  #endsInMidLine = false;
  /** The last failure, except for a reader who has read enough. */
  failure: NodeJS.ErrnoException | undefined;

  constructor(stream: StandardStream) {
    this.#stream = stream;
    this.isTTY = stream.isTTY === true;
    this.#isFile = !this.isTTY && isFile(stream.fd);
    stream.on("error", (error) => this.#failed(error));
  }

  write(text: string): boolean {
    if (this.#isFile) return this.#writeToFile(text);
    if (this.#stream.destroyed || this.#stream.writableLength > mostWaitingBytes) return false;
    try {
      this.#stream.write(text);
      return true;
    } catch (error) {
      return this.#failed(error as NodeJS.ErrnoException);
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
      return this.#failed(error as NodeJS.ErrnoException);
    }
  }

  #failed(error: NodeJS.ErrnoException): false {
    // `deltawire models | head` has read enough.
    if (error.code !== "EPIPE") this.failure = error;
    return false;
  }
}

/** Devices such as /dev/null are written like files. */
function isFile(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFile() || stats.isCharacterDevice();
  } catch {
    return false;
  }
}
