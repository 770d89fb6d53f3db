import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@deltawire/wire";

/** A request as the upstream got it. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Parsed where it is JSON. */
  body: JsonObject;
  bytes: Buffer;
  /** Resolves when the connection of this request has closed. */
  closed: Promise<void>;
}

export interface ScriptedUpstream {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  requests: Received[];
  /** How many requests have begun to come, and how many of them are still open. */
  begun(): number;
  open(): number;
  close(): Promise<void>;
}

export type Script = (request: Received, response: ServerResponse) => void | Promise<void>;

/** The gateway asks by itself which models there are; that is no matter of the script. */
const noModels = (response: ServerResponse): void =>
  void response.end('{"object":"list","data":[]}');

export interface UpstreamOptions {
  /** What it says to the question for its models. */
  listModels?: (response: ServerResponse) => void;
  /** No body is read before this. */
  hold?: Promise<void>;
}

/** A server on loopback that does what a test says. */
export async function scriptedUpstream(
  script: Script,
  { listModels = noModels, hold }: UpstreamOptions = {},
): Promise<ScriptedUpstream> {
  const requests: Received[] = [];
  let [begun, open] = [0, 0];
  const server = createServer((request, response) => {
    if (request.method === "GET") return listModels(response);
    begun += 1;
    open += 1;
    response.on("close", () => (open -= 1));
    const gone = (): undefined => undefined;
    void receive(request, response, hold).then((received) => {
      requests.push(received);
      return script(received, response);
    }, gone);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    begun: () => begun,
    open: () => open,
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
  hold: Promise<void> | undefined,
): Promise<Received> {
  const closed = new Promise<void>((resolve) => response.on("close", resolve));
  await hold;
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  const isJson = bytes.subarray(0, 1).toString() === "{";
  const body = (isJson ? JSON.parse(bytes.toString("utf8")) : {}) as JsonObject;
  const { method = "", url = "", headers } = request;
  return { method, path: url, headers, body, bytes, closed };
}

/** Begins a reply in events. */
export function beginStream(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
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

/** A whole Chat stream that says this. */
export function says(response: ServerResponse, ...words: string[]): void {
  beginStream(response);
  for (const word of words) response.write(event(chunk({ content: word })));
  response.write(event(chunk({}, "stop")));
  const usage = {
    prompt_tokens: 10,
    completion_tokens: words.length,
    total_tokens: 10 + words.length,
  };
  response.write(event({ ...chunk({}), choices: [], usage }));
  response.end(event("[DONE]"));
}

export function refuse(
  response: ServerResponse,
  status: number,
  error: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ error }));
}
