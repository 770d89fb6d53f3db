import type { ServerResponse } from "node:http";
import { fetchModel, ModelError, type FetchModelOptions } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { afterEach, describe, expect, test } from "vitest";
import {
  beginStream,
  chunk,
  event,
  inPieces,
  modelServer,
  refuse,
  type Asked,
  type ModelServer,
} from "./model-server.ts";

const open: ModelServer[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function server(
  script: (asked: Asked, response: ServerResponse) => void | Promise<void>,
): Promise<ModelServer> {
  const one = await modelServer(script);
  open.push(one);
  return one;
}

const key = "sk-secret-0123456789";
const never = new AbortController().signal;
const hello = {
  model: "m",
  input: "Hello",
  tools: [
    {
      type: "function" as const,
      name: "look",
      parameters: { type: "object", properties: { at: { type: "string" } } },
    },
  ],
};

type Speaks = FetchModelOptions["speaks"];
const modelOf = (url: string, more: Partial<FetchModelOptions> = {}) =>
  fetchModel({ baseUrl: url, apiKey: key, speaks: "chat", ...more });

async function told(url: string, more: Partial<FetchModelOptions> = {}): Promise<JsonObject[]> {
  const events: JsonObject[] = [];
  for await (const batch of modelOf(url, more).stream(hello, never))
    for (const one of batch) events.push(one as JsonObject);
  return events;
}

/** The response that the last event tells, with what matters of its items. */
function answerOf(events: readonly JsonObject[]): JsonObject {
  const last = events.at(-1) ?? {};
  const response = last["response"] as JsonObject;
  const output = response["output"] as JsonObject[];
  return {
    type: last["type"],
    error: response["error"],
    items: output.map(({ type, status, summary, content, call_id, name, arguments: args }) => {
      const parts = (content ?? summary ?? []) as { text: string }[];
      if (type === "function_call") return { status, call_id, name, args };
      return { type, status, text: parts.map(({ text }) => text).join("") };
    }),
  };
}

const failing = (url: string, more: Partial<FetchModelOptions> = {}): Promise<ModelError> =>
  told(url, more).then(
    () => expect.fail("it was answered"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ModelError);
      return error as ModelError;
    },
  );

const call = (index: number, fields: JsonObject): JsonObject =>
  chunk({ tool_calls: [{ index, ...fields }] });

/** Two calls under one id, arguments in pieces, a name on every delta, and a finish that says nothing of calls. */
const messyChat = [
  chunk({ role: "assistant", reasoning_content: "Hmm, " }),
  chunk({ reasoning_content: "ünïcode 🦊." }),
  chunk({ content: "Let me look." }),
  call(0, { id: "call_1", type: "function", function: { name: "look", arguments: "" } }),
  call(0, { id: "call_1", function: { name: "look", arguments: '{"at":' } }),
  call(0, { function: { arguments: '"Paris"}' } }),
  call(1, { id: "call_1", function: { name: "look", arguments: '{"at":"Lyon"}' } }),
  chunk({}, "stop"),
  {
    ...chunk({}),
    choices: [],
    usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
  },
];
const chatText = messyChat.map(event).join("") + event("[DONE]");

