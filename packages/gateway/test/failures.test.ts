import { describe, expect, test } from "vitest";
import { GatewayError, toErrorReply } from "../src/gateway-error.ts";
import { hello, helloChat, sleep, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { readEvents } from "./test-gateway.ts";
import { beginStream, chatChunk, formatEvent, sendError, streamText } from "./scripted-upstream.ts";

const codex = { headers: { originator: "codex_exec" } };
const overflow = {
  message:
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  type: "invalid_request_error",
  code: "context_length_exceeded",
};

describe("a context that is too long", () => {
  test("is response.failed with context_length_exceeded in a Responses stream", async () => {
    const { gateway } = await gatewayFixture((_request, response) =>
      sendError(response, 400, overflow),
    );
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    const events = await readEvents(response);
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.failed",
    ]);
    expect(events.at(-1)).toMatchObject({
      response: { status: "failed", error: { code: "context_length_exceeded" } },
    });
  });

  test("is a 400 in OpenAI's format for all other requests", async () => {
    const { gateway } = await gatewayFixture((_request, response) =>
      sendError(response, 400, overflow),
    );
    for (const [path, body] of [
      ["/chat/completions", helloChat],
      ["/responses", { ...hello, stream: false }],
    ] as const) {
      const response = await gateway.post(path, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: "context_length_exceeded", type: "invalid_request_error", param: null },
      });
    }
  });
});

