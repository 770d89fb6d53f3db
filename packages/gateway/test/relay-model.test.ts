import { ModelError, type RoundReport } from "@deltawire/agent";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { GatewayError } from "../src/gateway-error.ts";
import { resolveModel } from "../src/models/resolve-model.ts";
import { createRelayModel } from "../src/tasks/relay-model.ts";
import type { TestGateway } from "./test-gateway.ts";
import { testGateway, gatewayFixture, waitUntilStable, waitUntil } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, sendError, streamText } from "./scripted-upstream.ts";
import { sendReply, formatStream } from "./wire-replies.ts";

const never = new AbortController().signal;
const hello: ResponsesRequest = {
  model: "a name of the agent's",
  input: "Hello",
  tools: [
    {
      type: "function",
      name: "look",
      parameters: { type: "object", properties: { at: { type: "string" } } },
    },
  ],
};

function createModel(gateway: TestGateway, name = "up/m") {
  const resolveTargets = async (model: string) => {
    const resolved = resolveModel(model, gateway.config, gateway.discovery.getModels());
    if (resolved.ok) return resolved.targets;
    throw new GatewayError("model_not_found", resolved.message);
  };
  return createRelayModel({ relay: gateway.relay, resolveTargets }, name);
}

async function collectEvents(
  gateway: TestGateway,
  { signal = never, name = "up/m", input = "Hello", events = [] as JsonObject[] } = {},
): Promise<JsonObject[]> {
  for await (const batch of createModel(gateway, name).stream({ ...hello, input }, signal))
    for (const one of batch) events.push(one as JsonObject);
  return events;
}

const requestAndCatch = (gateway: TestGateway): Promise<ModelError> =>
  collectEvents(gateway).then(
    () => expect.fail("it was answered"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ModelError);
      return error as ModelError;
    },
  );

/** Returns the last event, with the important fields of the items of its response. */
function summarizeLastEvent(events: readonly JsonObject[]): JsonObject {
  const last = events.at(-1) ?? {};
  const { output, error } = last["response"] as { output: JsonObject[]; error: JsonObject | null };
  return {
    type: last["type"],
    code: error?.["code"],
    items: output.map(({ type, status, summary, content, name, arguments: args }) => {
      const parts = (content ?? summary ?? []) as { text: string }[];
      if (type === "function_call") return { status, name, args };
      return { type, text: parts.map(({ text }) => text).join("") };
    }),
  };
}

describe.each(["chat", "responses"] as const)("on an upstream that speaks %s,", (speaks) => {
  test("reasoning, text and calls are sent as events of a Responses stream", async () => {
    const { gateway, upstream } = await gatewayFixture(
      ({ body }, response) =>
        sendReply(speaks, response, body, {
          reasoning: ["The user ", "wants a look."],
          text: ["Let me ", "look."],
          calls: [{ id: "call_a", name: "look", arguments: ['{"at":', '"Paris"}'] }],
          usage: { input: 21, output: 13 },
        }),
      { upstream: { speaks } },
    );
    const events = await collectEvents(gateway);
    expect(summarizeLastEvent(events)).toEqual({
      type: "response.completed",
      code: undefined,
      items: [
        { type: "reasoning", text: "The user wants a look." },
        { type: "message", text: "Let me look." },
        { status: "completed", name: "look", args: '{"at":"Paris"}' },
      ],
    });
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, index) => index));
    expect(upstream.requests[0]?.body).toMatchObject({ model: "m", stream: true });
  });

  test("a truncated stream ends with response.failed", async () => {
    const chunks = formatStream(speaks, {
      text: ["Let me ", "look."],
      usage: { input: 1, output: 1 },
    });
    const half = chunks.slice(0, speaks === "chat" ? 1 : 5).join("");
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        response.write(half);
        setTimeout(() => response.end(), 30);
      },
      { upstream: { speaks, retries: 0 } },
    );
    expect(summarizeLastEvent(await collectEvents(gateway))).toMatchObject({
      type: "response.failed",
      code: "upstream_stream_truncated",
      items: [{ type: "message", text: expect.stringContaining("Let me ") as string }],
    });
  });
});