const item = { id: "msg_1", type: "message", role: "assistant" };
const callItem = { id: "fc_1", type: "function_call", call_id: "call_1", name: "look" };
const responseOf = (status: string, output: JsonObject[]): JsonObject => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status,
  model: "some-model",
  error: null,
  output,
  usage: status === "completed" ? { input_tokens: 7, output_tokens: 5, total_tokens: 12 } : null,
});
const text = (words: string) => ({ type: "output_text", text: words, annotations: [] });
const doneItems = [
  { ...item, status: "completed", content: [text("Let me look. 🦊")] },
  { ...callItem, status: "completed", arguments: '{"at":"Paris"}' },
];
/** Items that are never announced, an item twice, numbers out of order, and lines that are no events. */
const responsesEvents: JsonObject[] = [
  { type: "response.created", response: responseOf("in_progress", []) },
  { type: "ping" },
  { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
  {
    type: "response.content_part.added",
    output_index: 0,
    item_id: "msg_1",
    content_index: 0,
    part: text(""),
  },
  {
    type: "response.output_text.delta",
    output_index: 0,
    item_id: "msg_1",
    content_index: 0,
    delta: "Let me ",
  },
  {
    type: "response.output_text.delta",
    output_index: 0,
    item_id: "msg_1",
    content_index: 0,
    delta: "look. 🦊",
  },
  { type: "response.output_item.done", output_index: 0, item: doneItems[0] ?? {} },
  { type: "response.output_item.done", output_index: 0, item: doneItems[0] ?? {} },
  { type: "response.output_item.done", output_index: 1, item: doneItems[1] ?? {} },
  { type: "response.completed", response: responseOf("completed", []) },
];
const responsesText = responsesEvents
  .map((each) => event({ ...each, sequence_number: 3 }))
  .join("");

describe.each([1, 7, 100_000])("in packets of %i bytes,", (size) => {
  test("a messy Chat stream is whole: every call has an id of its own and can be run", async () => {
    const { url, asked } = await server(async (_asked, response) => {
      beginStream(response);
      await inPieces(response, chatText, size);
      response.end();
    });
    const events = await told(url);
    expect(answerOf(events)).toEqual({
      type: "response.completed",
      error: null,
      items: [
        { type: "reasoning", status: "completed", text: "Hmm, ünïcode 🦊." },
        { type: "message", status: "completed", text: "Let me look." },
        { status: "completed", call_id: "call_1", name: "look", args: '{"at":"Paris"}' },
        {
          status: "completed",
          call_id: expect.not.stringMatching(/^call_1$/) as string,
          name: "look",
          args: '{"at":"Lyon"}',
        },
      ],
    });
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, at) => at));
    expect(asked[0]).toMatchObject({
      path: "/v1/chat/completions",
      headers: { authorization: `Bearer ${key}` },
      body: { model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] },
    });
  });

  test("a messy Responses stream is whole: every item once, events numbered from 0", async () => {
    const { url, asked } = await server(async (_asked, response) => {
      beginStream(response);
      await inPieces(response, responsesText, size);
      response.end();
    });
    const events = await told(url, { speaks: "responses" });
    expect(answerOf(events)).toEqual({
      type: "response.completed",
      error: null,
      items: [
        { type: "message", status: "completed", text: "Let me look. 🦊" },
        { status: "completed", call_id: "call_1", name: "look", args: '{"at":"Paris"}' },
      ],
    });
    expect(events.filter(({ type }) => type === "response.output_item.added")).toHaveLength(2);
    expect(events.filter(({ type }) => type === "response.output_item.done")).toHaveLength(2);
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, at) => at));
    expect(asked[0]).toMatchObject({
      path: "/v1/responses",
      body: { model: "m", stream: true, store: false, input: "Hello" },
    });
  });
});

test.each<[Speaks, string]>([
  ["chat", messyChat.slice(0, 5).map(event).join("")],
  [
    "responses",
    [
      ...responsesEvents.slice(0, 7),
      { type: "response.output_item.added", output_index: 1, item: { ...callItem, arguments: "" } },
      {
        type: "response.function_call_arguments.delta",
        output_index: 1,
        item_id: "fc_1",
        delta: '{"at"',
      },
    ]
      .map(event)
      .join(""),
  ],
])(
  "a %s stream that is cut ends in response.failed, and a call that was cut is incomplete",
  async (speaks, half) => {
    for (const how of ["ends", "breaks"] as const) {
      const { url } = await server((_asked, response) => {
        beginStream(response);
        response.write(half, () => {
          if (how === "ends") response.end();
          else setTimeout(() => response.destroy(), 20);
        });
      });
      const answer = answerOf(await told(url, { speaks }));
      expect(answer).toMatchObject({
        type: "response.failed",
        error: { code: "upstream_stream_truncated" },
      });
      expect(answer["items"]).toContainEqual(
        expect.objectContaining({ name: "look", status: "incomplete" }),
      );
    }
  },
);

test("a server that finishes and never closes has a second; the usage it sent counts", async () => {
  const { url, asked } = await server((_asked, response) => {
    beginStream(response);
    response.write(messyChat.map(event).join(""));
    const timer = setInterval(() => response.write(": still here\n\n"), 100);
    response.on("close", () => clearInterval(timer));
  });
  const began = performance.now();
  const events = await told(url);
  expect(performance.now() - began).toBeGreaterThan(900);
  expect(performance.now() - began).toBeLessThan(5000);
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { usage: { input_tokens: 7, output_tokens: 5 } },
  });
  await asked[0]?.closed;
});

