import { Problem } from "../problem.ts";
import { unreachable } from "../unreachable.ts";

/** Where the value of a field stands in a multipart body. */
export interface FoundField {
  value: string;
  /** Offsets in the body. */
  start: number;
  end: number;
}

/** Part headers, and values of the fields that are looked for, are short. */
const longestHead = 16 * 1024;
const longestValue = 1024;
/** RFC 2046 allows 70. Searching for a long one takes time that grows with its length. */
const longestBoundary = 256;
/** A form of OpenAI's API has some dozen; beyond these no field is looked for. */
const mostParts = 1000;

type State =
  /** Before the first boundary, or in a part that is of no interest. */
  { in: "skipped" } | { in: "head" } | { in: "field"; start: number };

/**
 * Looks for one field of a multipart body while it passes, in any pieces, and keeps no more of it than a boundary is
 * long. Files go by unread.
 */
export class MultipartField {
  readonly #delimiter: Buffer;
  readonly #name: string;
  #state: State = { in: "skipped" };
  /** What has been read and not yet understood; the body's first line has no line end before it, so it gets one. */
  #rest: Buffer = Buffer.from("\r\n");
  /** The offset in the body at which `#rest` begins. */
  #offset = -2;
  #parts = 0;
  found: FoundField | undefined;

  constructor(boundary: string, name: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
    this.#name = name;
  }

  push(bytes: Uint8Array): void {
    if (this.found !== undefined) return;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.found === undefined && this.#step());
  }

  /** Takes the next thing out of `#rest`; false: more bytes are needed. */
  #step(): boolean {
    switch (this.#state.in) {
      case "head": {
        const end = this.#rest.subarray(0, longestHead + 4).indexOf("\r\n\r\n");
        if (end < 0) {
          if (this.#rest.length > longestHead) this.#state = { in: "skipped" };
          return this.#rest.length > longestHead;
        }
        const head = this.#rest.subarray(0, end).toString("latin1");
        this.#drop(end + 4);
        const wanted = isField(head, this.#name);
        this.#state = wanted ? { in: "field", start: this.#offset } : { in: "skipped" };
        // The value may be empty: the delimiter's line end is then the one that ended the head.
        return true;
      }
      case "skipped":
      case "field": {
        const end = this.#rest.indexOf(this.#delimiter);
        if (end < 0) return this.#keepTail();
        if (this.#state.in === "field") {
          const value = this.#rest.subarray(0, end).toString("utf8");
          this.found = { value, start: this.#state.start, end: this.#state.start + end };
          return false;
        }
        this.#drop(end + this.#delimiter.length);
        this.#parts += 1;
        if (this.#parts <= mostParts) this.#state = { in: "head" };
        return true;
      }
      default:
        return unreachable(this.#state);
    }
  }

  #keepTail(): boolean {
    if (this.#state.in === "field") {
      if (this.#rest.length > longestValue) this.#state = { in: "skipped" };
      return false;
    }
    const tail = Math.min(this.#rest.length, this.#delimiter.length - 1);
    this.#drop(this.#rest.length - tail);
    return false;
  }

  #drop(count: number): void {
    this.#rest = this.#rest.subarray(count);
    this.#offset += count;
  }
}

export function boundaryOf(contentType: string): string | undefined {
  const match = /^multipart\/form-data\s*;.*?\bboundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary !== undefined && boundary.length > longestBoundary)
    throw new Problem(
      "invalid_header",
      `content-type: the boundary is longer than ${longestBoundary} characters`,
      { param: "content-type" },
    );
  return boundary;
}

function isField(head: string, name: string): boolean {
  const disposition = /^content-disposition:(.*)$/im.exec(head)?.[1] ?? "";
  if (/;\s*filename\*?=/i.test(disposition)) return false;
  const given = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition);
  return (given?.[1] ?? given?.[2]) === name;
}
