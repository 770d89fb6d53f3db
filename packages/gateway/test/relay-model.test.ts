import { ModelError, type RoundNotes } from "@deltawire/agent";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { Problem } from "../src/problem.ts";
import { resolveModel } from "../src/models/resolve.ts";
import { relayModel } from "../src/tasks/relay-model.ts";
import type { TestGateway } from "./running-gateway.ts";
import { aGateway, scene, standing, until } from "./scene.ts";
import { beginStream, chunk, event, refuse, says } from "./scripted-upstream.ts";
import { answers, streamed } from "./wire-replies.ts";

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

function modelOf(gateway: TestGateway, name = "up/m") {
  const targetsOf = async (model: string) => {
    const resolved = resolveModel(model, gateway.config, gateway.discovery.snapshot());
    if (resolved.ok) return resolved.targets;
    throw new Problem("model_not_found", resolved.message);
  };
  return relayModel({ relay: gateway.relay, targetsOf }, name);
}

async function told(
  gateway: TestGateway,
  { signal = never, name = "up/m", input = "Hello", events = [] as JsonObject[] } = {},
): Promise<JsonObject[]> {
  for await (const batch of modelOf(gateway, name).stream({ ...hello, input }, signal))
    for (const one of batch) events.push(one as JsonObject);
  return events;
}

const failing = (gateway: TestGateway): Promise<ModelError> =>
  told(gateway).then(
    () => expect.fail("it was answered"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ModelError);
      return error as ModelError;
    },
  );

/** The last event, with what matters of the items of its response. */
function answerOf(events: readonly JsonObject[]): JsonObject {
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
  test("reasoning, text and calls come as events of a Responses stream", async () => {
    const { gateway, upstream } = await scene(
      ({ body }, response) =>
        answers(speaks, response, body, {
          reasoning: ["The user ", "wants a look."],
          text: ["Let me ", "look."],
          calls: [{ id: "call_a", name: "look", arguments: ['{"at":', '"Paris"}'] }],
          usage: { input: 21, output: 13 },
        }),
      { upstream: { speaks } },
    );
    const events = await told(gateway);
    expect(answerOf(events)).toEqual({
      type: "response.completed",
      code: undefined,
      items: [
        { type: "reasoning", text: "The user wants a look." },
        { type: "message", text: "Let me look." },
        { status: "completed", name: "look", args: '{"at":"Paris"}' },
      ],
    });
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, at) => at));
    expect(upstream.requests[0]?.body).toMatchObject({ model: "m", stream: true });
  });

  test("a stream that is cut ends in response.failed", async () => {
    const pieces = streamed(speaks, { text: ["Let me ", "look."], usage: { input: 1, output: 1 } });
    const half = pieces.slice(0, speaks === "chat" ? 1 : 5).join("");
    const { gateway } = await scene(
      (_request, response) => {
        beginStream(response);
        response.write(half);
        setTimeout(() => response.end(), 30);
      },
      { upstream: { speaks, retries: 0 } },
    );
    expect(answerOf(await told(gateway))).toMatchObject({
      type: "response.failed",
      code: "upstream_stream_truncated",
      items: [{ type: "message", text: expect.stringContaining("Let me ") as string }],
    });
  });
});