test("a server that falls silent is cut off, and one whose reader is slow is not", async () => {
  const { url } = await server((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
  });
  expect(answerOf(await told(url, { idleTimeoutMs: 100 }))).toMatchObject({
    type: "response.failed",
    error: { code: "upstream_idle_timeout" },
  });

  const fast = await server((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
    setTimeout(() => response.end(event(chunk({}, "stop")) + event("[DONE]")), 20);
  });
  let last: unknown;
  for await (const batch of modelOf(fast.url, { idleTimeoutMs: 500 }).stream(hello, never)) {
    await new Promise((resolve) => setTimeout(resolve, 700));
    last = batch.at(-1)?.type;
  }
  expect(last).toBe("response.completed");
});

test("a server that never answers is a time-out that may pass", async () => {
  const { url } = await server(() => undefined);
  expect(await failing(url, { idleTimeoutMs: 50 })).toMatchObject({
    code: "upstream_timeout",
    retryable: true,
  });
});

test("an abort before the first byte ends the stream and frees the connection", async () => {
  const { url, asked } = await server(() => undefined);
  const leave = new AbortController();
  const ran = modelOf(url).stream(hello, leave.signal)[Symbol.asyncIterator]().next();
  await expect.poll(() => asked.length, { timeout: 5000 }).toBe(1);
  leave.abort();
  expect(await ran).toEqual({ done: true, value: undefined });
  await asked[0]?.closed;
});

test("an abort in mid-stream ends the stream without another event and frees the connection", async () => {
  const { url, asked } = await server((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
  });
  const leave = new AbortController();
  const types: unknown[] = [];
  for await (const batch of modelOf(url).stream(hello, leave.signal)) {
    types.push(...batch.map(({ type }) => type));
    setTimeout(() => leave.abort(), 20);
  }
  expect(types.at(-1)).toBe("response.output_text.delta");
  await asked[0]?.closed;
});

test("whoever stops reading early frees the connection", async () => {
  const { url, asked } = await server((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
  });
  for await (const batch of modelOf(url).stream(hello, never)) if (batch.length > 0) break;
  expect(asked).toHaveLength(1);
  await asked[0]?.closed;
});

test("a signal that was aborted before asks nobody", async () => {
  const { url, asked } = await server(() => undefined);
  const batches: unknown[] = [];
  for await (const batch of modelOf(url).stream(hello, AbortSignal.abort())) batches.push(batch);
  expect([batches, asked]).toEqual([[], []]);
});

