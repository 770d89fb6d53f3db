import { describe, expect, onTestFinished, test, vi } from "vitest";
import { aGateway, anUpstream, hello, helloChat, pause, scene, until } from "./scene.ts";
import { eventsOf, upstreamToml } from "./running-gateway.ts";
import { beginStream, chunk, event, refuse, says, scriptedUpstream } from "./scripted-upstream.ts";

describe("headers and response.created", () => {
  test("go out with the upstream's first event, not with its 200", async () => {
    let first = 0;
    const { gateway } = await scene(async (_request, response) => {
      beginStream(response);
      response.flushHeaders();
      await pause(120);
      first = performance.now();
      response.write(event(chunk({ content: "Hi" })));
      response.end(event("[DONE]"));
    });
    const response = await gateway.post("/responses", hello);
    expect(first).toBeGreaterThan(0);
    const events = await eventsOf(response);
    expect(events[0]).toMatchObject({ type: "response.created" });
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    await until("the log has it", () => gateway.lines.length > 0);
    const { first_ms: firstMs, ms } = JSON.parse(gateway.lines[0] ?? "") as Record<string, number>;
    expect(firstMs).toBeGreaterThan(100);
    expect(ms).toBeGreaterThanOrEqual(firstMs ?? 0);
  });

  test("go out fifteen beats after its 200 if no event has come, and the reply goes on from there", async () => {
    const answered = Promise.withResolvers<void>();
    const { gateway } = await scene(
      async (_request, response) => {
        beginStream(response);
        response.flushHeaders();
        await answered.promise;
        says(response, "late");
      },
      { beatMs: 10 },
    );
    const response = await gateway.post("/responses", hello);
    answered.resolve();
    const events = await eventsOf(response);
    expect(events.filter(({ type }) => type === "response.created")).toHaveLength(1);
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, at) => at));
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  });
});

describe("before the first byte it tries again", () => {
  test("after a 500, and the client never knows", async () => {
    let asked = 0;
    const { gateway, upstream } = await scene((_request, response) => {
      asked += 1;
      if (asked === 1) refuse(response, 500, { message: "oops" });
      else says(response, "fine");
    });
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    expect((await eventsOf(response)).at(-1)).toMatchObject({ type: "response.completed" });
    expect(upstream.requests).toHaveLength(2);
  });

  test("after a 429, when the time it was asked to wait is over", async () => {
    const times: number[] = [];
    const { gateway } = await scene((_request, response) => {
      times.push(performance.now());
      if (times.length === 1)
        refuse(response, 429, { message: "slow down" }, { "retry-after": "1" });
      else says(response, "fine");
    });
    expect((await gateway.post("/responses", hello)).status).toBe(200);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(990);
  });

  test("after a connection that was closed without an answer", async () => {
    let asked = 0;
    const { gateway } = await scene((_request, response) => {
      asked += 1;
      if (asked === 1) response.destroy();
      else says(response, "fine");
    });
    expect((await gateway.post("/chat/completions", helloChat)).status).toBe(200);
  });

  test("after an error that came as the first event of a 200", async () => {
    let asked = 0;
    const { gateway } = await scene((_request, response) => {
      asked += 1;
      beginStream(response);
      if (asked === 1) response.end(event({ error: { message: "overloaded", code: 503 } }));
      else {
        response.write(event(chunk({ content: "fine" }, "stop")));
        response.end(event("[DONE]"));
      }
    });
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    expect((await eventsOf(response)).at(-1)).toMatchObject({ type: "response.completed" });
  });

  test("and a whole reply can be tried again even after half of it came", async () => {
    let asked = 0;
    const { gateway } = await scene((_request, response) => {
      asked += 1;
      beginStream(response);
      response.write(event(chunk({ content: "half" })));
      if (asked === 1) setTimeout(() => response.destroy(), 20);
      else {
        response.write(event(chunk({ content: " and half" }, "stop")));
        response.end(event("[DONE]"));
      }
    });
    const response = await gateway.post("/chat/completions", { ...helloChat, stream: false });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "half and half" } }],
    });
  });

  test("but never after a byte was sent", async () => {
    const { gateway, upstream } = await scene(async (_request, response) => {
      beginStream(response);
      response.write(event(chunk({ content: "Hi" })));
      await pause(30);
      response.destroy();
    });
    const events = await eventsOf(await gateway.post("/responses", hello));
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { code: "upstream_stream_truncated" } },
    });
    expect(upstream.requests).toHaveLength(1);
  });

  test("not for what will not pass: a 400 is told at once", async () => {
    const { gateway, upstream } = await scene((_request, response) => {
      refuse(response, 400, { message: "the model is tired", code: "tired", param: "mood" });
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
  async function two(
    first: Parameters<typeof anUpstream>[0],
    second: Parameters<typeof anUpstream>[0],
  ) {
    const [a, b] = [await anUpstream(first), await anUpstream(second)];
    const gateway = await aGateway(
      `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", a.url, { retries: 0 })}${upstreamToml("b", b.url, { retries: 0 })}`,
    );
    return { a, b, gateway };
  }

  test("is served by the next one if the first is down, under that one's name of the model", async () => {
    const { b, gateway } = await two(
      (_request, response) => refuse(response, 503, { message: "down" }),
      (_request, response) => says(response, "fine"),
    );
    expect((await gateway.post("/responses", { ...hello, model: "best" })).status).toBe(200);
    expect(b.requests[0]?.body["model"]).toBe("y");
    expect(JSON.parse(gateway.lines.at(-1) ?? "")).toMatchObject({
      upstream: "b",
      upstream_model: "y",
    });
  });

  test("is not tried elsewhere when the request itself is wrong", async () => {
    const { b, gateway } = await two(
      (_request, response) => refuse(response, 400, { message: "no such tool" }),
      (_request, response) => says(response, "fine"),
    );
    expect((await gateway.post("/responses", { ...hello, model: "best" })).status).toBe(400);
    expect(b.requests).toHaveLength(0);
  });

  test("stays with the first once it has said something", async () => {
    const { b, gateway } = await two(
      async (_request, response) => {
        beginStream(response);
        response.write(event(chunk({ content: "Hi" })));
        await pause(30);
        response.destroy();
      },
      (_request, response) => says(response, "fine"),
    );
    const events = await eventsOf(await gateway.post("/responses", { ...hello, model: "best" }));
    expect(events.at(-1)).toMatchObject({ type: "response.failed" });
    expect(b.requests).toHaveLength(0);
  });
});

/** Sets the clock to the end of a pause after repeated failures. */
function passPause(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 5100 });
  onTestFinished(() => void vi.useRealTimers());
}

