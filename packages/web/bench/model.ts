import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { renderFloorPage } from "./floor.ts";
import { generateText, type TextKind } from "./generated-text.ts";

/*
 * A scripted Chat Completions server in its own process. The model name is its script: `mixed-100-6000` streams 100 KB of
 * Markdown in 6 s at an even pace. Reports its port to the parent process, and the start and end of each reply. Also
 * serves the page of floor.ts at `/floor?model=NAME`.
 */

export type ModelEvent = { port: number } | { reply: number; state: "started" | "ended" };

/** Encoded in the model name. */
export interface ReplyScript {
  kind: TextKind;
  kilobytes: number;
  ms: number;
}

export function formatModelName({ kind, kilobytes, ms }: ReplyScript): string {
  return `${kind}-${kilobytes}-${ms}`;
}

if (import.meta.main) {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://bench");
    if (pathname === "/floor")
      response
        .writeHead(200, { "content-type": "text/html; charset=utf-8" })
        .end(renderFloorPage(searchParams.get("model") ?? "", searchParams.has("pieces")));
    else if (request.method === "GET")
      response.writeHead(200).end('{"data":[{"id":"prose-1-100"}]}');
    else readBody(request, (body) => void answer(JSON.parse(body) as ChatRequest, response));
  });
  server.listen({ port: 0, host: "127.0.0.1" }, () =>
    sendToParent({ port: (server.address() as AddressInfo).port }),
  );
  process.on("disconnect", () => process.exit());
}

interface ChatRequest {
  model: string;
  messages: { role: string }[];
}

function sendToParent(event: ModelEvent): void {
  process.send?.(event);
}

function readBody(request: IncomingMessage, onBody: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => onBody(Buffer.concat(chunks).toString()));
}

/** Characters per delta. */
const tokenLength = 5;
/** Longer texts have larger deltas, as from servers that batch tokens. */
const maxDeltas = 3000;

let replyCount = 0;

async function answer({ model, messages }: ChatRequest, response: ServerResponse): Promise<void> {
  const [kind = "", kilobytes = "", ms = ""] = model.split("-");
  const isAfterToolCall = messages.at(-1)?.role === "tool";
  const deltas = isAfterToolCall
    ? [{ content: "Done." }]
    : createDeltas(kind as TextKind, Number(kilobytes));
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.write(formatChunk({ role: "assistant", content: "" }));
  const reply = (replyCount += 1);
  sendToParent({ reply, state: "started" });
  await sendPaced(deltas, Number(ms), (delta) => response.write(formatChunk(delta)));
  const reason = kind === "arguments" && !isAfterToolCall ? "tool_calls" : "stop";
  response.end(`${formatChunk({}, reason)}data: [DONE]\n\n`);
  sendToParent({ reply, state: "ended" });
}

function createDeltas(kind: TextKind, kilobytes: number): object[] {
  const texts = splitIntoPieces(generateText(kind, kilobytes));
  if (kind === "reasoning")
    return [...texts.map((text) => ({ reasoning_content: text })), { content: "That was all." }];
  if (kind !== "arguments") return texts.map((text) => ({ content: text }));
  const start = { name: "write_file", arguments: "" };
  return [
    { tool_calls: [{ index: 0, id: "call_1", type: "function", function: start }] },
    ...texts.map((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
  ];
}

function splitIntoPieces(text: string): string[] {
  const size = Math.max(tokenLength, Math.ceil(text.length / maxDeltas));
  const count = Math.ceil(text.length / size);
  return Array.from({ length: count }, (_, index) => text.slice(index * size, (index + 1) * size));
}

/** Sends each delta separately. Catches up when timers are late, to keep the overall pace. */
function sendPaced(
  deltas: readonly object[],
  ms: number,
  send: (delta: object) => void,
): Promise<void> {
  const startedAt = performance.now();
  let sentCount = 0;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const dueCount = Math.ceil(((performance.now() - startedAt) / ms) * deltas.length);
      for (const delta of deltas.slice(sentCount, dueCount)) send(delta);
      sentCount = Math.max(sentCount, dueCount);
      if (sentCount < deltas.length) return;
      clearInterval(timer);
      resolve();
    }, 2);
  });
}

function formatChunk(delta: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ ...envelope, choices })}\n\n`;
}

const envelope = {
  id: "chatcmpl-C7mQxW2k4Tz9LrVb1nDpYs8HfGaEj",
  object: "chat.completion.chunk",
  created: 1_760_000_000,
  model: "bench",
};
