import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { floorPage } from "./floor.ts";
import { textOf, type Kind } from "./texts.ts";

/*
 * The model of the bench, a process of its own that speaks Chat: `mixed-100-6000` is 100 KB of Markdown in 6 s, at an even
 * pace. It tells its parent the port it listens on, and then when a reply begins and when it has ended. The floor is a
 * page of its own that draws the same bytes: `/floor?model=NAME`.
 */

export type FromModel = { port: number } | { reply: number; has: "begun" | "ended" };

/** A model's name is all that it knows. */
export interface Speech {
  kind: Kind;
  kilobytes: number;
  ms: number;
}

export function modelOf({ kind, kilobytes, ms }: Speech): string {
  return `${kind}-${kilobytes}-${ms}`;
}

if (import.meta.main) {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://bench");
    if (pathname === "/floor")
      response
        .writeHead(200, { "content-type": "text/html; charset=utf-8" })
        .end(floorPage(searchParams.get("model") ?? "", searchParams.has("pieces")));
    else if (request.method === "GET")
      response.writeHead(200).end('{"data":[{"id":"talk-1-100"}]}');
    else readBody(request, (body) => void answer(JSON.parse(body) as ChatRequest, response));
  });
  server.listen({ port: 0, host: "127.0.0.1" }, () =>
    tell({ port: (server.address() as AddressInfo).port }),
  );
  process.on("disconnect", () => process.exit());
}

interface ChatRequest {
  model: string;
  messages: { role: string }[];
}

function tell(message: FromModel): void {
  process.send?.(message);
}

function readBody(request: IncomingMessage, then: (body: string) => void): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => then(Buffer.concat(parts).toString()));
}

/** As many letters as a token has. */
const tokenLength = 5;
/** A long text comes in larger pieces, as servers send it that have many words at once. */
const mostPieces = 3000;

let replies = 0;

async function answer({ model, messages }: ChatRequest, response: ServerResponse): Promise<void> {
  const [kind = "", kilobytes = "", ms = ""] = model.split("-");
  const hasCalled = messages.at(-1)?.role === "tool";
  const chunks = hasCalled ? [{ content: "Done." }] : deltas(kind as Kind, Number(kilobytes));
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.write(frame({ role: "assistant", content: "" }));
  const reply = (replies += 1);
  tell({ reply, has: "begun" });
  await paced(chunks, Number(ms), (delta) => response.write(frame(delta)));
  const reason = kind === "arguments" && !hasCalled ? "tool_calls" : "stop";
  response.end(`${frame({}, reason)}data: [DONE]\n\n`);
  tell({ reply, has: "ended" });
}

function deltas(kind: Kind, kilobytes: number): object[] {
  const texts = piecesOf(textOf(kind, kilobytes));
  if (kind === "reasoning")
    return [...texts.map((text) => ({ reasoning_content: text })), { content: "That was all." }];
  if (kind !== "arguments") return texts.map((text) => ({ content: text }));
  const opening = { name: "write_file", arguments: "" };
  return [
    { tool_calls: [{ index: 0, id: "call_1", type: "function", function: opening }] },
    ...texts.map((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
  ];
}

function piecesOf(text: string): string[] {
  const size = Math.max(tokenLength, Math.ceil(text.length / mostPieces));
  const count = Math.ceil(text.length / size);
  return Array.from({ length: count }, (_, nth) => text.slice(nth * size, (nth + 1) * size));
}

/** What is due is sent, each on its own: timers are late, and the pace is kept all the same. */
function paced(
  chunks: readonly object[],
  ms: number,
  send: (chunk: object) => void,
): Promise<void> {
  const begun = performance.now();
  let sent = 0;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const due = Math.ceil(((performance.now() - begun) / ms) * chunks.length);
      for (const chunk of chunks.slice(sent, due)) send(chunk);
      sent = Math.max(sent, due);
      if (sent < chunks.length) return;
      clearInterval(timer);
      resolve();
    }, 2);
  });
}

function frame(delta: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ ...envelope, choices })}\n\n`;
}

const envelope = {
  id: "chatcmpl-C7mQxW2k4Tz9LrVb1nDpYs8HfGaEj",
  object: "chat.completion.chunk",
  created: 1_760_000_000,
  model: "bench",
};