test("a dead upstream is left alone after five failures, and asked again when its time is over", async () => {
  let works = false;
  const { gateway, upstream } = await scene(
    (_request, response) => {
      if (works) says(response, "back");
      else refuse(response, 500, { message: "dead" });
    },
    { upstream: { retries: 0 } },
  );
  for (let round = 0; round < 5; round += 1)
    expect((await gateway.post("/responses", hello)).status).toBe(502);
  const refused = await gateway.post("/responses", hello);
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ error: { code: "upstream_circuit_open" } });
  expect(upstream.requests).toHaveLength(5);
  works = true;
  passPause();
  expect((await gateway.post("/responses", hello)).status).toBe(200);
}, 30_000);

test("what only one request brings down does not shut the others out: it counts once, however often it is tried", async () => {
  const { gateway } = await scene(({ body }, response) => {
    if (JSON.stringify(body["messages"]).includes("poison"))
      refuse(response, 500, { message: "x" });
    else says(response, "fine");
  });
  for (let round = 0; round < 4; round += 1)
    expect((await gateway.post("/responses", { ...hello, input: "poison" })).status).toBe(502);
  expect((await gateway.post("/responses", hello)).status).toBe(200);
}, 30_000);

test("a model that fails pauses neither the other models nor other conversations of its upstream", async () => {
  const { gateway, upstream } = await scene(
    ({ body }, response) => {
      if (body["model"] === "broken") refuse(response, 500, { message: "out of memory" });
      else says(response, "fine");
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

test("replies that break after their beginning pause nothing, so that clients see why", async () => {
  const { gateway } = await scene((_request, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Hi" })));
    setTimeout(() => response.destroy(), 20);
  });
  for (let round = 0; round < 7; round += 1) {
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("upstream_stream_truncated");
  }
});

test("an address that cannot be reached is paused with all its models", async () => {
  const { gateway, upstream } = await scene(() => undefined, { upstream: { retries: 0 } });
  await upstream.close();
  for (const model of ["a", "b", "c", "d", "e"])
    expect((await gateway.post("/responses", { ...hello, model: `up/${model}` })).status).toBe(502);
  const response = await gateway.post("/responses", { ...hello, model: "up/f" });
  expect(response.status).toBe(503);
  expect(await response.text()).toMatch(/"upstream \\"up\\" is paused for \d s after repeated/);
});

test("a slow reply does not hold up those who wait for its model to work again", async () => {
  let works = false;
  const end = Promise.withResolvers<void>();
  const { gateway } = await scene(
    async ({ body }, response) => {
      if (!works) return refuse(response, 500, { message: "dead" });
      if (!JSON.stringify(body).includes("slow")) return says(response, "fine");
      beginStream(response);
      response.write(": thinking\n\n");
      await end.promise;
      says(response, "late");
    },
    { upstream: { retries: 0 } },
  );
  for (const input of ["a", "b", "c", "d", "e"])
    await gateway.post("/responses", { ...hello, input });
  works = true;
  passPause();
  const slow = gateway.post("/responses", { ...hello, input: "slow" });
  await until("that others may ask", async () => {
    return (await gateway.post("/responses", hello)).status === 200;
  });
  end.resolve();
  expect((await slow).status).toBe(200);
}, 30_000);

test("a client that retries by itself under an endless 429 gets it, and its retries are not multiplied", async () => {
  const { gateway, upstream } = await scene((_request, response) => {
    response.setHeader("retry-after", "0");
    refuse(response, 429, { message: "slow down", code: "rate_limit_exceeded" });
  });
  const rounds = 8;
  for (let round = 0; round < rounds; round += 1) {
    const response = await gateway.post("/responses", hello);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).not.toBeNull();
  }
  expect(upstream.requests.length).toBe(rounds + 4);
  // Somebody else still has retries.
  await gateway.post("/responses", { ...hello, input: "Something else" });
  expect(upstream.requests.length).toBe(rounds + 4 + 3);
}, 30_000);

test("a request that cannot be made does not keep a circuit shut", async () => {
  let works = false;
  const { gateway } = await scene(
    (_request, response) => {
      if (works) says(response, "back");
      else refuse(response, 500, { message: "dead" });
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

test("an error that stands first and names no status is tried again, and elsewhere", async () => {
  const failing = await anUpstream((_request, response) => {
    beginStream(response);
    response.end(event({ error: { type: "server_error", message: "something broke" } }));
  });
  const working = await anUpstream((_request, response) => says(response, "fine"));
  const gateway = await aGateway(
    `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", failing.url, { retries: 1 })}${upstreamToml("b", working.url)}`,
  );
  expect((await gateway.post("/responses", { ...hello, model: "best" })).status).toBe(200);
  expect(failing.requests).toHaveLength(2);
  expect(working.requests).toHaveLength(1);
});

test("a plain name is found at the first request, though its upstream has to be asked for its models", async () => {
  const list = JSON.stringify({ object: "list", data: [{ id: "only-there" }] });
  const lists = await scriptedUpstream((_request, response) => says(response, "fine"), {
    listModels: (response) => void response.end(list),
  });
  const other = await anUpstream((_request, response) => says(response, "wrong"));
  try {
    const gateway = await aGateway(upstreamToml("a", other.url) + upstreamToml("b", lists.url));
    const response = await gateway.post("/responses", { ...hello, model: "only-there" });
    expect(response.status).toBe(200);
    expect(lists.requests).toHaveLength(1);
  } finally {
    await lists.close();
  }
});

test("an upstream is known to be back when its reply begins, not when it ends", async () => {
  let works = false;
  const { gateway } = await scene(
    async (_request, response) => {
      if (!works) return refuse(response, 500, { message: "dead" });
      beginStream(response);
      response.write(event(chunk({ content: "long" })));
      await pause(400);
      says(response, "story");
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

test("a request that one upstream's wire cannot say goes to the next, which can", async () => {
  const chat = await anUpstream((_request, response) => says(response, "wrong"));
  const responses = await anUpstream((_request, response) => {
    response.end(
      JSON.stringify({ id: "resp_2", object: "response", status: "completed", output: [] }),
    );
  });
  const gateway = await aGateway(
    `[models]\nbest = ["a/x", "b/y"]\n${upstreamToml("a", chat.url)}${upstreamToml("b", responses.url, { speaks: "responses" })}`,
  );
  const body = { model: "best", input: "go on", previous_response_id: "resp_known_there" };
  expect((await gateway.post("/responses", body)).status).toBe(200);
  expect(responses.requests[0]?.body).toMatchObject({ previous_response_id: "resp_known_there" });
  expect(chat.requests).toHaveLength(0);
});