test("malformed calls are completed: two with one id, split arguments, and the finish reason stop", async () => {
  const call = (index: number, fields: JsonObject): JsonObject =>
    chatChunk({ tool_calls: [{ index, ...fields }] });
  const { gateway } = await gatewayFixture((_request, response) => {
    beginStream(response);
    for (const one of [
      call(0, { id: "call_1", function: { name: "look", arguments: '{"at":' } }),
      call(0, { id: "call_1", function: { name: "look", arguments: '"Paris"}' } }),
      call(1, { id: "call_1", function: { name: "look", arguments: '{"at":"Lyon"}' } }),
      chatChunk({}, "stop"),
    ])
      response.write(formatEvent(one));
    response.end(formatEvent("[DONE]"));
  });
  const events = await collectEvents(gateway);
  expect(summarizeLastEvent(events)).toMatchObject({
    type: "response.completed",
    items: [
      { status: "completed", name: "look", args: '{"at":"Paris"}' },
      { status: "completed", name: "look", args: '{"at":"Lyon"}' },
    ],
  });
  const done = events.filter(({ type }) => type === "response.output_item.done");
  const ids = done.map(({ item }) => (item as JsonObject)["call_id"]);
  expect(new Set(ids).size).toBe(2);
});

test.each([
  [400, { message: "maximum context length is 8" }, "context_length_exceeded", false],
  [400, { message: "no such thing", code: "odd_thing" }, "odd_thing", false],
  [401, { message: "who are you" }, "upstream_rejected", false],
  [429, { message: "slow down" }, "rate_limit_exceeded", true],
  [429, { message: "x", code: "insufficient_quota" }, "insufficient_quota", false],
  [503, { message: "overloaded" }, "server_is_overloaded", true],
  [500, { message: "oops" }, "upstream_error", true],
])("an error with status %i and %o is thrown as %s", async (status, error, code, retryable) => {
  const { gateway } = await gatewayFixture(
    (_request, response) => sendError(response, status, error),
    {
      upstream: { retries: 0 },
    },
  );
  const failure = await requestAndCatch(gateway);
  expect(failure).toMatchObject({ code, retryable });
  expect(failure.message).toContain(error.message);
});

