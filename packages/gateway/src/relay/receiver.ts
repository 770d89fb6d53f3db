import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { JsonObject, UpstreamFailure } from "@deltawire/wire";
import type { ClientWire, Output, ReplyCollector } from "./client-wire.ts";

/** Where a reply goes: a client's stream, or the whole that is made for a client without one. */
export interface Receiver {
  /** Whether its client hears of a reply before the end. */
  readonly streams: boolean;
  /** Whether anything has gone out that cannot be taken back. */
  readonly hasSent: boolean;
  /** `bytes`: what came from the network, where it says the same. False: the client is slower than the upstream. */
  send(outputs: readonly Output[], bytes: Uint8Array | undefined): boolean;
  /** The stream stays open though nothing is said. */
  keepAlive(): void;
  /** Forgets what came of an attempt that failed and has not gone out. */
  clear(): void;
  /** Sends the last events. `failure`: what they report. */
  end(
    outputs: readonly Output[],
    bytes: Uint8Array | undefined,
    failure: UpstreamFailure | undefined,
  ): void;
  /** Called once when a slow client has caught up. */
  whenReady(go: () => void): void;
}

/** Longer texts are not copied once more for their frame. */
const longestFramed = 4096;

export const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  // nginx would collect the events otherwise
  "x-accel-buffering": "no",
};

/** A client that reads events. Headers go out with the first of them: until then the status can still be another. */
export class StreamReceiver implements Receiver {
  readonly #response: ServerResponse;
  readonly #wire: ClientWire;
  readonly #onFirst: () => void;
  /** Where chunks are written, once it is known that they may be framed here. */
  #socket: Socket | undefined;
  readonly streams = true;
  hasSent = false;

  constructor(response: ServerResponse, wire: ClientWire, onFirst: () => void) {
    this.#response = response;
    this.#wire = wire;
    this.#onFirst = onFirst;
  }

  send(outputs: readonly Output[], bytes: Uint8Array | undefined): boolean {
    this.#begin();
    if (bytes !== undefined) return this.#response.write(bytes);
    let text = "";
    for (const output of outputs) text += this.#wire.encode(output);
    return text === "" || this.#write(text);
  }

  keepAlive(): void {
    this.#begin();
    if (this.#wire.keepAlive !== "") this.#write(this.#wire.keepAlive);
  }

  clear(): void {}

  end(outputs: readonly Output[], bytes: Uint8Array | undefined): void {
    this.send(outputs, bytes);
    this.#response.end();
  }

  whenReady(go: () => void): void {
    (this.#socket ?? this.#response).once("drain", go);
  }

  /**
   * One write to the socket, with the frame of a chunk around it: `response.write` makes three parts of it and a
   * gathered write. Paced, a translated chunk cost 1.31 times a byte pipe's with it and 1.40 without (bench:gateway
   * --only paced, one run of each); bytes that go on as they came gained nothing.
   */
  #write(text: string): boolean {
    if (this.#socket === undefined || text.length > longestFramed)
      return this.#response.write(text);
    return this.#socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }

  #begin(): void {
    if (this.hasSent) return;
    this.hasSent = true;
    this.#onFirst();
    this.#response.writeHead(200, streamHeaders);
    // Not in answer to HTTP/1.0, and not behind the answer to an earlier request on the same connection.
    if (!this.#response.chunkedEncoding || this.#response.socket === null) return;
    this.#response.flushHeaders();
    this.#socket = this.#response.socket;
  }
}

/** A client that wants its reply in one piece: it is put together from the events as they come. */
export class WholeReceiver implements Receiver {
  readonly #wire: ClientWire;
  readonly #maxValues: number;
  #collector: ReplyCollector;
  readonly streams = false;
  readonly hasSent = false;

  constructor(wire: ClientWire, maxValues: number) {
    this.#wire = wire;
    this.#maxValues = maxValues;
    this.#collector = wire.collector(maxValues);
  }

  send(outputs: readonly Output[]): boolean {
    for (const output of outputs) this.#collector.push(output);
    return true;
  }

  keepAlive(): void {}

  end(outputs: readonly Output[]): void {
    this.send(outputs);
  }

  whenReady(go: () => void): void {
    go();
  }

  clear(): void {
    this.#collector = this.#wire.collector(this.#maxValues);
  }

  whole(): JsonObject | undefined {
    return this.#collector.reply;
  }
}
