import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import type { JsonObject } from "@deltawire/wire";
import { helloBodies, type Wire } from "../check/attack/wires.ts";
import { formatNamedEvent, formatStream } from "./wire-replies.ts";
import { afterEach, expect, test } from "vitest";
import { readEvents, upstreamToml } from "./test-gateway.ts";
import {
  testGateway,
  hello,
  helloChat,
  gatewayFixture,
  waitUntil,
  type GatewayFixture,
} from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  streamText,
  type UpstreamScript,
} from "./scripted-upstream.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** The four kinds of requests: both APIs, streaming or not. */
const requestKinds = [
  { wire: "responses", stream: true },
  { wire: "responses", stream: false },
  { wire: "chat", stream: true },
  { wire: "chat", stream: false },
  { wire: "messages", stream: true },
  { wire: "messages", stream: false },
] as const;

type RequestKind = (typeof requestKinds)[number];

/** Sends a request of one kind and returns the status and error that the client receives. */
async function requestError(
  gateway: GatewayFixture["gateway"],
  { wire, stream }: RequestKind,
  more: JsonObject = {},
): Promise<{ status: number; code: string; message: string }> {
  const [path, body] = requestsByWire[wire];
  const reply = await gateway.post(path, { ...body, stream, ...more });
  const { status } = reply;
  const isComplete = status !== 200 || !stream;
  const last = (isComplete ? await reply.json() : (await readEvents(reply)).at(-1)) as JsonObject;
  const { error } = (last["response"] ?? last) as { error?: ReplyError };
  return { status, code: String(error?.code ?? error?.type), message: String(error?.message) };
}

/** Errors of the Messages API have a type, and no code. */
interface ReplyError {
  code?: string;
  type?: string;
  message: string;
}

const requestsByWire = {
  chat: ["/chat/completions", helloChat],
  responses: ["/responses", hello],
  messages: ["/messages", { ...helloBodies.messages, model: "up/m" }],
} as const;

interface HostileCase {
  name: string;
  speaks: Wire;
  script: UpstreamScript;
  message: RegExp;
}

/** Writes as fast as the client reads, until the connection closes or `next` returns undefined. */
function flood(response: ServerResponse, next: () => string | undefined): void {
  const writeMore = (): void => {
    while (!response.destroyed) {
      const text = next();
      if (text === undefined) return void response.end();
      if (!response.write(text)) return void response.once("drain", writeMore);
    }
  };
  writeMore();
}

function sendRepeatedly(response: ServerResponse, text: string): void {
  const block = text.repeat(Math.max(1, Math.floor(32_768 / text.length)));
  flood(response, () => block);
}

function streamEvents(...events: unknown[]): UpstreamScript {
  return (_request, response) => {
    beginStream(response);
    response.end(events.map(formatEvent).join(""));
  };
}

