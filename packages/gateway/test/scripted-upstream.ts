import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@deltawire/wire";

/** A request as the upstream received it. */
export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Parsed if it is JSON. */
  body: JsonObject;
  bytes: Buffer;
  /** Resolves when the connection of this request has closed. */
  closed: Promise<void>;
}

export interface ScriptedUpstream {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  requests: ReceivedRequest[];
  /** Number of requests so far, and of those that are still open. */
  startedCount(): number;
  openCount(): number;
  close(): Promise<void>;
}

export type UpstreamScript = (
  request: ReceivedRequest,
  response: ServerResponse,
) => void | Promise<void>;

/** The gateway lists the models on its own, which the script does not see. */
const noModels = (response: ServerResponse): void =>
  void response.end('{"object":"list","data":[]}');

export interface ScriptedUpstreamOptions {
  /** The reply to a request for the models. */
  listModels?: (response: ServerResponse) => void;
  /** No body is read before this resolves. */
  readAfter?: Promise<void>;
}

/** A server on loopback that follows a script. */
export async function scriptedUpstream(
  script: UpstreamScript,
  { listModels = noModels, readAfter }: ScriptedUpstreamOptions = {},
): Promise<ScriptedUpstream> {
  const requests: ReceivedRequest[] = [];
  let [begun, open] = [0, 0];
  const server = createServer((request, response) => {
    if (request.method === "GET") return listModels(response);
    begun += 1;
    open += 1;
    response.on("close", () => (open -= 1));
    const ignore = (): undefined => undefined;
    void receive(request, response, readAfter).then((received) => {
      requests.push(received);
      return script(received, response);
    }, ignore);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    startedCount: () => begun,
    openCount: () => open,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  readAfter: Promise<void> | undefined,
): Promise<ReceivedRequest> {
  const closed = new Promise<void>((resolve) => response.on("close", resolve));
  await readAfter;
  const chunks: Buffer[] = [];
  for await (const piece of request) chunks.push(piece as Buffer);
  const bytes = Buffer.concat(chunks);
  const isJson = bytes.subarray(0, 1).toString() === "{";
  const body = (isJson ? JSON.parse(bytes.toString("utf8")) : {}) as JsonObject;
  const { method = "", url = "", headers } = request;
  return { method, path: url, headers, body, bytes, closed };
}

/** Starts a stream of events. */
export function beginStream(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
}

export function formatEvent(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** A chunk of a Chat stream. */
export function chatChunk(delta: JsonObject, finish: string | null = null): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "some-model",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

/** Sends a complete Chat stream with this text. */
export function streamText(response: ServerResponse, ...words: string[]): void {
  beginStream(response);
  for (const word of words) response.write(formatEvent(chatChunk({ content: word })));
  response.write(formatEvent(chatChunk({}, "stop")));
  const usage = {
    prompt_tokens: 10,
    completion_tokens: words.length,
    total_tokens: 10 + words.length,
  };
  response.write(formatEvent({ ...chatChunk({}), choices: [], usage }));
  response.end(formatEvent("[DONE]"));
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
