import { assertNever } from "@deltawire/tasks";
import { GatewayError } from "../gateway-error.ts";

/** The position of a field value in a multipart body. */
export interface FieldMatch {
  value: string;
  /** Offsets in the body. */
  start: number;
  end: number;
}

/** Limits for part headers and for the value of the field, which are short. */
const maxHeaderBytes = 16 * 1024;
const maxValueBytes = 1024;
/** RFC 2046 allows 70 characters. The search time grows with the length. */
const maxBoundaryLength = 256;
/** Forms of OpenAI's API have about a dozen parts; after this many the search stops. */
const maxParts = 1000;

type FinderState =
  /** Before the first boundary, or in another part. */
  { in: "other" } | { in: "headers" } | { in: "field"; start: number };

/**
 * Finds one field of a multipart body while the body streams, in chunks of any size. Buffers only what is not parsed yet: the
 * headers of a part, the value of the field, or, in other parts, fewer bytes than a boundary has.
 */
export class MultipartFieldFinder {
  readonly #delimiter: Buffer;
  readonly #name: string;
  #state: FinderState = { in: "other" };
  /** Bytes that are not parsed yet. Starts with a line break, because none precedes the first boundary. */
  #rest: Buffer = Buffer.from("\r\n");
  /** The offset of `#rest` in the body. */
  #offset = -2;
  #partCount = 0;
  match: FieldMatch | undefined;

  constructor(boundary: string, name: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
    this.#name = name;
  }

  push(bytes: Uint8Array): void {
    if (this.match !== undefined) return;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.match === undefined && this.#step());
  }

  /** Parses the next element of `#rest`. Returns false if more bytes are needed. */
  #step(): boolean {
    switch (this.#state.in) {
      case "headers": {
        const end = this.#rest.subarray(0, maxHeaderBytes + 4).indexOf("\r\n\r\n");
        if (end < 0) {
          if (this.#rest.length > maxHeaderBytes) this.#state = { in: "other" };
          return this.#rest.length > maxHeaderBytes;
        }
        const headers = this.#rest.subarray(0, end).toString("latin1");
        this.#consume(end + 4);
        const isMatch = isFieldNamed(headers, this.#name);
        this.#state = isMatch ? { in: "field", start: this.#offset } : { in: "other" };
        return true;
      }
      case "other":
      case "field": {
        const end = this.#rest.indexOf(this.#delimiter);
        if (end < 0) {
          this.#skipToTail();
          return false;
        }
        if (this.#state.in === "field") {
          const value = this.#rest.subarray(0, end).toString("utf8");
          this.match = { value, start: this.#state.start, end: this.#state.start + end };
          return false;
        }
        this.#consume(end + this.#delimiter.length);
        this.#partCount += 1;
        if (this.#partCount <= maxParts) this.#state = { in: "headers" };
        return true;
      }
      default:
        return assertNever(this.#state);
    }
  }

  /** Drops what cannot be the start of a delimiter. A value that is too long is not searched further. */
  #skipToTail(): void {
    if (this.#state.in === "field") {
      if (this.#rest.length > maxValueBytes) this.#state = { in: "other" };
      return;
    }
    const tailLength = Math.min(this.#rest.length, this.#delimiter.length - 1);
    this.#consume(this.#rest.length - tailLength);
  }

  #consume(count: number): void {
    this.#rest = this.#rest.subarray(count);
    this.#offset += count;
  }
}

/** Returns undefined if the body is not `multipart/form-data`. Throws a GatewayError (400) if the boundary is too long. */
export function parseBoundary(contentType: string): string | undefined {
  const match = /^multipart\/form-data\s*;.*?\bboundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary !== undefined && boundary.length > maxBoundaryLength)
    throw new GatewayError(
      "invalid_header",
      `content-type: the boundary is longer than ${maxBoundaryLength} characters`,
      { param: "content-type" },
    );
  return boundary;
}

function isFieldNamed(headers: string, name: string): boolean {
  const disposition = /^content-disposition:(.*)$/im.exec(headers)?.[1] ?? "";
  if (/;\s*filename\*?=/i.test(disposition)) return false;
  const nameMatch = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition);
  return (nameMatch?.[1] ?? nameMatch?.[2]) === name;
}