function sendComplete(body: unknown): UpstreamScript {
  return (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

function streamForever(text: string, before = ""): UpstreamScript {
  return (_request, response) => {
    beginStream(response);
    response.write(before);
    sendRepeatedly(response, text);
  };
}

const call = (index: number) => ({
  index,
  id: `call_number_${index}`,
  type: "function",
  function: { name: "look", arguments: `{"n":${index}}` },
});
const item = (nth: number) => ({
  type: "function_call",
  id: `fc_${nth}`,
  call_id: `call_number_${nth}`,
  name: "look",
  arguments: "{}",
});
const createList = <Value>(length: number, make: (nth: number) => Value): Value[] =>
  Array.from({ length }, (_, nth) => make(nth));
const nestArrays = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
const inProgress = { type: "response.in_progress", response: { id: "r" } };
const longText = "a".repeat(3_000_000);

const cases: readonly HostileCase[] = [
  {
    name: "100,000 tool calls, one in each event",
    speaks: "chat",
    script: streamEvents(...createList(100_000, (nth) => chatChunk({ tool_calls: [call(nth)] }))),
    message: /exceeds the limit of 4096 tool calls/,
  },
  {
    name: "10,000 tool calls in a complete reply",
    speaks: "chat",
    script: sendComplete({
      id: "c",
      choices: [
        { index: 0, message: { tool_calls: createList(10_000, call) }, finish_reason: "stop" },
      ],
    }),
    message: /exceeds the limit of 4096 tool calls/,
  },
  {
    name: "20,000 items",
    speaks: "responses",
    script: streamEvents(
      ...createList(20_000, (nth) => ({
        type: "response.output_item.done",
        output_index: nth,
        item: item(nth),
      })),
    ),
    message: /exceeds the limit of (?:8192 output items|4096 tool calls)/,
  },
  {
    name: "20,000 items in a complete reply",
    speaks: "responses",
    script: sendComplete({
      id: "r",
      object: "response",
      status: "completed",
      output: createList(20_000, item),
    }),
    message: /exceeds the limit of (?:8192 output items|4096 tool calls)/,
  },
  {
    name: "deeply nested JSON in an event",
    speaks: "chat",
    script: streamEvents(`{"id":"c","choices":[],"x":${nestArrays(50_000)}}`),
    message: /nested deeper than 300 levels/,
  },
  {
    name: "deeply nested JSON in an event",
    speaks: "responses",
    script: streamEvents(`{"type":"response.x","x":${nestArrays(50_000)}}`),
    message: /nested deeper than 300 levels/,
  },
  {
    name: "deeply nested JSON in a complete reply",
    speaks: "chat",
    script: sendComplete(`{"id":"c","choices":[],"x":${nestArrays(50_000)}}`),
    message: /nested deeper than 300 levels/,
  },
  {
    name: "deeply nested JSON in a complete reply",
    speaks: "responses",
    script: sendComplete(`{"id":"r","output":[],"x":${nestArrays(50_000)}}`),
    message: /nested deeper than 300 levels/,
  },
  {
    name: "millions of small values in a complete reply",
    speaks: "chat",
    script: sendComplete(`{"id":"c","choices":[],"x":[${"{},".repeat(2_000_000)}0]}`),
    message: /more than 250000 JSON values/,
  },
  {
    name: "text without end",
    speaks: "chat",
    script: streamForever(formatEvent(chatChunk({ content: "a".repeat(1000) }))),
    message: /exceeds the limit of 2097152 characters of text/,
  },
  {
    name: "text without end",
    speaks: "responses",
    script: streamForever(
      formatEvent({ type: "response.output_text.delta", output_index: 0, delta: "a".repeat(1000) }),
    ),
    message: /exceeds the limit of 2097152 characters of text/,
  },
  {
    name: "arguments of megabytes in one event",
    speaks: "chat",
    script: streamEvents(
      chatChunk({
        tool_calls: [{ ...call(0), function: { name: "look", arguments: `{"a":"${longText}"}` } }],
      }),
    ),
    message: /exceeds the limit of 2097152 characters of text/,
  },
  {
    name: "text of megabytes in a complete reply",
    speaks: "responses",
    script: sendComplete({
      id: "r",
      status: "completed",
      output: [{ type: "message", id: "m", content: [{ type: "output_text", text: longText }] }],
    }),
    message: /exceeds the limit of 2097152 characters of text/,
  },
  {
    name: "a line without end",
    speaks: "chat",
    script: streamForever("a", 'data: {"a":"'),
    message: /an event is longer than the limit of 16777216 characters/,
  },
  {
    name: "a complete reply without end",
    speaks: "responses",
    script: streamForever("a", '{"a":"'),
    message: /exceeds the limit of 16777216 characters/,
  },
  {
    name: "comments without end",
    speaks: "chat",
    script: streamForever(": still here\n\n"),
    message: /more than 33554432 bytes without any content/,
  },
  {
    name: "comments without end",
    speaks: "responses",
    script: streamForever(": still here\n\n"),
    message: /more than 33554432 bytes without any content/,
  },
  {
    name: "empty deltas without end",
    speaks: "chat",
    script: streamForever(formatEvent(chatChunk({ content: "", padding: "" }))),
    message: /more than 33554432 bytes without any content/,
  },
  {
    name: "keep-alives without end",
    speaks: "responses",
    script: streamForever(formatEvent(inProgress)),
    message: /more than 33554432 bytes without any content/,
  },
  {
    name: "pings without end",
    speaks: "messages",
    script: streamForever(formatNamedEvent({ type: "ping" })),
    message: /more than 33554432 bytes without any content/,
  },
  {
    name: "text without end",
    speaks: "messages",
    script: streamForever(
      formatNamedEvent({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: "a".repeat(1000) },
      }),
      formatStream("messages", { text: ["Hi"] })
        .slice(0, 2)
        .join(""),
    ),
    message: /exceeds the limit of 2097152 characters of text/,
  },
  {
    name: "20,000 blocks",
    speaks: "messages",
    script: streamEvents(
      { type: "message_start", message: { id: "m", content: [] } },
      ...createList(20_000, (index) => ({
        type: "content_block_start",
        index,
        content_block: { type: "tool_use", id: `toolu_${index}`, name: "look", input: {} },
      })),
    ),
    message: /exceeds the limit of (?:8192 output items|4096 tool calls)/,
  },
  {
    name: "deeply nested JSON in an event",
    speaks: "messages",
    script: streamEvents(`{"type":"ping","x":${nestArrays(50_000)}}`),
    message: /nested deeper than 300 levels/,
  },
];

for (const { name, speaks, script, message: expected } of cases)
  test.each(requestKinds)(
    `${name} from a ${speaks} upstream fails the request and aborts that of the upstream: $wire client, stream: $stream`,
    { timeout: 60_000 },
    async (kind) => {
      const { gateway, upstream } = await gatewayFixture(script, {
        upstream: { speaks, retries: 0 },
      });
      const { status, code, message } = await requestError(gateway, kind);
      expect(message).toMatch(expected);
      expect(code).toBe(kind.wire === "messages" ? "api_error" : "reply_too_large");
      expect(kind.stream ? 502 : status).toBe(502);
      await waitUntil("the upstream request is aborted", () => upstream.openCount() === 0);
      expect(upstream.requests).toHaveLength(1);
    },
  );

test("too many choices: a Chat client receives an error, a Responses client one answer", async () => {
  const choices = createList(20_000, (index) => ({ index, delta: { content: "a" } }));
  const { gateway } = await gatewayFixture(
    streamEvents({ ...chatChunk({}), choices }, chatChunk({}, "stop"), "[DONE]"),
    { upstream: { retries: 0 } },
  );
  const { message } = await requestError(gateway, { wire: "chat", stream: true });
  expect(message).toMatch(/exceeds the limit of 1024 choices/);
  const reply = await gateway.post("/responses", { ...hello, stream: false });
  expect(await reply.json()).toMatchObject({ status: "completed" });
});

test("an error of deeply nested JSON is an upstream error, not an internal one", async () => {
  const { gateway } = await gatewayFixture((_request, response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(`{"error":{"message":"no","x":${nestArrays(20_000)}}}`);
  });
  for (const kind of requestKinds) expect((await requestError(gateway, kind)).status).toBe(400);
});

test("requested log probabilities of thousands of tokens are forwarded", async () => {
  const top = createList(20, (nth) => ({ token: `token${nth}`, logprob: -1.5, bytes: [1, 2, 3] }));
  const logprobs = {
    content: createList(2_000, () => ({ token: "a", logprob: -1, top_logprobs: top })),
  };
  const body = {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      { index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop", logprobs },
    ],
  };
  const { gateway } = await gatewayFixture(sendComplete(body), { upstream: { retries: 0 } });
  const more = { logprobs: true, top_logprobs: 20 };
  const reply = await gateway.post("/chat/completions", { ...helloChat, stream: false, ...more });
  expect(reply.status).toBe(200);
  const { choices } = (await reply.json()) as { choices: { logprobs: typeof logprobs }[] };
  expect(choices[0]?.logprobs.content).toHaveLength(2_000);
  const unrequested = await requestError(gateway, { wire: "chat", stream: false });
  expect(unrequested.message).toMatch(/more than 250000 JSON values/);
});

test.each(["chat", "responses", "messages"] as const)(
  "comments for many minutes before the first token of a %s upstream are accepted",
  async (speaks) => {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        let sent = 0;
        const timer = setInterval(() => {
          response.write(": OPENROUTER PROCESSING\n\n");
          sent += 1;
          if (sent < 100) return;
          clearInterval(timer);
          if (speaks === "chat") return streamText(response, "late");
          if (speaks === "messages")
            return response.end(formatStream("messages", { text: ["late"] }).join(""));
          const message = {
            type: "message",
            id: "m",
            content: [{ type: "output_text", text: "late" }],
          };
          response.end(
            formatEvent({ type: "response.completed", response: { id: "r", output: [message] } }),
          );
        }, 10);
      },
      // One tick is one second of the gateway's clock: more than ten minutes pass.
      { upstream: { speaks }, tickMs: 1 },
    );
    for (const { wire, stream } of requestKinds) {
      const [path, body] = requestsByWire[wire];
      expect(await (await gateway.post(path, { ...body, stream })).text()).toContain("late");
    }
  },
);

