import { request, type Agent, type ServerResponse } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { upstreamToml } from "../test/test-gateway.ts";
import {
  chatChunk,
  beginStream,
  formatEvent,
  sendError,
  scriptedUpstream,
} from "../test/scripted-upstream.ts";
import { sendReply, sendJson, formatStream, type ScriptedReply } from "../test/wire-replies.ts";

import { wirePaths, wires, type Wire } from "./attack/wires.ts";

/*
 * Streams of every kind that a gateway handles. The model's name selects the upstream's reply.
 */

const reply: ScriptedReply = {
  reasoning: ["Let me ", "think."],
  text: ["One ", "two ", "three."],
  usage: { input: 10, output: 5 },
};
const calls: ScriptedReply = {
  calls: [{ id: "call_123456", name: "look", arguments: ['{"at":', '"it"}'] }],
  usage: { input: 10, output: 5 },
};

interface StreamKind {
  wire: Wire;
  upstream: Wire;
  model: string;
  body?: JsonObject;
  path?: string;
  /** The client disconnects when it has received this text; "": immediately. */
  disconnectsAt?: string;
  /** Text that the reply must contain. */
  expectedText?: string;
  status?: number;
}

const done = "data: [DONE]";
const completed = "response.completed";
const stopped = "event: message_stop";

const kinds: Record<string, StreamKind> = {
  "finished, Responses on Chat": {
    wire: "responses",
    upstream: "chat",
    model: "answers",
    expectedText: completed,
  },
  "finished, Chat on Chat": {
    wire: "chat",
    upstream: "chat",
    model: "answers",
    expectedText: done,
  },
  "finished, Responses on Responses": {
    wire: "responses",
    upstream: "responses",
    model: "answers",
    expectedText: completed,
  },
  "finished, Chat on Responses": {
    wire: "chat",
    upstream: "responses",
    model: "answers",
    expectedText: done,
  },
  "finished, Messages on Chat": {
    wire: "messages",
    upstream: "chat",
    model: "answers",
    expectedText: stopped,
  },
  "finished, Messages on Responses": {
    wire: "messages",
    upstream: "responses",
    model: "answers",
    expectedText: stopped,
  },
  "finished, Messages on Messages": {
    wire: "messages",
    upstream: "messages",
    model: "answers",
    expectedText: stopped,
  },
  "finished, Responses on Messages": {
    wire: "responses",
    upstream: "messages",
    model: "answers",
    expectedText: completed,
  },
  "finished, Chat on Messages": {
    wire: "chat",
    upstream: "messages",
    model: "answers",
    expectedText: done,
  },
  "finished with calls, Messages on Chat": {
    wire: "messages",
    upstream: "chat",
    model: "calls",
    expectedText: stopped,
  },
  "finished with calls, Responses on Messages": {
    wire: "responses",
    upstream: "messages",
    model: "calls",
    expectedText: completed,
  },
  "not streamed, Messages": {
    wire: "messages",
    upstream: "chat",
    model: "answers",
    body: { stream: false },
    expectedText: "end_turn",
  },
  "counted tokens, Messages": {
    wire: "messages",
    upstream: "chat",
    model: "answers",
    path: "/v1/messages/count_tokens",
    expectedText: "input_tokens",
  },
  "client disconnects in mid-stream, Messages on Chat": {
    wire: "messages",
    upstream: "chat",
    model: "hangs",
    disconnectsAt: "Hi",
  },
  "client disconnects in mid-stream, Messages on Messages": {
    wire: "messages",
    upstream: "messages",
    model: "hangs",
    disconnectsAt: "Hi",
  },
  "client disconnects in mid-stream, Chat on Messages": {
    wire: "chat",
    upstream: "messages",
    model: "hangs",
    disconnectsAt: "Hi",
  },
  "truncated by the upstream, Messages": {
    wire: "messages",
    upstream: "chat",
    model: "truncates",
    expectedText: "event: error",
  },
  "rejected by the upstream, Messages": {
    wire: "messages",
    upstream: "messages",
    model: "rejects",
    status: 422,
  },
  "finished with calls": {
    wire: "responses",
    upstream: "chat",
    model: "calls",
    expectedText: completed,
  },
  "three choices, Chat on Responses": {
    wire: "chat",
    upstream: "responses",
    model: "answers",
    body: { n: 3 },
    expectedText: done,
  },
  "not streamed, Responses": {
    wire: "responses",
    upstream: "chat",
    model: "answers",
    body: { stream: false },
    expectedText: "completed",
  },
  "not streamed, Chat": {
    wire: "chat",
    upstream: "responses",
    model: "answers",
    body: { stream: false },
    expectedText: "stop",
  },
  "client disconnects in mid-stream, Responses": {
    wire: "responses",
    upstream: "chat",
    model: "hangs",
    disconnectsAt: "Hi",
  },
  "client disconnects in mid-stream, Chat": {
    wire: "chat",
    upstream: "responses",
    model: "hangs",
    disconnectsAt: "Hi",
  },
  "client disconnects before the first token": {
    wire: "responses",
    upstream: "chat",
    model: "silent",
    disconnectsAt: "",
  },
  "client disconnects while waiting for a complete reply": {
    wire: "chat",
    upstream: "chat",
    model: "silent",
    body: { stream: false },
    disconnectsAt: "",
  },
  "truncated by the upstream": {
    wire: "responses",
    upstream: "chat",
    model: "truncates",
    expectedText: "response.failed",
  },
  "failed in the stream": {
    wire: "chat",
    upstream: "chat",
    model: "fails",
    expectedText: "stalled",
  },
  "rejected by the upstream": {
    wire: "responses",
    upstream: "chat",
    model: "rejects",
    status: 422,
  },
  retried: { wire: "responses", upstream: "chat", model: "busy", expectedText: completed },
  "rejected by the gateway": {
    wire: "chat",
    upstream: "chat",
    model: "answers",
    body: { messages: 7 },
    status: 400,
  },
  embeddings: {
    wire: "chat",
    upstream: "chat",
    model: "answers",
    path: "/v1/embeddings",
    expectedText: "embedding",
  },
};