test("a connection is used again after a whole reply", async () => {
  const { url, connections } = await server((_asked, response) => {
    beginStream(response);
    response.end(chatText);
  });
  for (let round = 0; round < 3; round += 1) {
    await told(url);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(connections()).toBe(1);
});

const refusals: [string, number, unknown, { code: string; retryable: boolean }][] = [
  [
    "a prompt that is too long",
    400,
    { message: "This model's maximum context length is 8 tokens", type: "invalid_request_error" },
    { code: "context_length_exceeded", retryable: false },
  ],
  [
    "too many requests",
    429,
    { message: "slow down" },
    { code: "rate_limit_exceeded", retryable: true },
  ],
  [
    "no more money",
    429,
    { message: "You exceeded your current quota", code: "insufficient_quota" },
    { code: "insufficient_quota", retryable: false },
  ],
  ["an overload", 503, "busy", { code: "server_is_overloaded", retryable: true }],
  ["a broken server", 500, { message: "oops" }, { code: "upstream_error", retryable: true }],
  [
    "a code of its own",
    400,
    { message: "no such model", code: "model_not_found" },
    { code: "model_not_found", retryable: false },
  ],
  ["bad words", 422, { message: "no" }, { code: "upstream_refused", retryable: false }],
];

test.each(refusals)(
  "%s is told by its code, with the provider's words",
  async (_name, status, error, expected) => {
    const { url } = await server((_asked, response) => refuse(response, status, error));
    const failure = await failing(url);
    expect({ code: failure.code, retryable: failure.retryable }).toEqual(expected);
    const { message } = Object(error) as { message?: string };
    expect(failure.message).toContain(message ?? "busy");
  },
);

test.each<Speaks>(["chat", "responses"])(
  "an error instead of a %s reply is a refusal",
  async (speaks) => {
    const error = { message: "prompt is too long", type: "invalid_request_error" };
    const { url } = await server((_asked, response) => {
      beginStream(response);
      response.end(event(speaks === "chat" ? { error } : { type: "error", error }));
    });
    expect(await failing(url, { speaks })).toMatchObject({
      code: "context_length_exceeded",
      retryable: false,
    });
  },
);

test("a reply that says nothing at all may be something the next time", async () => {
  const { url } = await server((_asked, response) => {
    beginStream(response);
    response.end();
  });
  expect(await failing(url)).toMatchObject({ code: "upstream_error", retryable: true });
});

test("a server that is not there is told with its address", async () => {
  const { url, close } = await modelServer(() => undefined);
  await close();
  const failure = await failing(url);
  expect(failure).toMatchObject({ code: "upstream_unreachable", retryable: true });
  expect(failure.message).toContain(url);
});

test("a redirect is not followed", async () => {
  const other = await server(() => undefined);
  const { url } = await server((_asked, response) =>
    refuse(response, 307, {}, { location: `${other.url}/chat/completions` }),
  );
  expect(await failing(url)).toMatchObject({ code: "upstream_redirect", retryable: false });
  expect(other.asked).toEqual([]);
});

test("no secret is in any message, wherever the provider or the network has put it", async () => {
  const header = "header-secret-0123";
  const secrets = [key, header, "query-secret-0123"];
  const said = (): unknown => ({ message: `bad key ${secrets.join(" ")}`, code: `no_${key}` });
  const scripts: ((response: ServerResponse) => void)[] = [
    (response) => refuse(response, 401, said()),
    (response) => refuse(response, 302, {}, { location: `http://else.where/${key}` }),
    (response) => {
      beginStream(response);
      response.end(event({ error: said() }));
    },
    (response) => {
      beginStream(response);
      response.write(event(chunk({ content: "Well" })));
      setTimeout(() => response.end(event({ error: said() })), 20);
    },
  ];
  for (const script of scripts) {
    const { url } = await server((_asked, response) => script(response));
    const outcome = await told(`${url}?api_key=query-secret-0123`, {
      headers: { "x-api-key": header },
    }).catch((error: unknown) => [
      (error as Error).message,
      (error as ModelError).code,
      String((error as Error).cause),
    ]);
    const text = JSON.stringify(outcome);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
  const broken = await failing("http://127.0.0.1:1", { apiKey: `${key}\n` });
  expect(`${broken.message} ${String(broken.cause)}`).not.toContain(key);
});

test("a question that a wire cannot ask is refused without asking", async () => {
  const { url, asked } = await server(() => undefined);
  const stream = modelOf(url).stream(
    { model: "m", previous_response_id: "resp_1", input: "x" },
    never,
  );
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    name: "ModelError",
    code: "unsupported",
  });
  expect(asked).toEqual([]);
});

test("what a Chat server needs back comes back to it, and to no other", async () => {
  const signature = { google: { thought_signature: "c2lnbmF0dXJl" } };
  const script = (_asked: Asked, response: ServerResponse): void => {
    beginStream(response);
    response.write(
      event(
        call(0, {
          id: "call_1",
          function: { name: "look", arguments: "{}" },
          extra_content: signature,
        }),
      ),
    );
    response.end(event(chunk({}, "tool_calls")) + event("[DONE]"));
  };
  const first = await server(script);
  const second = await server(script);
  const last = (await told(first.url)).at(-1) as { response: { output: JsonObject[] } };
  const { output } = last.response;
  const input = [
    { role: "user" as const, content: "Hello" },
    ...(output as never[]),
    { type: "function_call_output" as const, call_id: "call_1", output: "a city" },
  ];
  for (const { url } of [first, second])
    for await (const _ of modelOf(url).stream({ ...hello, input }, never));
  expect(JSON.stringify(first.asked.at(-1)?.body)).toContain("c2lnbmF0dXJl");
  expect(JSON.stringify(second.asked.at(-1)?.body)).not.toContain("c2lnbmF0dXJl");
});
