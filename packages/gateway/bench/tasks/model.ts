import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/*
 * The model of the benchmark, in a separate process that speaks Chat and sends as fast as possible. `talk-5-1000` sends
 * reasoning and text in 1,000 deltas per round and calls `current_time` in each of five rounds except the last; `ask` calls
 * `run_command`, which waits for an approval. Sends its port to its parent.
 */

interface ChatRequest {
  model: string;
  messages: { role: string }[];
}

const replies = new Map<string, Buffer>();

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method === "GET") {
    response.writeHead(200).end('{"data":[]}');
    return;
  }
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { model, messages } = JSON.parse(Buffer.concat(parts).toString()) as ChatRequest;
    const answered = messages.filter(({ role }) => role === "tool").length;
    void send(response, getReply(model, answered));
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
process.on("disconnect", () => process.exit());

function getReply(model: string, answered: number): Buffer {
  const [kind = "", rounds = "1", deltas = "0"] = model.split("-");
  const ends = answered + 1 >= Number(rounds) && kind === "talk";
  const name = `${model} ${ends}`;
  const reply = replies.get(name) ?? Buffer.from(formatReply(kind, Number(deltas), ends));
  replies.set(name, reply);
  return reply;
}

function formatReply(kind: string, deltas: number, ends: boolean): string {
  const call = kind === "ask" ? ["run_command", '{"command":"make all"}'] : ["current_time", "{}"];
  const [name = "", given = ""] = call;
  const thoughts = Math.floor(deltas / 4);
  const opening = { index: 0, id: "call_1", type: "function", function: { name, arguments: "" } };
  const chunks: object[] = [{ role: "assistant", content: "" }];
  for (let nth = 0; nth < deltas; nth += 1)
    chunks.push(nth < thoughts ? { reasoning_content: getWord(nth) } : { content: getWord(nth) });
  if (!ends)
    chunks.push(
      { tool_calls: [opening] },
      { tool_calls: [{ index: 0, function: { arguments: given } }] },
    );
  const usage = { prompt_tokens: 900, completion_tokens: deltas, total_tokens: deltas + 900 };
  return [
    ...chunks.map((delta) => formatFrame([{ index: 0, delta, finish_reason: null }])),
    formatFrame([{ index: 0, delta: {}, finish_reason: ends ? "stop" : "tool_calls" }]),
    formatFrame([], usage),
    "data: [DONE]\n\n",
  ].join("");
}

function formatFrame(choices: object[], usage: object | null = null): string {
  return `data: ${JSON.stringify({ ...envelope, choices, usage })}\n\n`;
}

const envelope = {
  id: "chatcmpl-C7mQxW2k4Tz9LrVb1nDpYs8HfGaEj",
  object: "chat.completion.chunk",
  created: 1_760_000_000,
  model: "gpt-4.1-mini-2025-04-14",
};

function getWord(nth: number): string {
  return words[nth % words.length] ?? "";
}

const words = [
  ..." The stream of words goes on as a model writes it, one after another, and whoever reads".split(
    /(?= )/,
  ),
  "\n\n",
  ..." it sees each of them as soon as it is there. Some is `code` and some is a list:\n- one".split(
    /(?= )/,
  ),
  "流式传输",
  ' "name"',
  " é",
];

/** Sends in pieces, with backpressure. */
async function send(response: ServerResponse, reply: Buffer): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  for (let index = 0; index < reply.length && !response.destroyed; index += pieceSize) {
    if (response.write(reply.subarray(index, index + pieceSize))) continue;
    await new Promise<void>((resolve) => {
      response.once("drain", resolve);
      response.once("close", resolve);
    });
  }
  response.end();
}

const pieceSize = 64 * 1024;