test("messy calls are whole: two under one id, arguments in pieces, and a finish that says stop", async () => {
  const call = (index: number, fields: JsonObject): JsonObject =>
    chunk({ tool_calls: [{ index, ...fields }] });
  const { gateway } = await scene((_request, response) => {
    beginStream(response);
    for (const one of [
      call(0, { id: "call_1", function: { name: "look", arguments: '{"at":' } }),
      call(0, { id: "call_1", function: { name: "look", arguments: '"Paris"}' } }),
      call(1, { id: "call_1", function: { name: "look", arguments: '{"at":"Lyon"}' } }),
      chunk({}, "stop"),
    ])
      response.write(event(one));
    response.end(event("[DONE]"));
  });
  const events = await told(gateway);
  expect(answerOf(events)).toMatchObject({
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
  [401, { message: "who are you" }, "upstream_refused", false],
  [429, { message: "slow down" }, "rate_limit_exceeded", true],
  [429, { message: "x", code: "insufficient_quota" }, "insufficient_quota", false],
  [503, { message: "overloaded" }, "server_is_overloaded", true],
  [500, { message: "oops" }, "upstream_error", true],
])("a refusal with %i and %o is thrown as %s", async (status, error, code, retryable) => {
  const { gateway } = await scene((_request, response) => refuse(response, status, error), {
    upstream: { retries: 0 },
  });
  const failure = await failing(gateway);
  expect(failure).toMatchObject({ code, retryable });
  expect(failure.message).toContain(error.message);
});

describe("what a round took", () => {
  const notesOf = async (gateway: TestGateway): Promise<RoundNotes[]> => {
    const notes: RoundNotes[] = [];
    const report = (one: RoundNotes): void => void notes.push(one);
    for await (const batch of modelOf(gateway).stream(hello, never, report))
      // They are known when the last event comes, behind which nobody may listen any more.
      if ((batch.at(-1) as JsonObject)["type"] === "response.completed") break;
    return notes;
  };

  test("is reported once, before its last event: repairs, attempts, lessons and who answered", async () => {
    let asked = 0;
    const { gateway } = await scene((_request, response) => {
      asked += 1;
      if (asked === 1)
        return refuse(response, 400, {
          message: "Unsupported parameter: 'stream_options' is not supported.",
          param: "stream_options",
        });
      if (asked === 2) return refuse(response, 500, { message: "not yet" });
      beginStream(response);
      const call = { name: "look", arguments: "{}" };
      response.write(event(chunk({ tool_calls: [{ index: 0, function: call }] })));
      response.end(event(chunk({}, "stop")) + event("[DONE]"));
    });
    const notes = await notesOf(gateway);
    expect(notes).toMatchObject([{ upstream: "up", attempts: 3 }]);
    expect(notes[0]?.lessons).toHaveLength(1);
    expect(notes[0]?.repairs).toMatchObject({ call_id_minted: 1, finish_corrected: 1 });
  });

  test.each([
    ["generic", undefined],
    ["openai", "chat_1"],
  ])(
    "tells nothing of the key of a cache, said to a server with the profile %s only if it has one",
    async (profile, key) => {
      const { gateway, upstream } = await scene((_request, response) => says(response, "Hi"), {
        upstream: { profile },
      });
      const notes: RoundNotes[] = [];
      const request = { ...hello, prompt_cache_key: "chat_1" };
      const report = (one: RoundNotes): void => void notes.push(one);
      const events: unknown[] = [];
      for await (const batch of modelOf(gateway).stream(request, never, report))
        events.push(...batch);
      expect(events.at(-1)).toMatchObject({ type: "response.completed" });
      expect(upstream.requests[0]?.body["prompt_cache_key"]).toBe(key);
      expect(notes).toEqual([{ upstream: "up", attempts: 1 }]);
    },
  );

  test("is reported of one that failed, too", async () => {
    const { gateway } = await scene(
      (_request, response) => refuse(response, 500, { message: "oops" }),
      { upstream: { retries: 1 } },
    );
    const notes: RoundNotes[] = [];
    const stream = modelOf(gateway).stream(hello, never, (one) => void notes.push(one));
    const next = stream[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject({ code: "upstream_error" });
    expect(notes).toEqual([{ upstream: "up", attempts: 2 }]);
  });

  test("is one line in the log for every round of a task", async () => {
    const toml = `[agents.clerk]\nmodel = "up/m"\ntool_groups = ["time"]\n`;
    let asked = 0;
    const { gateway } = await scene(
      (_request, response) => {
        asked += 1;
        if (asked === 3) return refuse(response, 401, { message: "who are you" });
        if (asked === 2) return says(response, "Noon.");
        beginStream(response);
        const call = { name: "current_time", arguments: "{}" };
        response.write(event(chunk({ tool_calls: [{ index: 0, function: call }] })));
        response.end(event(chunk({}, "tool_calls")) + event("[DONE]"));
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
      { ...same, task, repairs: { call_id_minted: 1 } },
      { ...same, task, tokens_in: 10, tokens_out: 1, ms: expect.any(Number) as number },
      { ...same, level: 40, failure: "upstream_refused" },
    ]);
  });
});

test("how long a server asks to be left alone is told with the failure", async () => {
  const { gateway } = await scene(
    (_request, response) => refuse(response, 429, { message: "slow" }, { "retry-after": "90" }),
    { upstream: { retries: 0 } },
  );
  expect(await failing(gateway)).toMatchObject({ retryable: true, retryAfterMs: 90_000 });
});

test("an upstream that is asked again before its first byte is not heard of", async () => {
  let asked = 0;
  const { gateway } = await scene((_request, response) => {
    asked += 1;
    if (asked === 1) refuse(response, 500, { message: "not yet" });
    else says(response, "Well.");
  });
  expect(answerOf(await told(gateway))).toMatchObject({ items: [{ text: "Well." }] });
});

test("the key of the upstream is in no message", async () => {
  const key = "key-of-up-0123456789";
  const error = { message: `bad key ${key}`, code: `no_${key}` };
  const refusing = await scene((_request, response) => refuse(response, 400, error));
  const { code, message } = await failing(refusing.gateway);
  expect(code + message).not.toContain(key);
  const later = await scene((_request, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
    setTimeout(() => response.end(event({ error })), 30);
  });
  const events = await told(later.gateway);
  expect(answerOf(events)).toMatchObject({ type: "response.failed" });
  expect(JSON.stringify(events)).not.toContain(key);
});

test("a model that nobody has is said before anybody is asked", async () => {
  const { gateway, upstream } = await scene(() => undefined);
  const nobody = (model: string) => Promise.reject(new Problem("model_not_found", `no ${model}`));
  const stream = relayModel({ relay: gateway.relay, targetsOf: nobody }, "nothing").stream(
    hello,
    never,
  );
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toEqual(
    new ModelError("model_not_found", "no nothing"),
  );
  expect(upstream.requests).toEqual([]);
});

test("an abort frees the upstream, before the first byte and in mid-stream", async () => {
  for (const begins of [false, true]) {
    const { gateway, upstream } = await scene((_request, response) => {
      if (!begins) return;
      beginStream(response);
      response.write(event(chunk({ content: "Well" })));
    });
    const leave = new AbortController();
    const events: JsonObject[] = [];
    const ran = told(gateway, { signal: leave.signal, events });
    await until("the upstream is asked", () => upstream.requests.length === 1);
    if (begins)
      await until("a word", () => events.at(-1)?.["type"] === "response.output_text.delta");
    leave.abort();
    const types = (await ran).map(({ type }) => type);
    expect(types.at(-1)).toBe(begins ? "response.output_text.delta" : undefined);
    await upstream.requests[0]?.closed;
  }
});

test("a signal that was aborted before asks nobody", async () => {
  const { gateway, upstream } = await scene(() => undefined);
  expect(await told(gateway, { signal: AbortSignal.abort() })).toEqual([]);
  expect(upstream.begun()).toBe(0);
});

test("whoever leaves the iterator frees the upstream, also while an event is awaited", async () => {
  const { gateway, upstream } = await scene((_request, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
  });
  for await (const batch of modelOf(gateway).stream(hello, never)) if (batch.length > 0) break;
  await upstream.requests[0]?.closed;

  const silent = await scene(() => undefined);
  const iterator = modelOf(silent.gateway).stream(hello, never)[Symbol.asyncIterator]();
  const awaited = iterator.next();
  await until("the upstream is asked", () => silent.upstream.requests.length === 1);
  await iterator.return?.();
  expect(await awaited).toEqual({ done: true, value: undefined });
  await silent.upstream.requests[0]?.closed;
});

test("a consumer that lags holds up the upstream, and gets all of it in the end", async () => {
  const word = "word ";
  const padding = "x".repeat(16 * 1024);
  const count = 2000;
  let sent = 0;
  const { gateway } = await scene((_request, response) => {
    beginStream(response);
    const more = (): void => {
      while (sent < count) {
        sent += 1;
        if (response.write(event(chunk({ content: word, padding })))) continue;
        response.once("drain", more);
        return;
      }
      response.end(event(chunk({}, "stop")) + event("[DONE]"));
    };
    more();
  });
  const iterator = modelOf(gateway).stream(hello, never)[Symbol.asyncIterator]();
  let length = 0;
  const take = async (): Promise<boolean> => {
    const { done, value } = await iterator.next();
    for (const one of (value ?? []) as JsonObject[])
      if (one["type"] === "response.output_text.delta")
        length += (one["delta"] as string | undefined)?.length ?? 0;
    return done !== true;
  };
  await take();
  expect(await standing(() => sent)).toBeLessThan(count);
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
])("the demo model %s calls a tool, whole", async (name) => {
  const gateway = await aGateway("[server]\nport = 0\ndemo = true\n");
  const events = await told(gateway, { name: `demo/${name}`, input: "Call the tool look" });
  const { type, items } = answerOf(events) as { type: string; items: JsonObject[] };
  expect(type).toBe("response.completed");
  const call = items.find((item) => item["name"] === "look");
  expect(call).toMatchObject({ status: "completed" });
  expect(() => JSON.parse(call?.["args"] as string) as unknown).not.toThrow();
});