export const streamKinds: readonly string[] = Object.keys(kinds);

export async function startLeakUpstream(): Promise<{ toml: string; close(): Promise<void> }> {
  const rejectedOnce = new Set<string>();
  const scripts: Record<
    string,
    (speaks: Wire, response: ServerResponse, body: JsonObject) => void
  > = {
    answers: (speaks, response, body) => sendReply(speaks, response, body, reply),
    calls: (speaks, response, body) => sendReply(speaks, response, body, calls),
    silent: () => undefined,
    hangs(speaks, response) {
      beginStream(response);
      response.write(
        formatStream(speaks, { text: ["Hi", "there"] })
          .slice(0, 5)
          .join(""),
      );
    },
    truncates(_speaks, response) {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "Hi" })), () => response.destroy());
    },
    fails(_speaks, response) {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "Hi" })));
      setTimeout(() => response.end(formatEvent({ error: { message: "stalled" } })), 2);
    },
    rejects: (_speaks, response) => sendError(response, 422, { message: "no" }),
    busy(speaks, response, body) {
      const messages = JSON.stringify(body["messages"]);
      if (rejectedOnce.delete(messages)) return sendReply(speaks, response, body, reply);
      rejectedOnce.add(messages);
      sendError(response, 429, { message: "busy" });
    },
  };
  const upstream = await scriptedUpstream(({ path, body }, response) => {
    // Only what the check needs is stored, so that its own requests do not fill the memory.
    upstream.requests.length = 0;
    if (path.endsWith("/embeddings")) return sendJson(response, { data: [{ embedding: [1, 2] }] });
    const speaks = wires.find((wire) => path.endsWith(wirePaths[wire])) ?? "chat";
    scripts[body["model"] as string]?.(speaks, response, body);
  });
  const upstreams = wires.map((speaks) => upstreamToml(speaks, upstream.url, { speaks }));
  const toml = `[server]\nport = 0\n${upstreams.join("")}`;
  return { toml, close: () => upstream.close() };
}

/** Runs one stream. Returns what was wrong with it, or undefined. */
export async function runStream(
  url: string,
  name: string,
  number: number,
  agent: Agent,
): Promise<string | undefined> {
  const kind = kinds[name];
  if (kind === undefined) throw new Error(`unknown kind of stream: ${name}`);
  const { wire, disconnectsAt, expectedText, status = 200 } = kind;
  const path = kind.path ?? wirePaths[wire];
  const text = `Hi ${number}`;
  // Responses that a client wants stored are cached up to a limit, which is not a leak.
  const question =
    wire === "responses"
      ? { input: text, store: false }
      : { max_tokens: 100, messages: [{ role: "user", content: text }] };
  const body = { model: `${kind.upstream}/${kind.model}`, stream: true, ...question, ...kind.body };
  return new Promise((resolve) => {
    const clientRequest = request(url + path, { method: "POST", agent }, (response) => {
      let replyText = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        replyText += chunk;
        if (disconnectsAt === undefined || !replyText.includes(disconnectsAt)) return;
        clientRequest.destroy();
        resolve(undefined);
      });
      response.on("error", (error) => resolve(error.message));
      response.on("end", () => {
        if (response.statusCode !== status) resolve(`${response.statusCode}: ${replyText}`);
        else
          resolve(
            expectedText === undefined || replyText.includes(expectedText) ? undefined : replyText,
          );
      });
    });
    clientRequest.on("error", (error) =>
      resolve(disconnectsAt === undefined ? error.message : undefined),
    );
    clientRequest.end(JSON.stringify(body));
    if (disconnectsAt === "") setTimeout(() => clientRequest.destroy(), 10);
  });
}
