import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@deltawire/wire";
import type { Wire } from "../judge-reply.ts";

/** What a mode does with a request: it writes any bytes, at any pace. */
export type Play = (reply: UpstreamReply) => void | Promise<void>;

/** A way in which an upstream may answer. */
export interface UpstreamMode {
  name: string;
  play: Play;
  /** The wires on which it makes a difference; both unless given. */
  wires?: readonly Wire[];
  /** The forms of replies on which it makes a difference; both unless given. */
  forms?: readonly ("streamed" | "complete")[];
  /** How many requests in a row it answers differently, by `variant`; 1 unless given. */
  variants?: number;
  /** The client leaves after this time, for replies that rightly go on as long as they are read. */
  leaveAfterMs?: number;
  /** It keeps the gateway busy: nothing else runs meanwhile. */
  alone?: boolean;
}

/** The request that is to be answered, and the connection to answer it on. */
export class UpstreamReply {
  readonly #socket: Socket;
  readonly wire: Wire;
  readonly stream: boolean;
  readonly variant: number;
  /** As it came in the request. */
  readonly key: string;
  readonly body: JsonObject;

  constructor(socket: Socket, { path, headers, body }: HttpRequest) {
    this.#socket = socket;
    this.wire = path.endsWith("/responses") ? "responses" : "chat";
    this.body = body;
    this.stream = body["stream"] === true;
    this.variant = Number(/^v(\d+)$/.exec(body["model"] as string)?.[1] ?? 0);
    this.key = /^authorization: Bearer (\S+)/im.exec(headers)?.[1] ?? "";
  }

  get isClosed(): boolean {
    return this.#socket.destroyed || !this.#socket.writable;
  }

  /** Resolves when the bytes are on their way, or nobody takes them any more. */
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

  /** Status line and headers; the connection closes at the end unless a header says otherwise. */
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

  /** A reply in events, whose pieces are written as they are. */
  async events(pieces: Iterable<string | Uint8Array>): Promise<void> {
    await this.head(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) {
      if (this.isClosed) break;
      await this.write(piece);
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

  /** Waits, but no longer than anybody listens. */
  async pause(ms: number): Promise<void> {
    const closed = new AbortController();
    const stop = (): void => closed.abort();
    this.#socket.once("close", stop);
    await sleep(ms, undefined, { signal: closed.signal }).catch(() => undefined);
    this.#socket.off("close", stop);
  }

  /** Says nothing more until the other side closes, or a minute is over. */
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

/** Serves each request by what `choose` finds for its path and body. */
export async function hostileUpstream(
  choose: (path: string, body: JsonObject) => Play,
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

function serve(socket: Socket, choose: (path: string, body: JsonObject) => Play): void {
  let pieces: Buffer[] = [];
  let size = 0;
  let needed = 0;
  let playing: Promise<void> | undefined;
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    // A long body is joined once, and not at every piece.
    if (size < needed && !piece.subarray(-lastChunk.length).equals(lastChunk)) return;
    const bytes = Buffer.concat(pieces);
    pieces = [bytes];
    needed = neededBytes(bytes);
    const request = readRequest(bytes);
    if (request === undefined) return;
    pieces = [bytes.subarray(request.length)];
    size = bytes.length - request.length;
    needed = 0;
    const reply = new UpstreamReply(socket, request);
    const play = choose(request.path, request.body);
    playing = (playing ?? Promise.resolve())
      .then(() => play(reply))
      // A mode that fails must not end the harness.
      .catch(() => void socket.destroy());
  });
}

const lastChunk = Buffer.from("0\r\n\r\n");

/** How many bytes a request has by its headers; without end if only its last chunk tells. */
function neededBytes(bytes: Buffer): number {
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
  const announced = Number(/^content-length: (\d+)/im.exec(headers)?.[1] ?? 0);
  const isChunked = /^transfer-encoding: chunked/im.test(headers);
  let body = bytes.subarray(end + 4, end + 4 + announced);
  let length = end + 4 + announced;
  if (isChunked) {
    const last = bytes.indexOf("0\r\n\r\n", end + 4);
    if (last === -1) return undefined;
    body = bytes.subarray(end + 4, last);
    length = last + 5;
  } else if (body.length < announced) return undefined;
  return { path, headers, body: parseBody(body.toString("utf8")), length };
}

function parseBody(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return {};
  }
}