describe("an upstream's 429", () => {
  test("stays a 429 with the upstream's Retry-After", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) =>
        sendError(response, 429, { message: "slow down" }, { "retry-after": "42" }),
      { upstream: { retries: 0 } },
    );
    const response = await gateway.post("/responses", hello, codex);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "42"]);
    expect(await response.json()).toMatchObject({
      error: { code: "rate_limit_exceeded", type: "rate_limit_error" },
    });
  });

  test("gets a Retry-After if the upstream sends none, because Codex would give up", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) => sendError(response, 429, { message: "no" }),
      {
        upstream: { retries: 0 },
      },
    );
    const response = await gateway.post("/responses", hello, codex);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("about an exhausted quota is sent to Codex in the stream, without Retry-After", async () => {
    const quota = { message: "You exceeded your current quota", code: "insufficient_quota" };
    const { gateway, upstream } = await gatewayFixture((_request, response) =>
      sendError(response, 429, quota),
    );
    const events = await readEvents(await gateway.post("/responses", hello, codex));
    expect(events.at(-1)).toMatchObject({ response: { error: { code: "insufficient_quota" } } });
    const plain = await gateway.post("/chat/completions", helloChat);
    expect([plain.status, plain.headers.get("retry-after")]).toEqual([429, null]);
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("an upstream failure", () => {
  test("with status 500 becomes a 502 with the cause", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) => sendError(response, 500, { message: "GPU on fire" }),
      {
        upstream: { retries: 0 },
      },
    );
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      error: {
        message: 'upstream "up" answered 500: GPU on fire',
        type: "server_error",
        code: "upstream_error",
      },
    });
  });

  test("with a proxy's error page becomes a 502 that quotes it", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        response.writeHead(502, { "content-type": "text/html" });
        response.end("<html>Bad Gateway</html>");
      },
      { upstream: { retries: 0 } },
    );
    const response = await gateway.post("/chat/completions", helloChat);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("Bad Gateway");
  });

  test("to connect becomes a 502 that names the upstream", async () => {
    const { gateway, upstream } = await gatewayFixture(() => undefined, {
      upstream: { retries: 0 },
    });
    await upstream.close();
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      error: {
        code: "upstream_unreachable",
        message: `upstream "up" at ${upstream.url} cannot be reached: connection refused; is it running, and is the address right?`,
      },
    });
  });

  test("with a rejected key names the variable to check", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) =>
        sendError(response, 401, { message: "Incorrect API key provided: sk-very-secret-key" }),
      { upstream: { api_key: "env:SOME_KEY" }, env: { SOME_KEY: "sk-very-secret-key" } },
    );
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(401);
    const text = await response.text();
    expect(text).toContain("check SOME_KEY");
    // The error must not say that the client's own token is wrong.
    expect(response.headers.get("www-authenticate")).toBeNull();
    expect(text).not.toContain("sk-very-secret-key");
  });

  test("about a key stops Codex immediately, with the message and without retries", async () => {
    for (const env of [{}, { SOME_KEY: "sk-very-secret-key" }]) {
      const { gateway } = await gatewayFixture(
        (_request, response) => sendError(response, 401, { message: "who are you" }),
        { upstream: { api_key: "env:SOME_KEY" }, env },
      );
      const events = await readEvents(await gateway.post("/responses", hello, codex));
      expect(events.at(-1)).toMatchObject({
        type: "response.failed",
        response: {
          error: { code: "invalid_prompt", message: expect.stringContaining("SOME_KEY") },
        },
      });
    }
  });

  test("to connect stops Codex too, even while the upstream is paused", async () => {
    const { gateway, upstream } = await gatewayFixture(() => undefined, {
      upstream: { retries: 0 },
    });
    await upstream.close();
    for (let round = 0; round < 7; round += 1) {
      const events = await readEvents(await gateway.post("/responses", hello, codex));
      expect(events.at(-1)).toMatchObject({
        response: {
          error: {
            code: "invalid_prompt",
            message: expect.stringContaining("connection refused"),
          },
        },
      });
    }
  });

  test("because of an unset key names the variable and sends no request", async () => {
    const { gateway, upstream } = await gatewayFixture(
      (_request, response) => streamText(response, "x"),
      {
        upstream: { api_key: "env:SOME_KEY" },
      },
    );
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("set SOME_KEY");
    expect(upstream.requests).toHaveLength(0);
  });

  test("in the middle of a stream ends it as failed, with the provider's message", async () => {
    const { gateway } = await gatewayFixture(async (_request, response) => {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "Hi" })));
      await sleep(20);
      response.end(formatEvent({ error: { message: "the engine stalled" } }));
    });
    const events = await readEvents(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { message: "the engine stalled" } },
    });
    const chunks = await readEvents(await gateway.post("/chat/completions", helloChat));
    expect(chunks.at(-1)).toMatchObject({ error: { message: "the engine stalled" } });
    expect(chunks.some((each) => "done" in each)).toBe(false);
  });

  test("in the form of a truncated stream is never reported as complete, to any client", async () => {
    const { gateway } = await gatewayFixture(async (_request, response) => {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "Hi" })));
      await sleep(20);
      response.end();
    });
    const events = await readEvents(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { code: "upstream_stream_truncated" } },
    });
    const chunks = await readEvents(await gateway.post("/chat/completions", helloChat));
    expect(chunks.at(-1)).toMatchObject({ error: { code: "upstream_stream_truncated" } });
    expect(JSON.stringify(chunks)).not.toContain('"stop"');
  });

  test("in the form of silence ends the stream after the upstream's idle timeout", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        response.write(formatEvent(chatChunk({ content: "Hi" })));
      },
      { upstream: { idle_timeout_seconds: 1 } },
    );
    const events = await readEvents(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({ response: { error: { code: "upstream_idle_timeout" } } });
  });

  test("leaves Codex no incomplete call that it could run", async () => {
    const { gateway } = await gatewayFixture(async (_request, response) => {
      beginStream(response);
      const call = {
        index: 0,
        id: "call_123456",
        type: "function",
        function: { name: "shell", arguments: '{"cmd":"rm' },
      };
      response.write(formatEvent(chatChunk({ tool_calls: [call] })));
      await sleep(20);
      response.end();
    });
    const tools = [{ type: "function", name: "shell", parameters: { type: "object" } }];
    const forCodex = await readEvents(await gateway.post("/responses", { ...hello, tools }, codex));
    expect(forCodex.filter(({ type }) => type === "response.output_item.done")).toEqual([]);
    expect(forCodex.at(-1)).toMatchObject({ type: "response.failed" });
    const forOthers = await readEvents(await gateway.post("/responses", { ...hello, tools }));
    expect(forOthers.find(({ type }) => type === "response.output_item.done")).toMatchObject({
      item: { status: "incomplete" },
    });
  });
});

