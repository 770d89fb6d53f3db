import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@deltawire/wire";
import { wirePaths, wires, type Wire } from "../wires.ts";

/** Handles a request by writing any bytes, at any pace. */
export type ReplyScript = (reply: UpstreamReply) => void | Promise<void>;

/** A way in which an upstream may reply. */
export interface UpstreamMode {
  name: string;
  play: ReplyScript;
  /** The APIs in which it makes a difference; default: all. */
  wires?: readonly Wire[];
  /** The kinds of replies in which it makes a difference; default: both. */
  forms?: readonly ("streamed" | "complete")[];
  /** Number of different replies to successive requests, by `variant`; default 1. */
  variants?: number;
  /** The client disconnects after this time, for replies that legitimately never end. */
  leaveAfterMs?: number;
  /** True if it keeps the gateway busy, so that nothing else runs at the same time. */
  alone?: boolean;
}

/** The request and the connection for its reply. */
export class UpstreamReply {
  readonly #socket: Socket;
  readonly wire: Wire;
  readonly stream: boolean;
  readonly variant: number;
  /** As in the request. */
  readonly key: string;
  readonly body: JsonObject;

  constructor(socket: Socket, { path, headers, body }: HttpRequest) {
    this.#socket = socket;
    this.wire = wires.find((wire) => path.endsWith(wirePaths[wire])) ?? "chat";
    this.body = body;
    this.stream = body["stream"] === true;
    this.variant = Number(/^v(\d+)$/.exec(body["model"] as string)?.[1] ?? 0);
    this.key = /^(?:authorization: Bearer|x-api-key:) (\S+)/im.exec(headers)?.[1] ?? "";
  }

  get isClosed(): boolean {
    return this.#socket.destroyed || !this.#socket.writable;
  }

  /** Resolves when the bytes were sent or the connection has closed. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.isClosed || this.#socket.write(bytes)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#socket.off("drain", done);
        this.#socket.off("close", done);
        resolve();
      };
      this.#socket.on("drain", done);
      this.#socket.on("close", done);
    });
  }

  /** Writes the status line and headers. The connection closes at the end unless a header prevents it. */
  async head(
    status: number | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const lines = Object.entries({ connection: "close", ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const line = typeof status === "number" ? `HTTP/1.1 ${status} Status` : status;
    await this.write(`${line}\r\n${lines.join("")}\r\n`);
  }

  /** Writes a stream of events, unchanged. */
  async events(chunks: Iterable<string | Uint8Array>): Promise<void> {
    await this.head(200, { "content-type": "text/event-stream" });
    for (const chunk of chunks) {
      if (this.isClosed) break;
      await this.write(chunk);
    }
    this.end();
  }

  async json(text: string | Uint8Array, status = 200): Promise<void> {
    const length = String(Buffer.byteLength(text));
    await this.head(status, { "content-type": "application/json", "content-length": length });
    await this.write(text);
    this.end();
  }

  end(): void {
    this.#socket.end();
  }

  /** Closes with RST. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Waits, at most until the connection closes. */
  async pause(ms: number): Promise<void> {
    const closeController = new AbortController();
    const stop = (): void => closeController.abort();
    this.#socket.once("close", stop);
    await sleep(ms, undefined, { signal: closeController.signal }).catch(() => undefined);
    this.#socket.off("close", stop);
  }

  /** Writes nothing more until the other side closes, or for a minute. */
  async silence(): Promise<void> {
    await this.pause(60_000);
    this.end();
  }
}

interface HttpRequest {
  path: string;
  headers: string;
  body: JsonObject;
}

export interface HostileUpstream {
  /** `http://127.0.0.1:PORT` */
  url: string;
  close(): Promise<void>;
}

/** Starts a server that handles each request with the script that `choose` returns for its path and body. */
export async function startHostileUpstream(
  choose: (path: string, body: JsonObject) => ReplyScript,
): Promise<HostileUpstream> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    serve(socket, choose);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function serve(socket: Socket, choose: (path: string, body: JsonObject) => ReplyScript): void {
  let chunks: Buffer[] = [];
  let size = 0;
  let neededLength = 0;
  let latestReply: Promise<void> | undefined;
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    // A long body is joined once, not for every chunk.
    if (size < neededLength && !chunk.subarray(-lastChunk.length).equals(lastChunk)) return;
    const bytes = Buffer.concat(chunks);
    chunks = [bytes];
    neededLength = getRequestLength(bytes);
    const request = readRequest(bytes);
    if (request === undefined) return;
    chunks = [bytes.subarray(request.length)];
    size = bytes.length - request.length;
    neededLength = 0;
    const reply = new UpstreamReply(socket, request);
    const play = choose(request.path, request.body);
    latestReply = (latestReply ?? Promise.resolve())
      .then(() => play(reply))
      // A mode that fails must not end the harness.
      .catch(() => void socket.destroy());
  });
}

const lastChunk = Buffer.from("0\r\n\r\n");

/** Returns the length of a request by its headers; Infinity if it is chunked. */
function getRequestLength(bytes: Buffer): number {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return 0;
  const headers = bytes.subarray(0, end).toString("latin1");
  if (/^transfer-encoding: chunked/im.test(headers)) return Number.POSITIVE_INFINITY;
  return end + 4 + Number(/^content-length: (\d+)/im.exec(headers)?.[1] ?? 0);
}

function readRequest(bytes: Buffer): (HttpRequest & { length: number }) | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const headers = bytes.subarray(0, end).toString("latin1");
  const path = /^\S+ (\S+)/.exec(headers)?.[1] ?? "/";
  const contentLength = Number(/^content-length: (\d+)/im.exec(headers)?.[1] ?? 0);
  const isChunked = /^transfer-encoding: chunked/im.test(headers);
  let body = bytes.subarray(end + 4, end + 4 + contentLength);
  let length = end + 4 + contentLength;
  if (isChunked) {
    const last = bytes.indexOf("0\r\n\r\n", end + 4);
    if (last === -1) return undefined;
    body = bytes.subarray(end + 4, last);
    length = last + 5;
  } else if (body.length < contentLength) return undefined;
  return { path, headers, body: parseBody(body.toString("utf8")), length };
}

function parseBody(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return {};
  }
}
