import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  testGateway,
  testUpstream,
  hello,
  helloChat,
  sleep,
  gatewayFixture,
  waitUntil,
} from "./gateway-fixture.ts";
import { readEvents, upstreamToml } from "./test-gateway.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  sendError,
  streamText,
  scriptedUpstream,
} from "./scripted-upstream.ts";

describe("headers and response.created", () => {
  test("are sent with the upstream's first event, not with its 200", async () => {
    let first = 0;
    const { gateway } = await gatewayFixture(async (_request, response) => {
      beginStream(response);
      response.flushHeaders();
      await sleep(120);
      first = performance.now();
      response.write(formatEvent(chatChunk({ content: "Hi" })));
      response.end(formatEvent("[DONE]"));
    });
    const response = await gateway.post("/responses", hello);
    expect(first).toBeGreaterThan(0);
    const events = await readEvents(response);
    expect(events[0]).toMatchObject({ type: "response.created" });
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    await waitUntil("it is logged", () => gateway.lines.length > 0);
    const { first_ms: firstMs, ms } = JSON.parse(gateway.lines[0] ?? "") as Record<string, number>;
    expect(firstMs).toBeGreaterThan(100);
    expect(ms).toBeGreaterThanOrEqual(firstMs ?? 0);
  });

  test("are sent fifteen ticks after its 200 if there is no event, and the reply continues from there", async () => {
    const answered = Promise.withResolvers<void>();
    const { gateway } = await gatewayFixture(
      async (_request, response) => {
        beginStream(response);
        response.flushHeaders();
        await answered.promise;
        streamText(response, "late");
      },
      { tickMs: 10 },
    );
    const response = await gateway.post("/responses", hello);
    answered.resolve();
    const events = await readEvents(response);
    expect(events.filter(({ type }) => type === "response.created")).toHaveLength(1);
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  });
});

describe("before the first byte the request is retried", () => {
  test("after a 500, without notice to the client", async () => {
    let requestCount = 0;
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      requestCount += 1;
      if (requestCount === 1) sendError(response, 500, { message: "oops" });
      else streamText(response, "fine");
    });
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    expect((await readEvents(response)).at(-1)).toMatchObject({ type: "response.completed" });
    expect(upstream.requests).toHaveLength(2);
  });

  test("after a 429, once retry-after has elapsed", async () => {
    const times: number[] = [];
    const { gateway } = await gatewayFixture((_request, response) => {
      times.push(performance.now());
      if (times.length === 1)
        sendError(response, 429, { message: "slow down" }, { "retry-after": "1" });
      else streamText(response, "fine");
    });
    expect((await gateway.post("/responses", hello)).status).toBe(200);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(990);
  });

  test("after a connection that was closed without a response", async () => {
    let requestCount = 0;
    const { gateway } = await gatewayFixture((_request, response) => {
      requestCount += 1;
      if (requestCount === 1) response.destroy();
      else streamText(response, "fine");
    });
    expect((await gateway.post("/chat/completions", helloChat)).status).toBe(200);
  });

  test("after an error as the first event of a 200", async () => {
    let requestCount = 0;
    const { gateway } = await gatewayFixture((_request, response) => {
      requestCount += 1;
      beginStream(response);
      if (requestCount === 1)
        response.end(formatEvent({ error: { message: "overloaded", code: 503 } }));
      else {
        response.write(formatEvent(chatChunk({ content: "fine" }, "stop")));
        response.end(formatEvent("[DONE]"));
      }
    });
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    expect((await readEvents(response)).at(-1)).toMatchObject({ type: "response.completed" });
  });

  test("for a complete reply even after half of it has arrived", async () => {
    let requestCount = 0;
    const { gateway } = await gatewayFixture((_request, response) => {
      requestCount += 1;
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "half" })));
      if (requestCount === 1) setTimeout(() => response.destroy(), 20);
      else {
        response.write(formatEvent(chatChunk({ content: " and half" }, "stop")));
        response.end(formatEvent("[DONE]"));
      }
    });
    const response = await gateway.post("/chat/completions", { ...helloChat, stream: false });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "half and half" } }],
    });
  });

  test("but never after the first byte was sent", async () => {
    const { gateway, upstream } = await gatewayFixture(async (_request, response) => {
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "Hi" })));
      await sleep(30);
      response.destroy();
    });
    const events = await readEvents(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { code: "upstream_stream_truncated" } },
    });
    expect(upstream.requests).toHaveLength(1);
  });

  test("but not after a permanent error: a 400 is reported immediately", async () => {
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      sendError(response, 400, { message: "the model is tired", code: "tired", param: "mood" });
    });
    const response = await gateway.post("/chat/completions", helloChat);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        code: "tired",
        param: "mood",
        message: 'upstream "up" answered 400: the model is tired',
      },
    });
    expect(upstream.requests).toHaveLength(1);
  });
});

