import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as zlib from "node:zlib";
import {
  crash,
  mcpModes,
  silence,
  createCorrectReply,
  type McpMode,
  type McpRequest,
} from "./modes.ts";

/** What an HTTP server may do wrong apart from its messages, by the name of the mode. */
const httpAnswers: Record<string, (response: ServerResponse, request: McpRequest) => void> = {
  "over HTTP: a body without end": (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const chunk = " ".repeat(64 * 1024);
    const writeMore = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once("drain", () => setImmediate(writeMore));
    };
    writeMore();
  },
  "over HTTP: a body of 300 MB": (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"x":"');
    let remaining = 300;
    const chunk = "x".repeat(1024 * 1024);
    const writeMore = (): void => {
      while (remaining > 0 && !response.destroyed) {
        remaining -= 1;
        if (!response.write(chunk)) break;
      }
      if (remaining > 0 && !response.destroyed) response.once("drain", writeMore);
      else response.end('"}');
    };
    writeMore();
  },
  "over HTTP: a stream of events without end": (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const timer = setInterval(
      () =>
        response.write(
          `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${"x".repeat(1000)}"}}\n\n`.repeat(
            50,
          ),
        ),
      5,
    );
    response.on("close", () => clearInterval(timer));
  },
  "over HTTP: an event that never ends": (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: ");
    const chunk = "x".repeat(256 * 1024);
    const timer = setInterval(() => response.write(chunk), 2);
    response.on("close", () => clearInterval(timer));
  },
  "over HTTP: a bomb in gzip": (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.end(zlib.gzipSync(Buffer.alloc(200 * 1024 * 1024, 32)));
  },
  "over HTTP: status 500 with a page": (response) =>
    void response.writeHead(500, { "content-type": "text/html" }).end("<h1>x</h1>".repeat(100_000)),
  "over HTTP: status 401 with a challenge": (response) =>
    void response
      .writeHead(401, { "www-authenticate": 'Bearer resource_metadata="http://127.0.0.1:1/"' })
      .end(),
  "over HTTP: status 404": (response) => void response.writeHead(404).end(),
  "over HTTP: a redirect to itself": (response) =>
    void response.writeHead(307, { location: "" }).end(),
  "over HTTP: a page instead of JSON": (response) =>
    void response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
  "over HTTP: no content type": (response) => void response.writeHead(200).end("{}"),
  "over HTTP: a connection that closes": (response) => void response.destroy(),
  "over HTTP: a connection that closes in the body": (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"jsonrpc"', () => response.destroy());
  },
  "over HTTP: 202 instead of an answer": (response) => void response.writeHead(202).end(),
};

/** Modes for HTTP only, which apply to the tool call. */
export const httpModes: readonly McpMode[] = Object.keys(httpAnswers).map((name) => ({
  name,
  answer: () => undefined,
}));

/** Serves the mode whose number is in the path. */
export async function startHttpMcpServer(
  modes: readonly McpMode[],
): Promise<{ url(index: number): string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    if (request.method !== "POST") response.writeHead(405).end();
    const mode = modes[Number(/^\/(\d+)/.exec(request.url ?? "")?.[1])];
    let text = "";
    request.on("error", () => undefined);
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      if (mode !== undefined && text !== "")
        sendReply(mode, JSON.parse(text) as McpRequest, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: (index) => `http://127.0.0.1:${port}/${index}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function sendReply(mode: McpMode, request: McpRequest, response: ServerResponse): void {
  const httpAnswer = httpAnswers[mode.name];
  if (httpAnswer !== undefined && request.method === "tools/call")
    return httpAnswer(response, request);
  const reply = mode.answer(request);
  if (reply === silence) return;
  if (reply === crash) return void response.destroy();
  if (reply === undefined) {
    const correctReply = createCorrectReply(request);
    response.writeHead(correctReply === undefined ? 202 : 200, {
      "content-type": "application/json",
    });
    return void response.end(correctReply);
  }
  if (typeof reply === "string") {
    response.writeHead(200, { "content-type": "application/json" });
    return void response.end(reply);
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(reply.map((message) => `data: ${message}\n\n`).join(""));
}

/* As a program, this file is the server of the mode with the given number, on standard input and output. */
if (import.meta.main) {
  const mode = mcpModes[Number(process.argv[2])];
  let incompleteLine = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk: string) => {
    const lines = (incompleteLine + chunk).split("\n");
    incompleteLine = lines.pop() ?? "";
    for (const line of lines)
      if (line.trim() !== "") answerLine(mode, JSON.parse(line) as McpRequest);
  });
  process.stdin.on("end", () => process.exit(0));
}

function answerLine(mode: McpMode | undefined, request: McpRequest): void {
  const reply = mode?.answer(request) ?? createCorrectReply(request);
  if (reply === undefined || reply === silence) return;
  if (reply === crash) process.exit(3);
  const lines = typeof reply === "string" ? [reply] : reply;
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}
