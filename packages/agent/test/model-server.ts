import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@deltawire/wire";

/** A request that the server received. */
export interface ReceivedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: JsonObject;
  /** Resolves when its connection has closed. */
  closed: Promise<void>;
}

export interface ModelServer {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  requests: ReceivedRequest[];
  /** Number of connections so far. */
  connections: () => number;
  close: () => Promise<void>;
}

/** A server on the loopback interface whose handler the test provides. */
export async function modelServer(
  script: (received: ReceivedRequest, response: ServerResponse) => void | Promise<void>,
): Promise<ModelServer> {
  const requests: ReceivedRequest[] = [];
  let connections = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const closed = new Promise<void>((resolve) => response.on("close", resolve));
    let text = "";
    for await (const piece of request) text += String(piece);
    const { url: path = "", headers } = request;
    const one = { path, headers, body: JSON.parse(text) as JsonObject, closed };
    requests.push(one);
    await script(one, response);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.on("connection", () => (connections += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    connections: () => connections,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}

export function event(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** A chunk of a Chat stream. */
export function chunk(delta: JsonObject, finish: string | null = null): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "some-model",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

export function sendError(
  response: ServerResponse,
  status: number,
  error: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ error }));
}

/** Sends a text in chunks of a few bytes, each in a separate packet if the network permits. */
export async function writeInChunks(
  response: ServerResponse,
  text: string,
  size: number,
): Promise<void> {
  const bytes = Buffer.from(text);
  for (let index = 0; index < bytes.length; index += size) {
    response.write(bytes.subarray(index, index + size));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