describe("the report of a round", () => {
  const collectReports = async (gateway: TestGateway): Promise<RoundReport[]> => {
    const reports: RoundReport[] = [];
    const report = (one: RoundReport): void => void reports.push(one);
    for await (const batch of createModel(gateway).stream(hello, never, report))
      // The report must be there with the last event, because the consumer may stop after it.
      if ((batch.at(-1) as JsonObject)["type"] === "response.completed") break;
    return reports;
  };

  test("is delivered once, before the last event, with repairs, attempts, lessons and the upstream", async () => {
    let requestCount = 0;
    const { gateway } = await gatewayFixture((_request, response) => {
      requestCount += 1;
      if (requestCount === 1)
        return sendError(response, 400, {
          message: "Unsupported parameter: 'stream_options' is not supported.",
          param: "stream_options",
        });
      if (requestCount === 2) return sendError(response, 500, { message: "not yet" });
      beginStream(response);
      const call = { name: "look", arguments: "{}" };
      response.write(formatEvent(chatChunk({ tool_calls: [{ index: 0, function: call }] })));
      response.end(formatEvent(chatChunk({}, "stop")) + formatEvent("[DONE]"));
    });
    const reports = await collectReports(gateway);
    expect(reports).toMatchObject([{ upstream: "up", attempts: 3 }]);
    expect(reports[0]?.lessons).toHaveLength(1);
    expect(reports[0]?.repairs).toMatchObject({ call_id_generated: 1, finish_corrected: 1 });
  });

  test.each([
    ["generic", undefined],
    ["openai", "chat_1"],
  ])("does not mention the gateway's own cache key, with the profile %s", async (profile, key) => {
    const { gateway, upstream } = await gatewayFixture(
      (_request, response) => streamText(response, "Hi"),
      {
        upstream: { profile },
      },
    );
    const reports: RoundReport[] = [];
    const request = { ...hello, prompt_cache_key: "chat_1" };
    const report = (one: RoundReport): void => void reports.push(one);
    const events: unknown[] = [];
    for await (const batch of createModel(gateway).stream(request, never, report))
      events.push(...batch);
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    expect(upstream.requests[0]?.body["prompt_cache_key"]).toBe(key);
    expect(reports).toEqual([{ upstream: "up", attempts: 1 }]);
  });

  test("is also delivered for a failed round", async () => {
    const { gateway } = await gatewayFixture(
      (_request, response) => sendError(response, 500, { message: "oops" }),
      { upstream: { retries: 1 } },
    );
    const reports: RoundReport[] = [];
    const stream = createModel(gateway).stream(hello, never, (one) => void reports.push(one));
    const next = stream[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject({ code: "upstream_error" });
    expect(reports).toEqual([{ upstream: "up", attempts: 2 }]);
  });

  test("is logged as one line for each round of a task", async () => {
    const toml = `[agents.clerk]\nmodel = "up/m"\ntool_groups = ["time"]\n`;
    let requestCount = 0;
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        requestCount += 1;
        if (requestCount === 3) return sendError(response, 401, { message: "who are you" });
        if (requestCount === 2) return streamText(response, "Noon.");
        beginStream(response);
        const call = { name: "current_time", arguments: "{}" };
        response.write(formatEvent(chatChunk({ tool_calls: [{ index: 0, function: call }] })));
        response.end(formatEvent(chatChunk({}, "tool_calls")) + formatEvent("[DONE]"));
      },
      { toml },
    );
    const first = await gateway.post("/responses", { model: "clerk", input: "The time?" });
    await gateway.post("/responses", { model: "clerk", input: "And now?" });
    const rounds = gateway.lines
      .map((line) => JSON.parse(line) as JsonObject)
      .filter(({ msg }) => msg === "model round");
    const same = { level: 30, model: "up/m", upstream: "up", upstream_model: "m" };
    const task = first.headers.get("x-deltawire-task");
    expect(rounds).toMatchObject([
      { ...same, task, repairs: { call_id_generated: 1 } },
      { ...same, task, tokens_in: 10, tokens_out: 1, ms: expect.any(Number) as number },
      { ...same, level: 40, failure: "upstream_rejected" },
    ]);
  });
});

test("the retry delay that a server requests is passed on with the error", async () => {
  const { gateway } = await gatewayFixture(
    (_request, response) => sendError(response, 429, { message: "slow" }, { "retry-after": "90" }),
    { upstream: { retries: 0 } },
  );
  expect(await requestAndCatch(gateway)).toMatchObject({ retryable: true, retryAfterMs: 90_000 });
});

test("a retry before the first byte is not visible", async () => {
  let requestCount = 0;
  const { gateway } = await gatewayFixture((_request, response) => {
    requestCount += 1;
    if (requestCount === 1) sendError(response, 500, { message: "not yet" });
    else streamText(response, "Well.");
  });
  expect(summarizeLastEvent(await collectEvents(gateway))).toMatchObject({
    items: [{ text: "Well." }],
  });
  expect(requestCount).toBe(2);
});

test("no message contains the upstream's key", async () => {
  const key = "key-of-up-0123456789";
  const error = { message: `bad key ${key}`, code: `no_${key}` };
  const rejecting = await gatewayFixture((_request, response) => sendError(response, 400, error));
  const { code, message } = await requestAndCatch(rejecting.gateway);
  expect(code + message).not.toContain(key);
  const later = await gatewayFixture((_request, response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Well" })));
    setTimeout(() => response.end(formatEvent({ error })), 30);
  });
  const events = await collectEvents(later.gateway);
  expect(summarizeLastEvent(events)).toMatchObject({ type: "response.failed" });
  expect(JSON.stringify(events)).not.toContain(key);
});

