import type { ServerResponse } from "node:http";
import { Problem } from "../problem.ts";

/**
 * Memory that the bodies of all requests in progress may take together. A request is charged while its body is read,
 * by what it unpacks to, and its share is released when its reply has ended: until then it may be sent to another upstream.
 */
export class BodyMemory {
  readonly #maxBytes: number;
  readonly #charged = new Map<ServerResponse, number>();
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws a Problem (503) if the bytes do not fit. A single request always fits, however large it is. */
  charge(response: ServerResponse, bytes: number): void {
    const before = this.#charged.get(response);
    const isAlone = this.#total === (before ?? 0);
    if (this.#total + bytes > this.#maxBytes && !isAlone)
      throw new Problem(
        "server_is_overloaded",
        `the bodies of all requests in progress take more than ${Math.floor(this.#maxBytes / megabyte)} MB; try again when some have ended`,
        { retryAfter: retryAfterSeconds },
      );
    if (before === undefined) {
      // A reply that has ended already will not do so again.
      if (response.closed) return;
      response.once("close", () => this.#release(response));
    }
    this.#total += bytes;
    this.#charged.set(response, (before ?? 0) + bytes);
  }

  #release(response: ServerResponse): void {
    this.#total -= this.#charged.get(response) ?? 0;
    this.#charged.delete(response);
  }
}

const megabyte = 1024 * 1024;
const retryAfterSeconds = 2;
