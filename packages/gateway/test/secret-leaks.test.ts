import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { sendRawRequest } from "./raw-http.ts";
import { upstreamToml, type TestGateway } from "./test-gateway.ts";
import { helloBodies, wirePaths, wires } from "../check/attack/wires.ts";
import { testGateway, testUpstream, waitUntil } from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  streamText,
  type UpstreamScript,
} from "./scripted-upstream.ts";
import { formatNamedEvent, sendJson, formatStream, buildReply } from "./wire-replies.ts";

const key = 'sk-proj-Q7/xYzA0b9"c+d&41f6e2ab77Kp3Wm';
const token = "token-of-a-laptop-5f2c81d09e";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const escaped = Array.from(key, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The key in the forms in which servers quote it in errors. */
const forms = {
  plain: key,
  json: JSON.stringify({ key }),
  slashes: JSON.stringify(key).replaceAll("/", "\\/"),
  escaped: escaped.join(""),
  url: encodeURIComponent(key),
  basic: base64(`user:${key}`),
  base64: base64(key),
};
const quoted = `Authorization: "Bearer ${forms.plain}" ${Object.values(forms).join(" ")}`;
/** A text with a key at its end. Truncation at a length such as 200 or 1,000 cuts within the key. */
const filled = (length: number): string => "x".repeat(Math.max(0, length - 30)) + key;

const error = { message: quoted, type: quoted, code: quoted, param: quoted, debug: [{ quoted }] };
const cuts = [200, 300, 500, 1000, 2000, 4096, 16_384, 64 * 1024];

/** Replies of a hostile or careless server to Chat requests, by model name. */
const chatReplies: Record<string, (response: ServerResponse) => unknown> = {
  "error-object": (response) => sendJson(response, { error }),
  "error-text": (response) => sendJson(response, { error: quoted }),
  "vllm-complete": (response) => sendJson(response, { object: "error", ...error }),
  "fastapi-complete": (response) => sendJson(response, { detail: quoted }),
  "fastapi-list": (response) => sendJson(response, { detail: [{ msg: quoted, loc: [quoted] }] }),
  "vllm-first": streams({ object: "error", ...error }),
  "vllm-later": streams(chatChunk({ content: "Hi" }), { object: "error", ...error }),
  "fastapi-later": streams(chatChunk({ content: "Hi" }), { detail: quoted }),
  "message-later": streams(chatChunk({ content: "Hi" }), { message: quoted, code: 500 }),
  "openrouter-first": streams({ ...chatChunk({}), choices: [{ index: 0, delta: {}, error }] }),
  "openrouter-later": streams(chatChunk({ content: "Hi" }), {
    ...chatChunk({}),
    choices: [{ index: 0, delta: { content: "" }, finish_reason: "error", error }],
  }),
  "openrouter-complete": (response) =>
    sendJson(response, {
      ...buildReply("chat", { text: ["Hi"] }),
      choices: [
        { index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "error", error },
      ],
    }),
  "beside-the-answer": streams(
    { ...chatChunk({ content: "Hi" }), debug: { headers: [quoted] }, system_fingerprint: quoted },
    { ...chatChunk({ content: "Hi", x_trace: quoted }), provider: quoted },
    chatChunk({}, "stop"),
    "[DONE]",
  ),
  comment: (response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
    response.write(`: ${quoted}\n\n${formatEvent(chatChunk({ content: "Hi" }))}`);
    response.end(formatEvent(chatChunk({}, "stop")) + formatEvent("[DONE]"));
  },
  "not-json": (response) => {
    beginStream(response);
    response.end(`data: {${quoted}\n\ndata: [DONE]\n\n`);
  },
  page: (response) => response.writeHead(200).end(`<html>${quoted}</html>`),
  status: (response) => response.writeHead(500).end(JSON.stringify({ error })),
  "status-lesson": (response) =>
    response.writeHead(400).end(
      JSON.stringify({
        error: { message: `Unsupported parameter: '${key}' ${quoted}`, param: key },
      }),
    ),
  redirect: (response) =>
    response.writeHead(307, { location: `http://127.0.0.1:9/?${forms.url}` }).end(),
  ...Object.fromEntries(
    cuts.flatMap((length) => [
      [
        `cut-page-${length}`,
        (response: ServerResponse) => response.writeHead(200).end(filled(length)),
      ],
      [
        `cut-status-${length}`,
        (response: ServerResponse) => response.writeHead(503).end(filled(length)),
      ],
      [
        `cut-lesson-${length}`,
        (response: ServerResponse) =>
          response.writeHead(400).end(`Unsupported parameter: 'seed' ${filled(length)}`),
      ],
      [
        `cut-error-${length}`,
        (response: ServerResponse) => sendJson(response, { error: { message: filled(length) } }),
      ],
    ]),
  ),
};

const firstEvents = () => formatStream("responses", { text: ["Hi"] }).slice(0, 5);
const response = (fields: JsonObject): JsonObject => ({
  id: "resp_1",
  object: "response",
  output: [],
  ...fields,
});
const ends = (type: string, fields: JsonObject) => (reply: ServerResponse) => {
  beginStream(reply);
  reply.end([...firstEvents(), formatNamedEvent({ type, response: response(fields) })].join(""));
};

/** The same for requests of the Responses API. */
const responsesReplies: typeof chatReplies = {
  ...Object.fromEntries(
    Object.entries(chatReplies).filter(([name]) => !/openrouter|beside|comment/.test(name)),
  ),
  failed: ends("response.failed", { status: "failed", error }),
  "failed-text": ends("response.failed", { status: "failed", error: quoted }),
  cancelled: ends("response.cancelled", { status: "cancelled", error }),
  incomplete: ends("response.incomplete", {
    status: "incomplete",
    incomplete_details: { reason: quoted, debug: quoted },
  }),
  "completed-metadata": ends("response.completed", {
    status: "completed",
    metadata: { quoted },
    user: quoted,
  }),
  "error-event": (reply) => {
    beginStream(reply);
    reply.end([...firstEvents(), formatNamedEvent({ ...error, type: "error" })].join(""));
  },
  "unknown-event": (reply) => {
    beginStream(reply);
    reply.end(
      [...firstEvents(), formatNamedEvent({ type: "response.debug", headers: { quoted } })].join(
        "",
      ),
    );
  },
  "complete-failed": (reply) => sendJson(reply, response({ status: "failed", error })),
  "complete-incomplete": (reply) =>
    sendJson(reply, response({ status: "incomplete", incomplete_details: { reason: quoted } })),
};

const messageEvents = () => formatStream("messages", { text: ["Hi"] });
const endsWith = (event: JsonObject) => (reply: ServerResponse) => {
  beginStream(reply);
  reply.end([...messageEvents().slice(0, 3), formatNamedEvent(event)].join(""));
};

/** The same for requests of the Messages API. */
const messagesReplies: typeof chatReplies = {
  ...Object.fromEntries(
    Object.entries(chatReplies).filter(([name]) => !/openrouter|beside|comment/.test(name)),
  ),
  anthropic: (reply) =>
    reply
      .writeHead(401)
      .end(
        JSON.stringify({ type: "error", error: { type: "authentication_error", message: quoted } }),
      ),
  "error-event": endsWith({ type: "error", error: { type: "api_error", message: quoted } }),
  "error-event-nested": endsWith({ type: "error", error }),
  "error-event-text": endsWith({ type: "error", error: quoted }),
  "unknown-event": endsWith({ type: "debug", headers: { quoted } }),
  ping: endsWith({ type: "ping", note: quoted }),
  "beside-the-answer": (reply) => {
    beginStream(reply);
    const events = messageEvents().map((text) =>
      text.replaceAll('"type":"', `"debug":${JSON.stringify([quoted])},"type":"`),
    );
    // Blocks and deltas are the model's output.
    reply.end(events.filter((text) => /message_/.test(text)).join(""));
  },
  "complete-fields": (reply) =>
    sendJson(reply, {
      ...buildReply("messages", { text: ["Hi"] }),
      model: quoted,
      container: { id: quoted },
      debug: [quoted],
    }),
  headers: (reply) => {
    reply.setHeader("request-id", forms.url);
    reply.setHeader("anthropic-ratelimit-requests-remaining", forms.url);
    reply.setHeader("anthropic-organization-id", forms.url);
    beginStream(reply);
    reply.end(messageEvents().join(""));
  },
};

const repliesByWire = {
  chat: chatReplies,
  responses: responsesReplies,
  messages: messagesReplies,
} as const;

/** Replies of the other endpoints. */
const otherReplies: typeof chatReplies = {
  json: (reply) => sendJson(reply, { data: [], debug: quoted }),
  "large-json": (reply) => {
    reply.writeHead(200, { "content-type": "application/json" });
    reply.write(`{"data":"${"x".repeat(70_000)}`);
    reply.end(`${key}"}`);
  },
  "in-pieces": (reply) => {
    reply.writeHead(200, { "content-type": "application/json" });
    const text = JSON.stringify({ quoted });
    let index = 0;
    const next = (): void => {
      if (index >= text.length) return void reply.end();
      reply.write(text.slice(index, (index += 7)), () => setImmediate(next));
    };
    next();
  },
  events: (reply) => {
    beginStream(reply);
    reply.write(`data: {"type":"x","debug":${JSON.stringify(quoted).slice(0, 40)}`);
    setTimeout(() => reply.end(`${JSON.stringify(quoted).slice(40)}}\n\n`), 5);
  },
  headers: (reply) => {
    reply.writeHead(200, {
      "content-type": `application/json; key="${forms.url}"`,
      "content-disposition": `attachment; filename="${forms.basic}"`,
    });
    reply.end("{}");
  },
  "bad-error": (reply) => reply.writeHead(400).end(filled(500)),
};

function streams(...events: unknown[]): (response: ServerResponse) => void {
  return (reply) => {
    beginStream(reply);
    reply.end(events.map(formatEvent).join(""));
  };
}

const script: UpstreamScript = ({ body, path }, reply) => {
  const model = body["model"] as string;
  const wire = wires.find((candidate) => path.endsWith(wirePaths[candidate]));
  const replies = wire === undefined ? otherReplies : repliesByWire[wire];
  for (const name of ["x-request-id", "set-cookie", "x-ratelimit-remaining", "retry-after"])
    reply.setHeader(name, forms.url);
  (replies[model] ?? ((given) => streamText(given, "fine")))(reply);
};

interface Fixture {
  gateway: TestGateway;
  received: string[];
  request: (method: string, path: string, body?: unknown) => Promise<void>;
}

async function start(toml = "", dataFolder?: string): Promise<Fixture> {
  const upstream = await testUpstream(script, {
    listModels: (reply) =>
      reply.writeHead(200).end(JSON.stringify({ data: [{ id: key }, { id: "m" }] })),
  });
  const settings = { api_key: "env:KEY", retries: 0 };
  const gateway = await testGateway(
    `[server]
port = 0
log_level = "debug"
[clients.laptop]
token = "env:TOKEN"
${toml}
${upstreamToml("chat", upstream.url, settings)}
${upstreamToml("responses", upstream.url, { ...settings, speaks: "responses" })}
${upstreamToml("messages", upstream.url, { ...settings, speaks: "messages" })}`,
    { env: { KEY: key, TOKEN: token }, ...(dataFolder === undefined ? {} : { dataFolder }) },
  );
  const received: string[] = [];
  return {
    gateway,
    received,
    async request(method, path, body) {
      const reply = await sendRawRequest(gateway.url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      received.push(
        `${method} ${path} ${JSON.stringify(body)}\n${reply.status} ${JSON.stringify(reply.headers)} ${reply.text}`,
      );
    },
  };
}

describe("no eight characters of a key, in any form, are in a reply, the log or a page of the gateway", () => {
  const combinations = wires.flatMap((speaks) => wires.map((client) => ({ speaks, client })));

  test.each(combinations)("with a $speaks upstream and a $client client", async (pair) => {
    const { speaks, client } = pair;
    const { gateway, received, request } = await start();
    const names = Object.keys(repliesByWire[speaks]);
    for (const name of names)
      for (const stream of [true, false]) {
        const extra = client === "chat" ? { seed: 1 } : {};
        const body = { ...helloBodies[client], ...extra, model: `${speaks}/${name}`, stream };
        await request("POST", wirePaths[client], body);
      }
    for (const page of ["upstreams", "lessons", "codex"])
      await request("GET", `/deltawire/${page}`);
    for (const page of ["/healthz", "/v1/models"]) await request("GET", page);
    expect(received.length).toBe(names.length * 2 + 5);
    expect(received.some((text) => text.includes("[redacted]"))).toBe(true);
    expect(leaks([...received.map(extractReply), ...gateway.lines])).toEqual([]);
  });

  test("with endpoints that forward replies unchanged", async () => {
    const { gateway, received, request } = await start();
    for (const path of ["/v1/embeddings", "/v1/images/generations", "/v1/audio/speech"])
      for (const name of Object.keys(otherReplies))
        await request("POST", path, { model: `chat/${name}`, input: "x" });
    expect(leaks([...received.map(extractReply), ...gateway.lines])).toEqual([]);
    const large = received.find((text) => text.includes("large-json"));
    expect(large).toContain(`${"x".repeat(70_000)}[redacted]`);
  });

  test("with tasks and their stored data", async () => {
    const folder = await mkdtemp(join(tmpdir(), "keys-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const agents = ["vllm-later", "openrouter-first", "cut-status-500", "fastapi-complete"];
    agents.push("cut-lesson-500", "status-lesson");
    const toml = agents.map((name) => `[agents.${name}]\nmodel = "chat/${name}"\n`).join("");
    const { gateway, received, request } = await start(toml, folder);
    for (const agent of agents) await request("POST", "/api/tasks", { agent, input: "Go" });
    const logged = (words: string): number =>
      gateway.lines.filter((line) => line.includes(words)).length;
    // Some are retried later; what is stored until then is enough.
    await waitUntil(
      "a request to every model",
      () => logged('"msg":"model round"') >= agents.length,
    );
    await waitUntil("a task has failed", () => logged('"status":"failed"') > 0);
    await request("GET", "/api/tasks");
    for (const text of received.slice(0, agents.length)) {
      const id = /"(task_\w+)"/.exec(text)?.[1] ?? "";
      await request("GET", `/api/tasks/${id}`);
    }
    const files = (await readdir(folder, { withFileTypes: true })).filter((file) => file.isFile());
    const stored = await Promise.all(
      files.map(({ name }) => readFile(join(folder, name), "latin1")),
    );
    expect(stored.some((text) => text.includes("[redacted]"))).toBe(true);
    expect(leaks([...received.map(extractReply), ...gateway.lines, ...stored])).toEqual([]);
  });
});

test.each([
  ["text that is not JSON", `Bearer ${key}`],
  ["a key where JSON ends", `{"data": ${key}}`],
  ["JSON that is not a list", JSON.stringify({ message: `bad key ${key}` })],
])("an unreadable model list is not even partly quoted: %s", async (_name, list) => {
  const upstream = await testUpstream((_request, reply) => streamText(reply, "fine"), {
    listModels: (reply) => void reply.writeHead(200).end(list),
  });
  const gateway = await testGateway(
    `[server]\nport = 0\nlog_level = "debug"\n${upstreamToml("up", upstream.url, { api_key: "env:KEY" })}`,
    { env: { KEY: key } },
  );
  let page = "";
  await waitUntil("listing the models fails", async () => {
    page = await (await fetch(`${gateway.url}/deltawire/upstreams`)).text();
    return page.includes('"failed"');
  });
  expect(leaks([page, ...gateway.lines])).toEqual([]);
});

test("the model's own text and arguments are never changed", async () => {
  const { received, request } = await start();
  const words = `Your key is ${key}.`;
  const upstream = await testUpstream((_request, reply) => streamText(reply, words));
  const gateway = await testGateway(upstreamToml("up", upstream.url, { api_key: key }));
  for (const wire of wires)
    for (const stream of [true, false]) {
      const body = { ...helloBodies[wire], model: "up/m", stream };
      const reply = await gateway.post(wirePaths[wire].slice("/v1".length), body);
      expect(await reply.text()).toContain(JSON.stringify(words).slice(1, -1));
    }
  await request("GET", "/healthz");
  expect(received).toHaveLength(1);
});

test.each([
  ["as it is", token],
  ["percent-encoded", Array.from(token, (c) => `%${c.charCodeAt(0).toString(16)}`).join("")],
  ["in part", `%74${token.slice(1)}`],
  ["twice", Array.from(token, (c) => `%25${c.charCodeAt(0).toString(16)}`).join("")],
  ["next to malformed sequences", `%zz%74${token.slice(1)}%`],
  ["in a query", `x?token=%74${token.slice(1)}`],
])("a token in a path is not logged: %s", async (_name, path) => {
  const { gateway, request } = await start();
  await request("GET", `/v1/${path}`);
  await request("POST", `/v1/models/${path}`);
  expect(gateway.lines.filter((line) => line.includes("/v1/"))).toHaveLength(2);
  expect(gateway.lines.filter((line) => decoded(line).includes(token.slice(0, 12)))).toEqual([]);
});

function decoded(text: string): string {
  const once = text.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return once === text ? text : decoded(once);
}

/** Removes what the test itself sent. */
function extractReply(text: string): string {
  return text.slice(text.indexOf("\n") + 1);
}

/** Finds texts that contain eight consecutive characters of a key or token, in any of its forms. */
function leaks(texts: readonly string[]): string[] {
  const parts = new Set<string>();
  for (const form of [...Object.values(forms), JSON.stringify(key).slice(1, -1), token])
    for (let index = 0; index + 8 <= form.length; index += 1)
      parts.add(form.slice(index, index + 8));
  // The start of any key, and of the base64 of anything after "user:".
  for (const common of ["sk-proj-", base64("user:").slice(0, 6)])
    for (const part of parts) if (part.startsWith(common) && part.length <= 8) parts.delete(part);
  return texts.flatMap((text) => {
    const part = [...parts].find((each) => text.includes(each));
    return part === undefined ? [] : [`${part} in ${text.slice(0, 300)}`];
  });
}