test("an unknown model is reported before any request is sent", async () => {
  const { gateway, upstream } = await gatewayFixture(() => undefined);
  const requestUnknownModel = (model: string) =>
    Promise.reject(new GatewayError("model_not_found", `no ${model}`));
  const stream = createRelayModel(
    { relay: gateway.relay, resolveTargets: requestUnknownModel },
    "nothing",
  ).stream(hello, never);
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toEqual(
    new ModelError("model_not_found", "no nothing"),
  );
  expect(upstream.requests).toEqual([]);
});

test("an abort frees the upstream, before the first byte and in mid-stream", async () => {
  for (const hasStarted of [false, true]) {
    const { gateway, upstream } = await gatewayFixture((_request, response) => {
      if (!hasStarted) return;
      beginStream(response);
      response.write(formatEvent(chatChunk({ content: "Well" })));
    });
    const controller = new AbortController();
    const events: JsonObject[] = [];
    const collected = collectEvents(gateway, { signal: controller.signal, events });
    await waitUntil("the upstream gets the request", () => upstream.requests.length === 1);
    if (hasStarted)
      await waitUntil("a word", () => events.at(-1)?.["type"] === "response.output_text.delta");
    controller.abort();
    const types = (await collected).map(({ type }) => type);
    expect(types.at(-1)).toBe(hasStarted ? "response.output_text.delta" : undefined);
    await upstream.requests[0]?.closed;
  }
});

test("an already aborted signal sends no request", async () => {
  const { gateway, upstream } = await gatewayFixture(() => undefined);
  expect(await collectEvents(gateway, { signal: AbortSignal.abort() })).toEqual([]);
  expect(upstream.startedCount()).toBe(0);
});

test("leaving the iterator frees the upstream, even while an event is awaited", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Well" })));
  });
  for await (const batch of createModel(gateway).stream(hello, never)) if (batch.length > 0) break;
  await upstream.requests[0]?.closed;

  const silent = await gatewayFixture(() => undefined);
  const iterator = createModel(silent.gateway).stream(hello, never)[Symbol.asyncIterator]();
  const awaited = iterator.next();
  await waitUntil("the upstream gets the request", () => silent.upstream.requests.length === 1);
  await iterator.return?.();
  expect(await awaited).toEqual({ done: true, value: undefined });
  await silent.upstream.requests[0]?.closed;
});

test("a slow consumer slows down the upstream, and eventually gets everything", async () => {
  const word = "word ";
  const padding = "x".repeat(16 * 1024);
  const count = 2000;
  let sent = 0;
  const { gateway } = await gatewayFixture((_request, response) => {
    beginStream(response);
    const writeMore = (): void => {
      while (sent < count) {
        sent += 1;
        if (response.write(formatEvent(chatChunk({ content: word, padding })))) continue;
        response.once("drain", writeMore);
        return;
      }
      response.end(formatEvent(chatChunk({}, "stop")) + formatEvent("[DONE]"));
    };
    writeMore();
  });
  const iterator = createModel(gateway).stream(hello, never)[Symbol.asyncIterator]();
  let length = 0;
  const take = async (): Promise<boolean> => {
    const { done, value } = await iterator.next();
    for (const one of (value ?? []) as JsonObject[])
      if (one["type"] === "response.output_text.delta")
        length += (one["delta"] as string | undefined)?.length ?? 0;
    return done !== true;
  };
  await take();
  expect(await waitUntilStable(() => sent)).toBeLessThan(count);
  while (await take());
  expect(length).toBe(count * word.length);
});

test.each([
  "clean",
  "stop-with-calls",
  "same-index",
  "missing-ids",
  "snapshot-arguments",
  "bytewise",
])("the demo model %s makes a complete tool call", async (name) => {
  const gateway = await testGateway("[server]\nport = 0\ndemo = true\n");
  const events = await collectEvents(gateway, {
    name: `demo/${name}`,
    input: "Call the tool look",
  });
  const { type, items } = summarizeLastEvent(events) as { type: string; items: JsonObject[] };
  expect(type).toBe("response.completed");
  const call = items.find((item) => item["name"] === "look");
  expect(call).toMatchObject({ status: "completed" });
  expect(() => JSON.parse(call?.["args"] as string) as unknown).not.toThrow();
});