test.each(requestKinds)(
  "an hour of only comments ends the request: $wire client, stream: $stream",
  { timeout: 60_000 },
  async (kind) => {
    const { gateway, upstream } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        const timer = setInterval(() => response.write(": ping\n\n"), 5);
        response.on("close", () => clearInterval(timer));
      },
      { upstream: { retries: 0 }, tickMs: 1 },
    );
    const { code, message } = await requestError(gateway, kind);
    expect(message).toMatch(/no content for 60 minutes/);
    expect(code).toMatch(/timeout/);
    await waitUntil("the upstream request is aborted", () => upstream.openCount() === 0);
  },
);

/** An upstream of raw bytes. `sendReply` is called with each connection after its request. */
async function rawUpstream(sendReply: (socket: Socket) => void, idleSeconds = 5) {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.once("data", () => sendReply(socket));
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const settings = { retries: 0, models: ["m"], idle_timeout_seconds: idleSeconds };
  return upstreamToml("up", `http://127.0.0.1:${port}/v1`, settings);
}

test("endless interim replies are cut off after a maximum number", async () => {
  const toml = await rawUpstream((socket) => {
    const writeMore = (): void => {
      while (!socket.destroyed)
        if (!socket.write("HTTP/1.1 102 Processing\r\n\r\n".repeat(100)))
          return void socket.once("drain", writeMore);
    };
    writeMore();
  });
  const gateway = await testGateway(toml);
  for (const kind of requestKinds) {
    const { status, message } = await requestError(gateway, kind);
    expect(status).toBe(502);
    expect(message).toMatch(/more than 100 interim replies/);
    // Five failures in a row would pause the model.
    gateway.relay.upstreams.get("up")?.health.recordSuccess("m", Date.now());
  }
  const embeddings = await gateway.post("/embeddings", { model: "up/m", input: "Hi" });
  expect(embeddings.status).toBe(502);
  expect(await embeddings.text()).toMatch(/more than 100 interim replies/);
  await waitUntil("the upstream request is aborted", () => sockets.size === 0);
});

