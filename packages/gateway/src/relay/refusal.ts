import { findExceededJsonLimit } from "@deltawire/wire";
import type { ReceivedHeaders } from "./forwarded-headers.ts";
import { parseJson } from "../json.ts";

const mostBytes = 64 * 1024;

/** Seconds in which the body of a refusal has to come; after that, what has come is all of it. */
export const refusalSeconds = 5;

/** The headers of a refusal that are read. */
const readHeaders = ["location", "retry-after"];

/** An upstream's answer that is no reply: its status, and the beginning of its body. It may quote keys. */
export class Refusal {
  readonly status: number;
  readonly headers: Record<string, string> = {};
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(status: number, headers: ReceivedHeaders) {
    this.status = status;
    for (const name of readHeaders) {
      const value = headers[name];
      if (value === undefined) continue;
      this.headers[name] = Array.isArray(value) ? value.join(", ") : value;
    }
  }

  push(bytes: Uint8Array): void {
    if (this.#size >= mostBytes) return;
    this.#size += bytes.length;
    this.#pieces.push(bytes);
  }

  /** All that is kept of it has come. */
  get isFull(): boolean {
    return this.#size >= mostBytes;
  }

  /** JSON where it is JSON. */
  get body(): unknown {
    const text = Buffer.concat(this.#pieces).subarray(0, mostBytes).toString("utf8");
    // Deeper JSON than this can be parsed, but not written again.
    return (findExceededJsonLimit(text) === undefined ? parseJson(text) : undefined) ?? text;
  }
}
