import type { ServerResponse } from "node:http";
import { GatewayError } from "../gateway-error.ts";

/**
 * Limits the memory that the bodies of all requests in progress use together. A request is charged for its decompressed
 * body while the body is read. Its share is released when the reply ends, because until then the body may be sent to
 * another upstream.
 */
export class BodyMemory {
  readonly #maxBytes: number;
  readonly #bytesByResponse = new Map<ServerResponse, number>();
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws a GatewayError (503) if the limit is exceeded. A request is always accepted if it is the only one in progress. */
  charge(response: ServerResponse, bytes: number): void {
    const previousBytes = this.#bytesByResponse.get(response);
    const isAlone = this.#total === (previousBytes ?? 0);
    if (this.#total + bytes > this.#maxBytes && !isAlone)
      throw new GatewayError(
        "server_is_overloaded",
        `request bodies in progress exceed ${Math.floor(this.#maxBytes / megabyte)} MB in total; try again later`,
        { retryAfter: retryAfterSeconds },
      );
    if (previousBytes === undefined) {
      // A response that is already closed emits no second "close".
      if (response.closed) return;
      response.once("close", () => this.#release(response));
    }
    this.#total += bytes;
    this.#bytesByResponse.set(response, (previousBytes ?? 0) + bytes);
  }

  #release(response: ServerResponse): void {
    this.#total -= this.#bytesByResponse.get(response) ?? 0;
    this.#bytesByResponse.delete(response);
  }
}

const megabyte = 1024 * 1024;
const retryAfterSeconds = 2;
