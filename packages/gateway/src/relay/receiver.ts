import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { JsonObject, UpstreamFailure } from "@deltawire/wire";
import type { ClientWire, ClientEvent, ReplyCollector } from "./client-wire.ts";

/** Receives a reply: streams it to the client, or collects it. */
export interface ReplyReceiver {
  /** True if the client receives events before the end. */
  readonly isStreaming: boolean;
  /** True once something has been sent, which cannot be retracted. */
  readonly hasSent: boolean;
  /** `bytes`: the upstream's bytes, if they are equivalent to the events. Returns false if the client is slower than the upstream. */
  send(events: readonly ClientEvent[], bytes: Uint8Array | undefined): boolean;
  /** Sends a keep-alive. */
  keepAlive(): void;
  /** Discards the events of a failed attempt that have not been sent. */
  reset(): void;
  /** Sends the last events and ends the reply. `failure`: the failure that they report, if any. */
  end(
    events: readonly ClientEvent[],
    bytes: Uint8Array | undefined,
    failure: UpstreamFailure | undefined,
  ): void;
  /** Calls `resume` once, when a slow client has caught up. */
  whenReady(resume: () => void): void;
}

/** Longer strings are written with `response.write`, because adding a chunk header would copy them. */
const maxFramedLength = 4096;

export const sseHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  // Otherwise nginx buffers the events.
  "x-accel-buffering": "no",
};

/** Streams events to a client. Headers are sent with the first event, so that the status can change until then. */
export class StreamReceiver implements ReplyReceiver {
  readonly #response: ServerResponse;
  readonly #wire: ClientWire;
  readonly #onFirstByte: () => void;
  /** Set if this class writes the chunk headers itself. */
  #socket: Socket | undefined;
  readonly isStreaming = true;
  hasSent = false;

  constructor(response: ServerResponse, wire: ClientWire, onFirstByte: () => void) {
    this.#response = response;
    this.#wire = wire;
    this.#onFirstByte = onFirstByte;
  }

  send(events: readonly ClientEvent[], bytes: Uint8Array | undefined): boolean {
    this.#begin();
    if (bytes !== undefined) return this.#response.write(bytes);
    const text = this.#encode(events);
    return text === "" || this.#write(text);
  }

  keepAlive(): void {
    this.#begin();
    if (this.#wire.keepAlive !== "") this.#write(this.#wire.keepAlive);
  }

  reset(): void {}

  end(events: readonly ClientEvent[], bytes: Uint8Array | undefined): void {
    this.#begin();
    if (bytes !== undefined) this.#response.write(bytes);
    const text = (bytes === undefined ? this.#encode(events) : "") + this.#wire.streamEnd;
    if (text !== "") this.#write(text);
    this.#response.end();
  }

  #encode(events: readonly ClientEvent[]): string {
    let text = "";
    for (const event of events) text += this.#wire.encode(event);
    return text;
  }

  whenReady(resume: () => void): void {
    (this.#socket ?? this.#response).once("drain", resume);
  }

  /**
   * Writes a chunk and its header with one write to the socket; `response.write` makes three parts and a gathered write. So
   * relaying a translated chunk costs 1.31 instead of 1.40 times as much as a byte pipe (bench:gateway --only paced, one run
   * each). Forwarded bytes did not get faster.
   */
  #write(text: string): boolean {
    // The server may have ended the response with an error.
    const isFramed = this.#socket !== undefined && !this.#response.writableEnded;
    if (this.#socket === undefined || !isFramed || text.length > maxFramedLength)
      return this.#response.write(text);
    return this.#socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }

  #begin(): void {
    if (this.hasSent) return;
    this.hasSent = true;
    this.#onFirstByte();
    this.#response.writeHead(200, sseHeaders);
    // Not possible for HTTP/1.0, or while an earlier response on the same connection is unfinished.
    if (!this.#response.chunkedEncoding || this.#response.socket === null) return;
    this.#response.flushHeaders();
    this.#socket = this.#response.socket;
  }
}

/** Collects a complete reply for a client that does not stream. */
export class CompleteReplyReceiver implements ReplyReceiver {
  readonly #wire: ClientWire;
  readonly #maxValues: number;
  #collector: ReplyCollector;
  readonly isStreaming = false;
  readonly hasSent = false;

  constructor(wire: ClientWire, maxValues: number) {
    this.#wire = wire;
    this.#maxValues = maxValues;
    this.#collector = wire.createCollector(maxValues);
  }

  send(events: readonly ClientEvent[]): boolean {
    for (const event of events) this.#collector.push(event);
    return true;
  }

  keepAlive(): void {}

  end(events: readonly ClientEvent[]): void {
    this.send(events);
  }

  whenReady(resume: () => void): void {
    resume();
  }

  reset(): void {
    this.#collector = this.#wire.createCollector(this.#maxValues);
  }

  getReply(): JsonObject | undefined {
    return this.#collector.reply;
  }
}
