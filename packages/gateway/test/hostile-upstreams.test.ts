import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import type { JsonObject } from "@deltawire/wire";
import { afterEach, expect, test } from "vitest";
import { eventsOf, upstreamToml } from "./running-gateway.ts";
import { aGateway, hello, helloChat, scene, until, type Scene } from "./scene.ts";
import { beginStream, chunk, event, says, type Script } from "./scripted-upstream.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** The four ways to ask: both wires, streamed and complete. */
const asked = [
  { wire: "responses", stream: true },
  { wire: "responses", stream: false },
  { wire: "chat", stream: true },
  { wire: "chat", stream: false },
] as const;

type Asked = (typeof asked)[number];

/** Asks in one of the ways and returns the failure that the client got, and the status. */
async function failureOf(
  gateway: Scene["gateway"],
  { wire, stream }: Asked,
  more: JsonObject = {},
): Promise<{ status: number; code: string; message: string }> {
  const [path, body] = wire === "chat" ? ["/chat/completions", helloChat] : ["/responses", hello];
  const reply = await gateway.post(path, { ...body, stream, ...more });
  const { status } = reply;
  if (status !== 200 || !stream) {
    const { error } = (await reply.json()) as { error?: { code: string; message: string } };
    return { status, code: String(error?.code), message: String(error?.message) };
  }
  const last = (await eventsOf(reply)).at(-1) as JsonObject;
  const { error } = (last["response"] ?? last) as { error?: { code: string; message: string } };
  return { status, code: String(error?.code), message: String(error?.message) };
}

interface HostileCase {
  name: string;
  speaks: "chat" | "responses";
  script: Script;
  says: RegExp;
}

/** Writes as fast as it is read, until the connection closes or there is no more. */
function flood(response: ServerResponse, next: () => string | undefined): void {
  const more = (): void => {
    while (!response.destroyed) {
      const text = next();
      if (text === undefined) return void response.end();
      if (!response.write(text)) return void response.once("drain", more);
    }
  };
  more();
}

function repeated(response: ServerResponse, text: string): void {
  const block = text.repeat(Math.max(1, Math.floor(32_768 / text.length)));
  flood(response, () => block);
}

function streamed(...events: unknown[]): Script {
  return (_request, response) => {
    beginStream(response);
    response.end(events.map(event).join(""));
  };
}