describe("a model with several upstreams", () => {
  async function startTwoUpstreams(
    first: Parameters<typeof testUpstream>[0],
    second: Parameters<typeof testUpstream>[0],
  ) {
    const [a, b] = [await testUpstream(first), await testUpstream(second)];
    const gateway = await testGateway(
      `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", a.url, { retries: 0 })}${upstreamToml("b", b.url, { retries: 0 })}`,
    );
    return { a, b, gateway };
  }

  test("is served by the next one, under its own name for the model, if the first is down", async () => {
    const { b, gateway } = await startTwoUpstreams(
      (_request, response) => sendError(response, 503, { message: "down" }),
      (_request, response) => streamText(response, "fine"),
    );
    expect((await gateway.post("/responses", { ...hello, model: "best" })).status).toBe(200);
    expect(b.requests[0]?.body["model"]).toBe("y");
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
      upstream: "b",
      upstream_model: "y",
    });
  });

  test("does not fall back if the request itself is invalid", async () => {
    const { b, gateway } = await startTwoUpstreams(
      (_request, response) => sendError(response, 400, { message: "no such tool" }),
      (_request, response) => streamText(response, "fine"),
    );
    expect((await gateway.post("/responses", { ...hello, model: "best" })).status).toBe(400);
    expect(b.requests).toHaveLength(0);
  });

  test("stays with the first once it has sent something", async () => {
    const { b, gateway } = await startTwoUpstreams(
      async (_request, response) => {
        beginStream(response);
        response.write(formatEvent(chatChunk({ content: "Hi" })));
        await sleep(30);
        response.destroy();
      },
      (_request, response) => streamText(response, "fine"),
    );
    const events = await readEvents(await gateway.post("/responses", { ...hello, model: "best" }));
    expect(events.at(-1)).toMatchObject({ type: "response.failed" });
    expect(b.requests).toHaveLength(0);
  });
});

/** Advances the clock to the end of a pause after repeated failures. */
function passPause(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5100 });
  onTestFinished(() => void vi.useRealTimers());
}

test("an upstream is paused after five failures, and tried again after the pause", async () => {
  let works = false;
  const { gateway, upstream } = await gatewayFixture(
    (_request, response) => {
      if (works) streamText(response, "back");
      else sendError(response, 500, { message: "dead" });
    },
    { upstream: { retries: 0 } },
  );
  for (let round = 0; round < 5; round += 1)
    expect((await gateway.post("/responses", hello)).status).toBe(502);
  const rejected = await gateway.post("/responses", hello);
  expect(rejected.status).toBe(503);
  expect(Number(rejected.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await rejected.json()).toMatchObject({ error: { code: "upstream_circuit_open" } });
  expect(upstream.requests).toHaveLength(5);
  works = true;
  passPause();
  expect((await gateway.post("/responses", hello)).status).toBe(200);
}, 30_000);

test("a request that crashes the server does not pause others: it counts once, regardless of its retries", async () => {
  const { gateway } = await gatewayFixture(({ body }, response) => {
    if (JSON.stringify(body["messages"]).includes("poison"))
      sendError(response, 500, { message: "x" });
    else streamText(response, "fine");
  });
  for (let round = 0; round < 4; round += 1)
    expect((await gateway.post("/responses", { ...hello, input: "poison" })).status).toBe(502);
  expect((await gateway.post("/responses", hello)).status).toBe(200);
}, 30_000);

test("a failing model pauses neither other models nor other conversations of its upstream", async () => {
  const { gateway, upstream } = await gatewayFixture(
    ({ body }, response) => {
      if (body["model"] === "broken") sendError(response, 500, { message: "out of memory" });
      else streamText(response, "fine");
    },
    { upstream: { retries: 0 } },
  );
  const broken = { ...hello, model: "up/broken" };
  for (let round = 0; round < 5; round += 1) await gateway.post("/responses", broken);
  const other = { ...broken, input: "Another conversation" };
  expect((await gateway.post("/responses", other)).status).toBe(502);
  for (const paused of [broken, other]) {
    const response = await gateway.post("/responses", paused);
    expect(response.status).toBe(503);
    expect(await response.text()).toMatch(
      /model \\"broken\\" of upstream \\"up\\" is paused for \d s after repeated failures; last error: .*out of memory/,
    );
  }
  expect(upstream.requests).toHaveLength(6);
  expect((await gateway.post("/responses", hello)).status).toBe(200);
  const status = await (await fetch(`${gateway.url}/deltawire/upstreams`)).json();
  expect(status).toMatchObject({
    upstreams: [{ circuit: "closed", paused_models: [{ model: "broken" }] }],
  });
});

test("replies that break after their start cause no pause, so that clients see the reason", async () => {
  const { gateway } = await gatewayFixture((_request, response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
    setTimeout(() => response.destroy(), 20);
  });
  for (let round = 0; round < 7; round += 1) {
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("upstream_stream_truncated");
  }
});

test("an unreachable address is paused with all its models", async () => {
  const { gateway, upstream } = await gatewayFixture(() => undefined, { upstream: { retries: 0 } });
  await upstream.close();
  for (const model of ["a", "b", "c", "d", "e"])
    expect((await gateway.post("/responses", { ...hello, model: `up/${model}` })).status).toBe(502);
  const response = await gateway.post("/responses", { ...hello, model: "up/f" });
  expect(response.status).toBe(503);
  expect(await response.text()).toMatch(/"upstream \\"up\\" is paused for \d s after repeated/);
});

test("a slow reply of a trial request does not delay other requests to its model", async () => {
  let works = false;
  const end = Promise.withResolvers<void>();
  const { gateway } = await gatewayFixture(
    async ({ body }, response) => {
      if (!works) return sendError(response, 500, { message: "dead" });
      if (!JSON.stringify(body).includes("slow")) return streamText(response, "fine");
      beginStream(response);
      response.write(": thinking\n\n");
      await end.promise;
      streamText(response, "late");
    },
    { upstream: { retries: 0 } },
  );
  for (const input of ["a", "b", "c", "d", "e"])
    await gateway.post("/responses", { ...hello, input });
  works = true;
  passPause();
  const slow = gateway.post("/responses", { ...hello, input: "slow" });
  await waitUntil("that others may ask", async () => {
    return (await gateway.post("/responses", hello)).status === 200;
  });
  end.resolve();
  expect((await slow).status).toBe(200);
}, 30_000);

test("a client that retries itself receives an endless 429, and its retries are not multiplied", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    response.setHeader("retry-after", "0");
    sendError(response, 429, { message: "slow down", code: "rate_limit_exceeded" });
  });
  const rounds = 8;
  for (let round = 0; round < rounds; round += 1) {
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).not.toBeNull();
  }
  expect(upstream.requests.length).toBe(rounds + 4);
  // Other clients still have retries.
  await gateway.post("/responses", { ...hello, input: "Something else" });
  expect(upstream.requests.length).toBe(rounds + 4 + 3);
}, 30_000);

