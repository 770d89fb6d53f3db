import { describe, expect, test } from "vitest";
import { Problem, problemReply } from "../src/problem.ts";
import { hello, helloChat, pause, scene, until } from "./scene.ts";
import { eventsOf } from "./running-gateway.ts";
import { beginStream, chunk, event, refuse, says } from "./scripted-upstream.ts";

const codex = { headers: { originator: "codex_exec" } };
const overflow = {
  message:
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  type: "invalid_request_error",
  code: "context_length_exceeded",
};

describe("a context that is too long", () => {
  test("is response.failed with context_length_exceeded for a Responses stream", async () => {
    const { gateway } = await scene((_request, response) => refuse(response, 400, overflow));
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    const events = await eventsOf(response);
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.failed",
    ]);
    expect(events.at(-1)).toMatchObject({
      response: { status: "failed", error: { code: "context_length_exceeded" } },
    });
  });

  test("is a 400 in OpenAI's shape for everybody else", async () => {
    const { gateway } = await scene((_request, response) => refuse(response, 400, overflow));
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
  test("is a 429 that carries Retry-After, the upstream's own where it has one", async () => {
    const { gateway } = await scene(
      (_request, response) =>
        refuse(response, 429, { message: "slow down" }, { "retry-after": "42" }),
      { upstream: { retries: 0 } },
    );
    const response = await gateway.post("/responses", hello, codex);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "42"]);
    expect(await response.json()).toMatchObject({
      error: { code: "rate_limit_exceeded", type: "rate_limit_error" },
    });
  });

  test("has one also where the upstream says nothing, for Codex would give up", async () => {
    const { gateway } = await scene(
      (_request, response) => refuse(response, 429, { message: "no" }),
      {
        upstream: { retries: 0 },
      },
    );
    const response = await gateway.post("/responses", hello, codex);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("that means an empty purse is told to Codex in the stream, without an invitation to come back", async () => {
    const quota = { message: "You exceeded your current quota", code: "insufficient_quota" };
    const { gateway, upstream } = await scene((_request, response) => refuse(response, 429, quota));
    const events = await eventsOf(await gateway.post("/responses", hello, codex));
    expect(events.at(-1)).toMatchObject({ response: { error: { code: "insufficient_quota" } } });
    const plain = await gateway.post("/chat/completions", helloChat);
    expect([plain.status, plain.headers.get("retry-after")]).toEqual([429, null]);
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("what goes wrong upstream", () => {
  test("with a 500 is a 502 with the cause", async () => {
    const { gateway } = await scene(
      (_request, response) => refuse(response, 500, { message: "GPU on fire" }),
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

  test("with a proxy's page is a 502 that quotes it", async () => {
    const { gateway } = await scene(
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

  test("when nobody listens is a 502 that names the upstream", async () => {
    const { gateway, upstream } = await scene(() => undefined, { upstream: { retries: 0 } });
    await upstream.close();
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      error: {
        code: "upstream_unreachable",
        message: `upstream "up" at ${upstream.url} cannot be reached: the connection was refused; is it running, and is the address right?`,
      },
    });
  });

  test("with a refused key names the variable to check", async () => {
    const { gateway } = await scene(
      (_request, response) =>
        refuse(response, 401, { message: "Incorrect API key provided: sk-very-secret-key" }),
      { upstream: { api_key: "env:SOME_KEY" }, env: { SOME_KEY: "sk-very-secret-key" } },
    );
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(401);
    const text = await response.text();
    expect(text).toContain("check SOME_KEY");
    // It is not the client's own token that is wrong.
    expect(response.headers.get("www-authenticate")).toBeNull();
    expect(text).not.toContain("sk-very-secret-key");
  });

  test("about a key stops Codex at once, with the message and no more tries", async () => {
    for (const env of [{}, { SOME_KEY: "sk-very-secret-key" }]) {
      const { gateway } = await scene(
        (_request, response) => refuse(response, 401, { message: "who are you" }),
        { upstream: { api_key: "env:SOME_KEY" }, env },
      );
      const events = await eventsOf(await gateway.post("/responses", hello, codex));
      expect(events.at(-1)).toMatchObject({
        type: "response.failed",
        response: {
          error: { code: "invalid_prompt", message: expect.stringContaining("SOME_KEY") },
        },
      });
    }
  });

  test("because nobody listens stops Codex too, also while its circuit is open", async () => {
    const { gateway, upstream } = await scene(() => undefined, { upstream: { retries: 0 } });
    await upstream.close();
    for (let round = 0; round < 7; round += 1) {
      const events = await eventsOf(await gateway.post("/responses", hello, codex));
      expect(events.at(-1)).toMatchObject({
        response: {
          error: {
            code: "invalid_prompt",
            message: expect.stringContaining("the connection was refused"),
          },
        },
      });
    }
  });

  test("because a key is not set says which, and asks nobody", async () => {
    const { gateway, upstream } = await scene((_request, response) => says(response, "x"), {
      upstream: { api_key: "env:SOME_KEY" },
    });
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("set SOME_KEY");
    expect(upstream.requests).toHaveLength(0);
  });

  test("inside a stream that has begun ends it as failed, with the provider's words", async () => {
    const { gateway } = await scene(async (_request, response) => {
      beginStream(response);
      response.write(event(chunk({ content: "Hi" })));
      await pause(20);
      response.end(event({ error: { message: "the engine stalled" } }));
    });
    const events = await eventsOf(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { message: "the engine stalled" } },
    });
    const chunks = await eventsOf(await gateway.post("/chat/completions", helloChat));
    expect(chunks.at(-1)).toMatchObject({ error: { message: "the engine stalled" } });
    expect(chunks.some((each) => "done" in each)).toBe(false);
  });

  test("by a cut is never reported as complete, to no client", async () => {
    const { gateway } = await scene(async (_request, response) => {
      beginStream(response);
      response.write(event(chunk({ content: "Hi" })));
      await pause(20);
      response.end();
    });
    const events = await eventsOf(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { code: "upstream_stream_truncated" } },
    });
    const chunks = await eventsOf(await gateway.post("/chat/completions", helloChat));
    expect(chunks.at(-1)).toMatchObject({ error: { code: "upstream_stream_truncated" } });
    expect(JSON.stringify(chunks)).not.toContain('"stop"');
  });

  test("by silence ends after the upstream's idle time", async () => {
    const { gateway } = await scene(
      (_request, response) => {
        beginStream(response);
        response.write(event(chunk({ content: "Hi" })));
      },
      { upstream: { idle_timeout_seconds: 1 } },
    );
    const events = await eventsOf(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({ response: { error: { code: "upstream_idle_timeout" } } });
  });

  test("leaves Codex no half call that it could run", async () => {
    const { gateway } = await scene(async (_request, response) => {
      beginStream(response);
      const call = {
        index: 0,
        id: "call_123456",
        type: "function",
        function: { name: "shell", arguments: '{"cmd":"rm' },
      };
      response.write(event(chunk({ tool_calls: [call] })));
      await pause(20);
      response.end();
    });
    const tools = [{ type: "function", name: "shell", parameters: { type: "object" } }];
    const forCodex = await eventsOf(await gateway.post("/responses", { ...hello, tools }, codex));
    expect(forCodex.filter(({ type }) => type === "response.output_item.done")).toEqual([]);
    expect(forCodex.at(-1)).toMatchObject({ type: "response.failed" });
    const forOthers = await eventsOf(await gateway.post("/responses", { ...hello, tools }));
    expect(forOthers.find(({ type }) => type === "response.output_item.done")).toMatchObject({
      item: { status: "incomplete" },
    });
  });
});

test("the connection's body ends after response.failed, so that Codex does not wait", async () => {
  const { gateway } = await scene(async (_request, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Hi" })));
    await pause(20);
    response.write(event({ error: { message: "stalled" } }));
  });
  const began = performance.now();
  await (await gateway.post("/responses", hello)).text();
  expect(performance.now() - began).toBeLessThan(5000);
});

test("a server that keeps the connection open after its finish costs a second, not the idle time", async () => {
  const { gateway } = await scene((_request, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Hi" }, "stop")));
  });
  const began = performance.now();
  const events = await eventsOf(await gateway.post("/responses", hello));
  expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  expect(performance.now() - began).toBeLessThan(5000);
});

test("a reply that never ends is ended, and its upstream freed, before it fills the memory", async () => {
  const text = event(chunk({ content: "x".repeat(60_000) })).repeat(16);
  const { gateway, upstream } = await scene(
    (_request, response) => {
      beginStream(response);
      const more = (): void => {
        while (response.write(text));
        response.once("drain", more);
      };
      more();
    },
    { upstream: { retries: 0 } },
  );
  const body = { ...helloChat, stream: false };
  const response = await gateway.post("/chat/completions", body);
  expect(response.status).toBe(502);
  await Promise.all(upstream.requests.map(({ closed }) => closed));
}, 60_000);

describe("the words of a refusal", () => {
  test("that do not end are waited for no longer than they are kept", async () => {
    const { gateway, upstream } = await scene((_request, response) => {
      response.writeHead(400);
      const timer = setInterval(() => response.write("no ".repeat(7000)), 10);
      response.on("close", () => clearInterval(timer));
    });
    const response = await gateway.post("/chat/completions", helloChat);
    expect(response.status).toBe(400);
    await upstream.requests[0]?.closed;
  });

  test("that hardly come are cut off", async () => {
    const { gateway } = await scene(
      (_request, response) => {
        response.writeHead(400);
        const timer = setInterval(() => response.write("n"), 5);
        response.on("close", () => clearInterval(timer));
      },
      { beatMs: 20 },
    );
    const response = await gateway.post("/chat/completions", helloChat);
    expect([response.status, (await response.text()).includes("nnn")]).toEqual([400, true]);
  });

  test("free the upstream when the client leaves", { retry: 2 }, async () => {
    const { gateway, upstream } = await scene((_request, response) => {
      response.writeHead(400);
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    });
    const leave = new AbortController();
    const asked = gateway
      .post("/chat/completions", helloChat, { signal: leave.signal })
      .catch(() => undefined);
    await until("the upstream is asked", () => upstream.requests.length === 1);
    await pause(60);
    leave.abort();
    const left = performance.now();
    await upstream.requests[0]?.closed;
    expect(performance.now() - left).toBeLessThan(100);
    await asked;
  });
});

test("the log tells why a request was refused before any upstream was asked", async () => {
  const { gateway } = await scene((_request, response) => says(response, "x"));
  await gateway.post("/responses", "{");
  await until("the log has it", () => gateway.lines.length > 0);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({
    status: 400,
    failure: "invalid_json",
  });
});

test.each([
  ["failed", 'upstream "up" failed and gave no reason'],
  ["cancelled", "the upstream cancelled the response"],
])(
  "the message says that an upstream ended with %s, where it gives no error",
  async (status, message) => {
    const { gateway } = await scene(
      (_request, response) => {
        beginStream(response);
        const ended = { id: "resp_1", object: "response", status, error: null, output: [] };
        response.end(event({ type: `response.${status}`, sequence_number: 0, response: ended }));
      },
      { upstream: { speaks: "responses", retries: 0 } },
    );
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { message, code: "upstream_error" } });
  },
);

test("an error repeats only the beginning of a long name", () => {
  const problem = new Problem("unknown_agent", `there is no agent "${"m".repeat(200_000)}"`);
  const { message } = problemReply(problem).body.error as { message: string };
  expect(message).toMatch(/^there is no agent "m+… \(200020 characters\)$/);
  expect(message.length).toBeLessThan(9_000);
});