function complete(body: unknown): Script {
  return (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

function forever(text: string, before = ""): Script {
  return (_request, response) => {
    beginStream(response);
    response.write(before);
    repeated(response, text);
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
const list = <Value>(length: number, make: (nth: number) => Value): Value[] =>
  Array.from({ length }, (_, nth) => make(nth));
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
const inProgress = { type: "response.in_progress", response: { id: "r" } };
const long = "a".repeat(3_000_000);

const cases: readonly HostileCase[] = [
  {
    name: "100,000 tool calls, one in each event",
    speaks: "chat",
    script: streamed(...list(100_000, (nth) => chunk({ tool_calls: [call(nth)] }))),
    says: /more than 4096 tool calls/,
  },
  {
    name: "10,000 tool calls in a complete reply",
    speaks: "chat",
    script: complete({
      id: "c",
      choices: [{ index: 0, message: { tool_calls: list(10_000, call) }, finish_reason: "stop" }],
    }),
    says: /more than 4096 tool calls/,
  },
  {
    name: "20,000 items",
    speaks: "responses",
    script: streamed(
      ...list(20_000, (nth) => ({
        type: "response.output_item.done",
        output_index: nth,
        item: item(nth),
      })),
    ),
    says: /more than (?:8192 output items|4096 tool calls)/,
  },
  {
    name: "20,000 items in a complete reply",
    speaks: "responses",
    script: complete({
      id: "r",
      object: "response",
      status: "completed",
      output: list(20_000, item),
    }),
    says: /more than (?:8192 output items|4096 tool calls)/,
  },
  {
    name: "deeply nested JSON in an event",
    speaks: "chat",
    script: streamed(`{"id":"c","choices":[],"x":${nested(50_000)}}`),
    says: /nested deeper than 300 levels/,
  },
  {
    name: "deeply nested JSON in an event",
    speaks: "responses",
    script: streamed(`{"type":"response.x","x":${nested(50_000)}}`),
    says: /nested deeper than 300 levels/,
  },
  {
    name: "deeply nested JSON in a complete reply",
    speaks: "chat",
    script: complete(`{"id":"c","choices":[],"x":${nested(50_000)}}`),
    says: /nested deeper than 300 levels/,
  },
  {
    name: "deeply nested JSON in a complete reply",
    speaks: "responses",
    script: complete(`{"id":"r","output":[],"x":${nested(50_000)}}`),
    says: /nested deeper than 300 levels/,
  },
  {
    name: "millions of small values in a complete reply",
    speaks: "chat",
    script: complete(`{"id":"c","choices":[],"x":[${"{},".repeat(2_000_000)}0]}`),
    says: /more than 250000 JSON values/,
  },
  {
    name: "text without end",
    speaks: "chat",
    script: forever(event(chunk({ content: "a".repeat(1000) }))),
    says: /more than 2097152 characters of text/,
  },
  {
    name: "text without end",
    speaks: "responses",
    script: forever(
      event({ type: "response.output_text.delta", output_index: 0, delta: "a".repeat(1000) }),
    ),
    says: /more than 2097152 characters of text/,
  },
  {
    name: "arguments of megabytes in one event",
    speaks: "chat",
    script: streamed(
      chunk({
        tool_calls: [{ ...call(0), function: { name: "look", arguments: `{"a":"${long}"}` } }],
      }),
    ),
    says: /more than 2097152 characters of text/,
  },
  {
    name: "text of megabytes in a complete reply",
    speaks: "responses",
    script: complete({
      id: "r",
      status: "completed",
      output: [{ type: "message", id: "m", content: [{ type: "output_text", text: long }] }],
    }),
    says: /more than 2097152 characters of text/,
  },
  {
    name: "a line without end",
    speaks: "chat",
    script: forever("a", 'data: {"a":"'),
    says: /more than 16777216 characters/,
  },
  {
    name: "a complete reply without end",
    speaks: "responses",
    script: forever("a", '{"a":"'),
    says: /more than 16777216 characters/,
  },
  {
    name: "comments without end",
    speaks: "chat",
    script: forever(": still here\n\n"),
    says: /more than 33554432 bytes without any content/,
  },
  {
    name: "comments without end",
    speaks: "responses",
    script: forever(": still here\n\n"),
    says: /more than 33554432 bytes without any content/,
  },
  {
    name: "empty deltas without end",
    speaks: "chat",
    script: forever(event(chunk({ content: "", padding: "" }))),
    says: /more than 33554432 bytes without any content/,
  },
  {
    name: "signs of life without end",
    speaks: "responses",
    script: forever(event(inProgress)),
    says: /more than 33554432 bytes without any content/,
  },
];

for (const { name, speaks, script, says: words } of cases)
  test.each(asked)(
    `${name}, from ${speaks === "chat" ? "Chat" : "Responses"}: $wire, stream $stream: fails, and the upstream is let go`,
    { timeout: 60_000 },
    async (how) => {
      const { gateway, upstream } = await scene(script, { upstream: { speaks, retries: 0 } });
      const { status, code, message } = await failureOf(gateway, how);
      expect(message).toMatch(words);
      expect(code).toBe("reply_too_large");
      expect(how.stream ? 502 : status).toBe(502);
      await until("the upstream is let go", () => upstream.open() === 0);
      expect(upstream.requests).toHaveLength(1);
    },
  );

test("many choices: a Chat client gets an error, a Responses client its one answer", async () => {
  const choices = list(20_000, (index) => ({ index, delta: { content: "a" } }));
  const { gateway } = await scene(
    streamed({ ...chunk({}), choices }, chunk({}, "stop"), "[DONE]"),
    { upstream: { retries: 0 } },
  );
  const { message } = await failureOf(gateway, { wire: "chat", stream: true });
  expect(message).toMatch(/more than 1024 choices/);
  const reply = await gateway.post("/responses", { ...hello, stream: false });
  expect(await reply.json()).toMatchObject({ status: "completed" });
});

test("a refusal of deeply nested JSON is a refusal, and not an error of the gateway", async () => {
  const { gateway } = await scene((_request, response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(`{"error":{"message":"no","x":${nested(20_000)}}}`);
  });
  for (const how of asked) expect((await failureOf(gateway, how)).status).toBe(400);
});

test("log probabilities of thousands of tokens pass, where they were asked for", async () => {
  const top = list(20, (nth) => ({ token: `token${nth}`, logprob: -1.5, bytes: [1, 2, 3] }));
  const logprobs = { content: list(2_000, () => ({ token: "a", logprob: -1, top_logprobs: top })) };
  const body = {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      { index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop", logprobs },
    ],
  };
  const { gateway } = await scene(complete(body), { upstream: { retries: 0 } });
  const more = { logprobs: true, top_logprobs: 20 };
  const reply = await gateway.post("/chat/completions", { ...helloChat, stream: false, ...more });
  expect(reply.status).toBe(200);
  const { choices } = (await reply.json()) as { choices: { logprobs: typeof logprobs }[] };
  expect(choices[0]?.logprobs.content).toHaveLength(2_000);
  const unasked = await failureOf(gateway, { wire: "chat", stream: false });
  expect(unasked.message).toMatch(/more than 250000 JSON values/);
});

test.each(["chat", "responses"] as const)(
  "comments for many minutes before the first word of a %s upstream are no failure",
  async (speaks) => {
    const { gateway } = await scene(
      (_request, response) => {
        beginStream(response);
        let sent = 0;
        const timer = setInterval(() => {
          response.write(": OPENROUTER PROCESSING\n\n");
          sent += 1;
          if (sent < 100) return;
          clearInterval(timer);
          if (speaks === "chat") return says(response, "late");
          const message = {
            type: "message",
            id: "m",
            content: [{ type: "output_text", text: "late" }],
          };
          response.end(
            event({ type: "response.completed", response: { id: "r", output: [message] } }),
          );
        }, 10);
      },
      // A beat stands for a second: more than ten minutes pass.
      { upstream: { speaks }, beatMs: 1 },
    );
    for (const { wire, stream } of asked) {
      const [path, body] =
        wire === "chat" ? ["/chat/completions", helloChat] : ["/responses", hello];
      expect(await (await gateway.post(path, { ...body, stream })).text()).toContain("late");
    }
  },
);

test.each(asked)(
  "an hour of nothing but comments ends: $wire, stream $stream",
  { timeout: 60_000 },
  async (how) => {
    const { gateway, upstream } = await scene(
      (_request, response) => {
        beginStream(response);
        const timer = setInterval(() => response.write(": ping\n\n"), 5);
        response.on("close", () => clearInterval(timer));
      },
      { upstream: { retries: 0 }, beatMs: 1 },
    );
    const { code, message } = await failureOf(gateway, how);
    expect(message).toMatch(/no content for 60 minutes/);
    expect(code).toMatch(/timeout/);
    await until("the upstream is let go", () => upstream.open() === 0);
  },
);

/** An upstream of raw bytes: what `answer` does with a connection that has brought a request. */
async function rawUpstream(answer: (socket: Socket) => void, idleSeconds = 5) {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.once("data", () => answer(socket));
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const settings = { retries: 0, models: ["m"], idle_timeout_seconds: idleSeconds };
  return upstreamToml("up", `http://127.0.0.1:${port}/v1`, settings);
}

test("interim replies without end are ended by their number", async () => {
  const toml = await rawUpstream((socket) => {
    const more = (): void => {
      while (!socket.destroyed)
        if (!socket.write("HTTP/1.1 102 Processing\r\n\r\n".repeat(100)))
          return void socket.once("drain", more);
    };
    more();
  });
  const gateway = await aGateway(toml);
  for (const how of asked) {
    const { status, message } = await failureOf(gateway, how);
    expect(status).toBe(502);
    expect(message).toMatch(/more than 100 interim replies/);
  }
  const embeddings = await gateway.post("/embeddings", { model: "up/m", input: "Hi" });
  expect(embeddings.status).toBe(502);
  expect(await embeddings.text()).toMatch(/more than 100 interim replies/);
  await until("the upstream is let go", () => sockets.size === 0);
});

test("interim replies do not lengthen the time that an upstream has for its reply", async () => {
  const toml = await rawUpstream((socket) => {
    const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 100);
    socket.on("close", () => clearInterval(timer));
  }, 1);
  const gateway = await aGateway(toml);
  const { status, message } = await failureOf(gateway, asked[0]);
  expect(status).toBe(504);
  expect(message).toMatch(/no reply within 1 s/);
  const embeddings = await gateway.post("/embeddings", { model: "up/m", input: "Hi" });
  expect(embeddings.status).toBe(504);
  expect(await embeddings.text()).toMatch(/no reply within 1 s/);
  await until("the upstream is let go", () => sockets.size === 0);
});

test("headers of hundreds of kilobytes are an upstream's failure", async () => {
  const toml = await rawUpstream((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(400_000)}\r\n\r\n`),
  );
  const gateway = await aGateway(toml);
  expect((await failureOf(gateway, asked[0])).status).toBe(502);
  await until("the upstream is let go", () => sockets.size === 0);
});

test("a compressed reply is not unpacked, however small it is", async () => {
  const { gateway } = await scene(
    (_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
      response.end(gzipSync(Buffer.alloc(200_000_000, " ")));
    },
    { upstream: { retries: 0 } },
  );
  for (const how of asked) expect((await failureOf(gateway, how)).code).not.toBe("undefined");
});

test("a redirect is not followed", async () => {
  const { gateway, upstream } = await scene((_request, response) => {
    response.writeHead(302, { location: "/v1/chat/completions" });
    response.end();
  });
  expect((await failureOf(gateway, asked[1])).code).toBe("upstream_redirect");
  expect(upstream.requests).toHaveLength(1);
});

test.each(asked)("a web page is no reply, and is not asked for again: %j", async (how) => {
  const { gateway, upstream } = await scene((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.write("<!do");
    setTimeout(() => response.end("ctype html><p>key-of-up-0123456789 is the key</p>"), 20);
  });
  const { code, message } = await failureOf(gateway, how);
  expect(code).toBe("upstream_web_page");
  expect(message).toContain("answered a web page (text/html), not an API; is base_url right?");
  expect(message).not.toContain("key-of-up");
  expect(upstream.requests).toHaveLength(1);
});

test("what comes behind the end is not read: the connection is closed", async () => {
  let closed: Promise<void> | undefined;
  const { gateway } = await scene((request, response) => {
    ({ closed } = request);
    beginStream(response);
    response.write(
      [event(chunk({ content: "Hi" })), event(chunk({}, "stop")), event("[DONE]")].join(""),
    );
    repeated(response, event(chunk({ content: "more" })));
  });
  for (const { wire, stream } of asked) {
    const [path, body] = wire === "chat" ? ["/chat/completions", helloChat] : ["/responses", hello];
    const began = performance.now();
    const text = await (await gateway.post(path, { ...body, stream })).text();
    expect(text).toContain("Hi");
    expect(text).not.toContain("more");
    await closed;
    expect(performance.now() - began).toBeLessThan(60_000);
  }
});
