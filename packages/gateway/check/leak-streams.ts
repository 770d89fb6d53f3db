import { request, type Agent, type ServerResponse } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { upstreamToml } from "../test/running-gateway.ts";
import { chunk, beginStream, event, refuse, scriptedUpstream } from "../test/scripted-upstream.ts";
import { answers, sendJson, streamed, type Reply } from "../test/wire-replies.ts";

/*
 * Streams of every kind that a gateway meets. The model's name tells the upstream what to do.
 */

const reply: Reply = {
  reasoning: ["Let me ", "think."],
  text: ["One ", "two ", "three."],
  usage: { input: 10, output: 5 },
};
const calls: Reply = {
  calls: [{ id: "call_123456", name: "look", arguments: ['{"at":', '"it"}'] }],
  usage: { input: 10, output: 5 },
};

interface Kind {
  wire: "responses" | "chat";
  upstream: "chat" | "responses";
  model: string;
  body?: JsonObject;
  path?: string;
  /** The client leaves when this has come; "" is at once. */
  leavesAt?: string;
  /** What has to be in the answer. */
  ends?: string;
  status?: number;
}

const done = "data: [DONE]";
const completed = "response.completed";

const kinds: Record<string, Kind> = {
  "finished, Responses on Chat": {
    wire: "responses",
    upstream: "chat",
    model: "says",
    ends: completed,
  },
  "finished, Chat on Chat": { wire: "chat", upstream: "chat", model: "says", ends: done },
  "finished, Responses on Responses": {
    wire: "responses",
    upstream: "responses",
    model: "says",
    ends: completed,
  },
  "finished, Chat on Responses": { wire: "chat", upstream: "responses", model: "says", ends: done },
  "finished with calls": { wire: "responses", upstream: "chat", model: "calls", ends: completed },
  "three choices, Chat on Responses": {
    wire: "chat",
    upstream: "responses",
    model: "says",
    body: { n: 3 },
    ends: done,
  },
  "whole, Responses": {
    wire: "responses",
    upstream: "chat",
    model: "says",
    body: { stream: false },
    ends: "completed",
  },
  "whole, Chat": {
    wire: "chat",
    upstream: "responses",
    model: "says",
    body: { stream: false },
    ends: "stop",
  },
  "left in mid-stream, Responses": {
    wire: "responses",
    upstream: "chat",
    model: "hangs",
    leavesAt: "Hi",
  },
  "left in mid-stream, Chat": {
    wire: "chat",
    upstream: "responses",
    model: "hangs",
    leavesAt: "Hi",
  },
  "left before the first token": {
    wire: "responses",
    upstream: "chat",
    model: "silent",
    leavesAt: "",
  },
  "left while its whole reply was made": {
    wire: "chat",
    upstream: "chat",
    model: "silent",
    body: { stream: false },
    leavesAt: "",
  },
  "cut by the upstream": {
    wire: "responses",
    upstream: "chat",
    model: "cut",
    ends: "response.failed",
  },
  "failed in the stream": { wire: "chat", upstream: "chat", model: "fails", ends: "stalled" },
  refused: { wire: "responses", upstream: "chat", model: "refused", status: 422 },
  retried: { wire: "responses", upstream: "chat", model: "busy", ends: completed },
  "refused by the gateway": {
    wire: "chat",
    upstream: "chat",
    model: "says",
    body: { messages: 7 },
    status: 400,
  },
  embeddings: {
    wire: "chat",
    upstream: "chat",
    model: "says",
    path: "/v1/embeddings",
    ends: "embedding",
  },
};

export const streamKinds: readonly string[] = Object.keys(kinds);

export async function startLeakUpstream(): Promise<{ toml: string; close(): Promise<void> }> {
  const refused = new Set<string>();
  const play: Record<
    string,
    (speaks: "chat" | "responses", response: ServerResponse, body: JsonObject) => void
  > = {
    says: (speaks, response, body) => answers(speaks, response, body, reply),
    calls: (speaks, response, body) => answers(speaks, response, body, calls),
    silent: () => undefined,
    hangs(speaks, response) {
      beginStream(response);
      response.write(
        streamed(speaks, { text: ["Hi", "there"] })
          .slice(0, 5)
          .join(""),
      );
    },
    cut(_speaks, response) {
      beginStream(response);
      response.write(event(chunk({ content: "Hi" })), () => response.destroy());
    },
    fails(_speaks, response) {
      beginStream(response);
      response.write(event(chunk({ content: "Hi" })));
      setTimeout(() => response.end(event({ error: { message: "stalled" } })), 2);
    },
    refused: (_speaks, response) => refuse(response, 422, { message: "no" }),
    busy(speaks, response, body) {
      const asked = JSON.stringify(body["messages"]);
      if (refused.delete(asked)) return answers(speaks, response, body, reply);
      refused.add(asked);
      refuse(response, 429, { message: "busy" });
    },
  };
  const upstream = await scriptedUpstream(({ path, body }, response) => {
    // Only what the check needs is kept: its own requests are not to fill the memory either.
    upstream.requests.length = 0;
    if (path.endsWith("/embeddings")) return sendJson(response, { data: [{ embedding: [1, 2] }] });
    const speaks = path.endsWith("/responses") ? "responses" : "chat";
    play[body["model"] as string]?.(speaks, response, body);
  });
  const toml = `[server]\nport = 0\n${upstreamToml("chat", upstream.url)}${upstreamToml("responses", upstream.url, { speaks: "responses" })}`;
  return { toml, close: () => upstream.close() };
}

/** Runs one stream; answers what was wrong with it. */
export async function runStream(
  url: string,
  name: string,
  nth: number,
  agent: Agent,
): Promise<string | undefined> {
  const kind = kinds[name];
  if (kind === undefined) throw new Error(`no kind ${name}`);
  const { wire, leavesAt, ends, status = 200 } = kind;
  const path = kind.path ?? (wire === "responses" ? "/v1/responses" : "/v1/chat/completions");
  const words = `Hi ${nth}`;
  // What a client asks to be stored is kept, up to a bound: that is no leak.
  const question =
    wire === "responses"
      ? { input: words, store: false }
      : { messages: [{ role: "user", content: words }] };
  const body = { model: `${kind.upstream}/${kind.model}`, stream: true, ...question, ...kind.body };
  return new Promise((resolve) => {
    const sent = request(url + path, { method: "POST", agent }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
        if (leavesAt === undefined || !text.includes(leavesAt)) return;
        sent.destroy();
        resolve(undefined);
      });
      response.on("error", (error) => resolve(error.message));
      response.on("end", () => {
        if (response.statusCode !== status) resolve(`${response.statusCode}: ${text}`);
        else resolve(ends === undefined || text.includes(ends) ? undefined : text);
      });
    });
    sent.on("error", (error) => resolve(leavesAt === undefined ? error.message : undefined));
    sent.end(JSON.stringify(body));
    if (leavesAt === "") setTimeout(() => sent.destroy(), 10);
  });
}