test("interim replies do not extend the upstream's time limit", async () => {
  const toml = await rawUpstream((socket) => {
    const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 100);
    socket.on("close", () => clearInterval(timer));
  }, 1);
  const gateway = await testGateway(toml);
  const { status, message } = await requestError(gateway, requestKinds[0]);
  expect(status).toBe(504);
  expect(message).toMatch(/ failed without a reply: only interim replies \(1xx\) within 1 s$/);
  const embeddings = await gateway.post("/embeddings", { model: "up/m", input: "Hi" });
  expect(embeddings.status).toBe(504);
  expect(await embeddings.text()).toMatch(/only interim replies \(1xx\) within 1 s/);
  await waitUntil("the upstream request is aborted", () => sockets.size === 0);
});

test("headers of hundreds of kilobytes are an upstream failure", async () => {
  const toml = await rawUpstream((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(400_000)}\r\n\r\n`),
  );
  const gateway = await testGateway(toml);
  expect((await requestError(gateway, requestKinds[0])).status).toBe(502);
  await waitUntil("the upstream request is aborted", () => sockets.size === 0);
});

test("a compressed reply is not decompressed, however small it is", async () => {
  const { gateway } = await gatewayFixture(
    (_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
      response.end(gzipSync(Buffer.alloc(200_000_000, " ")));
    },
    { upstream: { retries: 0 } },
  );
  for (const kind of requestKinds)
    expect((await requestError(gateway, kind)).code).not.toBe("undefined");
});

test("a redirect is not followed", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    response.writeHead(302, { location: "/v1/chat/completions" });
    response.end();
  });
  expect((await requestError(gateway, requestKinds[1])).code).toBe("upstream_redirect");
  expect(upstream.requests).toHaveLength(1);
});

test.each(requestKinds)(
  "a web page is not accepted as a reply and not retried: %j",
  async (kind) => {
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.write("<!do");
      setTimeout(() => response.end("ctype html><p>key-of-up-0123456789 is the key</p>"), 20);
    });
    const { code, message } = await requestError(gateway, kind);
    expect(code).toBe(kind.wire === "messages" ? "api_error" : "upstream_web_page");
    expect(message).toContain(
      "answered with a web page (text/html) instead of JSON; is base_url right?",
    );
    expect(message).not.toContain("key-of-up");
    expect(upstream.requests).toHaveLength(1);
  },
);

test("data after the end of the reply is not read, and the connection is closed", async () => {
  let closed: Promise<void> | undefined;
  const { gateway } = await gatewayFixture((request, response) => {
    ({ closed } = request);
    beginStream(response);
    response.write(
      [
        formatEvent(chatChunk({ content: "Hi" })),
        formatEvent(chatChunk({}, "stop")),
        formatEvent("[DONE]"),
      ].join(""),
    );
    sendRepeatedly(response, formatEvent(chatChunk({ content: "more" })));
  });
  for (const { wire, stream } of requestKinds) {
    const [path, body] = requestsByWire[wire];
    const startedAt = performance.now();
    const text = await (await gateway.post(path, { ...body, stream })).text();
    expect(text).toContain("Hi");
    expect(text).not.toContain("more");
    await closed;
    expect(performance.now() - startedAt).toBeLessThan(60_000);
  }
});
