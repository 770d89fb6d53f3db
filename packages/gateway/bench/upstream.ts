import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { putStamp, createSharedClock } from "./deltas.ts";
import {
  formatModelName,
  prepareStream,
  parseModelName,
  wirePaths,
  type PreparedStream,
  type StreamShape,
  type Wire,
} from "./streams.ts";

/*
 * The model server of the benchmark, in a separate process. Supports every wire and sends the stream that the model name
 * describes. Sends its port to its parent. "finish" makes it send the rest of every open stream immediately.
 */

const wires = new Map(Object.entries(wirePaths).map(([wire, path]) => [path, wire as Wire]));
const models = ["text", "tools"].map((kind) => ({ id: `bench-${kind}-100-0`, object: "model" }));

interface OpenStream {
  response: ServerResponse;
  socket: Socket;
  prepared: PreparedStream;
  pace: number;
  sent: number;
  /** When each chunk was sent. */
  stamps: number[];
  /** The millisecond at which the next chunk is due. */
  due: number;
  state: "sending" | "blocked" | "ended";
}

const clock = createSharedClock();
const prepared = new Map<string, PreparedStream>();
const open = new Set<OpenStream>();

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const wire = wires.get(request.url ?? "");
  if (request.method === "GET") return sendJson(response, 200, { object: "list", data: models });
  if (wire === undefined) return sendJson(response, 404, { error: { message: "no such path" } });
  readBody(request, (body) => {
    const model = String((JSON.parse(body) as { model?: unknown }).model);
    const shape = parseModelName(model);
    if (shape === undefined)
      return sendJson(response, 404, { error: { message: `no model ${model}` } });
    startStream(response, preparedStream(wire, shape), shape.pace);
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
process.on("message", (message) => {
  if (message === "finish") for (const stream of open) finish(stream);
});
process.on("disconnect", () => process.exit());

function readBody(request: IncomingMessage, then: (body: string) => void): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => then(Buffer.concat(parts).toString()));
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function preparedStream(wire: Wire, shape: StreamShape): PreparedStream {
  const name = `${wire} ${formatModelName(shape)}`;
  const found = prepared.get(name) ?? prepareStream(wire, shape);
  prepared.set(name, found);
  return found;
}

function startStream(response: ServerResponse, prepared: PreparedStream, pace: number): void {
  const { socket } = response;
  if (socket === null) return;
  const stream: OpenStream = {
    response,
    socket,
    prepared,
    pace,
    sent: 0,
    stamps: [],
    due: Math.floor(performance.now()) + pace,
    state: "sending",
  };
  open.add(stream);
  response.on("close", () => {
    stream.state = "ended";
    open.delete(stream);
  });
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "transfer-encoding": "chunked",
  });
  // The chunks are already encoded and written directly to the socket: node:http would write each in three parts.
  socket.cork();
  response.flushHeaders();
  socket.write(prepared.opening);
  socket.uncork();
  plan(stream);
}

/** Writes one chunk. Returns false if the socket buffer is full. */
function sendChunk(stream: OpenStream): boolean {
  const chunk = stream.prepared.chunks[stream.sent];
  if (chunk === undefined) return true;
  const bytes = Buffer.allocUnsafe(chunk.bytes.length);
  bytes.set(chunk.bytes);
  const stamp = clock();
  putStamp(bytes, chunk.stampAt, stamp);
  stream.stamps.push(stamp);
  stream.sent += 1;
  return stream.socket.write(bytes);
}

/** After a chunk: ends the stream, or schedules the next chunk once the socket is writable. */
function proceed(stream: OpenStream, writable: boolean): void {
  if (stream.sent === stream.prepared.chunks.length) return end(stream);
  if (writable) return plan(stream);
  stream.state = "blocked";
  stream.socket.once("drain", () => {
    if (stream.state !== "blocked") return;
    stream.state = "sending";
    plan(stream);
  });
}

function finish(stream: OpenStream): void {
  if (stream.state === "ended") return;
  while (stream.sent < stream.prepared.chunks.length) sendChunk(stream);
  end(stream);
}

function end(stream: OpenStream): void {
  stream.state = "ended";
  open.delete(stream);
  stream.socket.write(stream.prepared.closing(stream.stamps));
  stream.response.end();
}

function plan(stream: OpenStream): void {
  if (stream.pace === 0) planNow(stream);
  else planAt(stream, stream.due);
}

/** Without pace: one chunk of each stream per turn of the event loop. */
let flatOut: OpenStream[] = [];
let turning = false;

function planNow(stream: OpenStream): void {
  flatOut.push(stream);
  if (turning) return;
  turning = true;
  setImmediate(turn);
}

function turn(): void {
  const streams = flatOut;
  flatOut = [];
  for (const stream of streams) if (stream.state === "sending") proceed(stream, sendChunk(stream));
  turning = flatOut.length > 0;
  if (turning) setImmediate(turn);
}

/** With pace: a timer wheel with a slot for each millisecond. */
const slots: OpenStream[][] = Array.from({ length: 16_384 }, () => []);
let turnedTo = 0;
let planned = 0;
let wheel: NodeJS.Timeout | undefined;

function planAt(stream: OpenStream, millisecond: number): void {
  if (planned === 0) turnedTo = Math.floor(performance.now());
  const index = Math.max(millisecond, turnedTo + 1);
  slots[index % slots.length]?.push(stream);
  planned += 1;
  wheel ??= setInterval(turnWheel, 1);
}

function turnWheel(): void {
  const now = Math.floor(performance.now());
  while (turnedTo < now) {
    turnedTo += 1;
    const due = slots[turnedTo % slots.length] ?? [];
    slots[turnedTo % slots.length] = [];
    planned -= due.length;
    for (const stream of due) {
      if (stream.state !== "sending") continue;
      stream.due += stream.pace;
      proceed(stream, sendChunk(stream));
    }
  }
  if (planned > 0) return;
  clearInterval(wheel);
  wheel = undefined;
}
