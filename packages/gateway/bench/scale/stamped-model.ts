import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/*
 * The model of the benchmark, in a separate process that speaks Chat. `stream-50-300` sends 300 deltas, 50 a second, and each contains
 * the time at which it is sent. `stream-0-2000` sends them as fast as possible. Sends its port to its parent.
 */

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method === "GET") {
    response.writeHead(200).end('{"data":[]}');
    return;
  }
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { model } = JSON.parse(Buffer.concat(parts).toString()) as { model: string };
    const [, rate = "0", count = "1"] = model.split("-");
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    if (rate === "0") void sendAtOnce(response, Number(count));
    else sendPaced(response, Number(count), 1000 / Number(rate));
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
process.on("disconnect", () => process.exit());

function sendPaced(response: ServerResponse, count: number, intervalMs: number): void {
  const startedAt = performance.now();
  let sent = 0;
  // Late timers are compensated, so that a busy machine does not slow the stream down.
  const timer = setInterval(() => {
    const due = Math.min(count, Math.floor((performance.now() - startedAt) / intervalMs));
    while (sent < due && !response.destroyed) {
      response.write(formatDelta());
      sent += 1;
    }
    if (sent < count && !response.destroyed) return;
    clearInterval(timer);
    response.end(end);
  }, intervalMs);
}

async function sendAtOnce(response: ServerResponse, count: number): Promise<void> {
  for (let sent = 0; sent < count && !response.destroyed; sent += pieceSize) {
    const size = Math.min(pieceSize, count - sent);
    const piece = Array.from({ length: size }, formatDelta).join("");
    if (response.write(piece)) continue;
    await new Promise<void>((resolve) => {
      response.once("drain", resolve);
      response.once("close", resolve);
    });
  }
  response.end(end);
}

const pieceSize = 100;

/** `@` and the time in milliseconds, with the precision of the clock that all processes share. */
function formatDelta(): string {
  const content = `@${(performance.timeOrigin + performance.now()).toFixed(2)} `;
  return formatFrame([{ index: 0, delta: { content }, finish_reason: null }]);
}

function formatFrame(choices: object[], usage: object | null = null): string {
  return `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_760_000_000, model: "stream", choices, usage })}\n\n`;
}

const usage = { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 };
const end = `${formatFrame([{ index: 0, delta: {}, finish_reason: "stop" }])}${formatFrame([], usage)}data: [DONE]\n\n`;