test("a request that cannot be built does not keep a circuit breaker open", async () => {
  let works = false;
  const { gateway } = await gatewayFixture(
    (_request, response) => {
      if (works) streamText(response, "back");
      else sendError(response, 500, { message: "dead" });
    },
    { upstream: { retries: 0 } },
  );
  for (let round = 0; round < 5; round += 1) await gateway.post("/responses", hello);
  works = true;
  passPause();
  const unknown = { ...hello, previous_response_id: "resp_unknown" };
  expect((await gateway.post("/responses", unknown)).status).toBe(400);
  expect((await gateway.post("/responses", hello)).status).toBe(200);
}, 30_000);

test("an error as the first event without a status is retried, including at other upstreams", async () => {
  const failing = await testUpstream((_request, response) => {
    beginStream(response);
    response.end(formatEvent({ error: { type: "server_error", message: "something broke" } }));
  });
  const working = await testUpstream((_request, response) => streamText(response, "fine"));
  const gateway = await testGateway(
    `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", failing.url, { retries: 1 })}${upstreamToml("b", working.url)}`,
  );
  expect((await gateway.post("/responses", { ...hello, model: "best" })).status).toBe(200);
  expect(failing.requests).toHaveLength(2);
  expect(working.requests).toHaveLength(1);
});

test("a plain name is resolved on the first request, even if the model list must be fetched", async () => {
  const list = JSON.stringify({ object: "list", data: [{ id: "only-there" }] });
  const lists = await scriptedUpstream((_request, response) => streamText(response, "fine"), {
    listModels: (response) => void response.end(list),
  });
  const other = await testUpstream((_request, response) => streamText(response, "wrong"));
  try {
    const gateway = await testGateway(upstreamToml("a", other.url) + upstreamToml("b", lists.url));
    const response = await gateway.post("/responses", { ...hello, model: "only-there" });
    expect(response.status).toBe(200);
    expect(lists.requests).toHaveLength(1);
  } finally {
    await lists.close();
  }
});

test("an upstream counts as recovered when its reply starts, not when it ends", async () => {
  let works = false;
  const { gateway } = await gatewayFixture(
    async (_request, response) => {
      if (!works) return sendError(response, 500, { message: "dead" });
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "long" })));
      await sleep(400);
      streamText(response, "story");
    },
    { upstream: { retries: 0 } },
  );
  for (let round = 0; round < 5; round += 1) await gateway.post("/responses", hello);
  works = true;
  passPause();
  const first = await gateway.post("/responses", hello);
  expect([first.status, (await gateway.post("/responses", hello)).status]).toEqual([200, 200]);
  await first.text();
}, 30_000);

test("a request that the wire of one upstream cannot express is sent to the next, which can", async () => {
  const chat = await testUpstream((_request, response) => streamText(response, "wrong"));
  const responses = await testUpstream((_request, response) => {
    response.end(
      JSON.stringify({ id: "resp_2", object: "response", status: "completed", output: [] }),
    );
  });
  const gateway = await testGateway(
    `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", chat.url)}${upstreamToml("b", responses.url, { speaks: "responses" })}`,
  );
  const body = { model: "best", input: "go on", previous_response_id: "resp_known_there" };
  expect((await gateway.post("/responses", body)).status).toBe(200);
  expect(responses.requests[0]?.body).toMatchObject({ previous_response_id: "resp_known_there" });
  expect(chat.requests).toHaveLength(0);
});
