import { redactBody, type Redactor } from "@deltawire/agent";
import { findExceededJsonLimit } from "@deltawire/wire";
import type { ReceivedHeaders } from "./forwarded-headers.ts";
import { parseJson } from "../json.ts";

const mostBytes = 64 * 1024;
const longestHeader = 1000;

/** Seconds in which the body of a refusal has to come; after that, what has come is all of it. */
export const refusalSeconds = 5;

/** The headers of a refusal that are read. */
const readHeaders = ["location", "retry-after"];

/** An upstream's answer that is no reply: its status, and the beginning of its body. Nothing in it is a secret. */
export class Refusal {
  readonly status: number;
  readonly headers: Record<string, string> = {};
  readonly #pieces: Uint8Array[] = [];
  readonly #redactor: Redactor;
  #size = 0;

  constructor(status: number, headers: ReceivedHeaders, redactor: Redactor) {
    this.status = status;
    this.#redactor = redactor;
    for (const name of readHeaders) {
      const value = headers[name];
      if (value === undefined) continue;
      this.headers[name] = redactor.excerpt(
        Array.isArray(value) ? value.join(", ") : value,
        longestHeader,
      );
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
    const json = findExceededJsonLimit(text) === undefined ? parseJson(text) : undefined;
    return redactBody(json ?? text, this.#redactor);
  }
}