test("a response body ends after response.failed even if the upstream keeps its stream open, so that Codex does not wait", async () => {
  const { gateway } = await gatewayFixture(async (_request, response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
    await sleep(20);
    response.write(formatEvent({ error: { message: "stalled" } }));
  });
  const startedAt = performance.now();
  await (await gateway.post("/responses", hello)).text();
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

test("an upstream that does not close its stream after the finish delays the reply by seconds, not by the idle timeout", async () => {
  const { gateway } = await gatewayFixture((_request, response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" }, "stop")));
  });
  const startedAt = performance.now();
  const events = await readEvents(await gateway.post("/responses", hello));
  expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

test("an endless non-streaming reply is aborted with a 502 before it fills the memory", async () => {
  const text = formatEvent(chatChunk({ content: "x".repeat(60_000) })).repeat(16);
  const { gateway, upstream } = await gatewayFixture(
    (_request, response) => {
      beginStream(response);
      const writeMore = (): void => {
        while (response.write(text));
        response.once("drain", writeMore);
      };
      writeMore();
    },
    { upstream: { retries: 0 } },
  );
  const body = { ...helloChat, stream: false };
  const response = await gateway.post("/chat/completions", body);
  expect(response.status).toBe(502);
  await Promise.all(upstream.requests.map(({ closed }) => closed));
}, 60_000);

describe("the body of an error response", () => {
  test("that does not end is read only up to its size limit", async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      response.writeHead(400);
      const timer = setInterval(() => response.write("no ".repeat(7000)), 10);
      response.on("close", () => clearInterval(timer));
    });
    const response = await gateway.post("/chat/completions", helloChat);
    expect(response.status).toBe(400);
    await upstream.requests[0]?.closed;
  });

  test("that arrives too slowly is cut off", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        response.writeHead(400);
        const timer = setInterval(() => response.write("n"), 5);
        response.on("close", () => clearInterval(timer));
      },
      { tickMs: 20 },
    );
    const response = await gateway.post("/chat/completions", helloChat);
    expect([response.status, (await response.text()).includes("nnn")]).toEqual([400, true]);
  });

  test("is abandoned when the client disconnects", { retry: 2 }, async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      response.writeHead(400);
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    });
    const controller = new AbortController();
    const request = gateway
      .post("/chat/completions", helloChat, { signal: controller.signal })
      .catch(() => undefined);
    await waitUntil("the upstream gets the request", () => upstream.requests.length === 1);
    await sleep(60);
    controller.abort();
    const disconnectedAt = performance.now();
    await upstream.requests[0]?.closed;
    expect(performance.now() - disconnectedAt).toBeLessThan(100);
    await request;
  });
});

test("the log contains why a request was rejected before it was sent upstream", async () => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "x"));
  await gateway.post("/responses", "{");
  await waitUntil("it is logged", () => gateway.lines.length > 0);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({
    status: 400,
    failure: "invalid_json",
  });
});

test.each([
  ["failed", 'upstream "up" failed without an error message'],
  ["cancelled", "the upstream canceled the response"],
])(
  "a response that ended as %s without an error gets a message that says so",
  async (status, message) => {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        const ended = { id: "resp_1", object: "response", status, error: null, output: [] };
        response.end(
          formatEvent({ type: `response.${status}`, sequence_number: 0, response: ended }),
        );
      },
      { upstream: { speaks: "responses", retries: 0 } },
    );
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { message, code: "upstream_error" } });
  },
);

test("an error repeats only the beginning of a long name", () => {
  const problem = new GatewayError("agent_not_found", `there is no agent "${"m".repeat(200_000)}"`);
  const { message } = toErrorReply(problem).body.error as { message: string };
  expect(message).toMatch(/^there is no agent "m+… \(200020 characters\)$/);
  expect(message.length).toBeLessThan(9_000);
});
