import type { ServerResponse } from "node:http";
import { createFetchModel, ModelError, type FetchModelOptions } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { afterEach, describe, expect, test } from "vitest";
import {
  beginStream,
  chunk,
  event,
  writeInChunks,
  modelServer,
  sendError,
  type ReceivedRequest,
  type ModelServer,
} from "./model-server.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const one of servers.splice(0)) await one.close();
});

async function startServer(
  script: (received: ReceivedRequest, response: ServerResponse) => void | Promise<void>,
): Promise<ModelServer> {
  const one = await modelServer(script);
  servers.push(one);
  return one;
}

const key = "sk-secret-0123456789";
const neverAborted = new AbortController().signal;
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
const createModel = (url: string, overrides: Partial<FetchModelOptions> = {}) =>
  createFetchModel({ baseUrl: url, apiKey: key, speaks: "chat", ...overrides });

async function collectEvents(
  url: string,
  overrides: Partial<FetchModelOptions> = {},
): Promise<JsonObject[]> {
  const events: JsonObject[] = [];
  for await (const batch of createModel(url, overrides).stream(hello, neverAborted))
    for (const one of batch) events.push(one as JsonObject);
  return events;
}

/** Returns the response of the last event with the relevant fields of its items. */
function findAnswer(events: readonly JsonObject[]): JsonObject {
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

const catchModelError = (
  url: string,
  overrides: Partial<FetchModelOptions> = {},
): Promise<ModelError> =>
  collectEvents(url, overrides).then(
    () => expect.fail("it was answered"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(ModelError);
      return error as ModelError;
    },
  );

const call = (index: number, fields: JsonObject): JsonObject =>
  chunk({ tool_calls: [{ index, ...fields }] });

/** Two calls with the same id, split arguments, a name in every delta, and a finish reason that ignores the calls. */
const irregularChunks = [
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
const chatText = irregularChunks.map(event).join("") + event("[DONE]");

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
/** Items without `added` events, a repeated item, unordered sequence numbers, and lines that are not events. */
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

describe.each([1, 7, 100_000])("in chunks of %i bytes,", (size) => {
  test("an irregular Chat stream is repaired: every call has a unique id and can be run", async () => {
    const { url, requests } = await startServer(async (_asked, response) => {
      beginStream(response);
      await writeInChunks(response, chatText, size);
      response.end();
    });
    const events = await collectEvents(url);
    expect(findAnswer(events)).toEqual({
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
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, index) => index));
    expect(requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      headers: { authorization: `Bearer ${key}` },
      body: { model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] },
    });
  });

  test("an irregular Responses stream is repaired: every item occurs once, and events are numbered from 0", async () => {
    const { url, requests } = await startServer(async (_asked, response) => {
      beginStream(response);
      await writeInChunks(response, responsesText, size);
      response.end();
    });
    const events = await collectEvents(url, { speaks: "responses" });
    expect(findAnswer(events)).toEqual({
      type: "response.completed",
      error: null,
      items: [
        { type: "message", status: "completed", text: "Let me look. 🦊" },
        { status: "completed", call_id: "call_1", name: "look", args: '{"at":"Paris"}' },
      ],
    });
    expect(events.filter(({ type }) => type === "response.output_item.added")).toHaveLength(2);
    expect(events.filter(({ type }) => type === "response.output_item.done")).toHaveLength(2);
    expect(events.map((each) => each["sequence_number"])).toEqual(events.map((_, index) => index));
    expect(requests[0]).toMatchObject({
      path: "/v1/responses",
      body: { model: "m", stream: true, store: false, input: "Hello" },
    });
  });
});

test.each<[Speaks, string]>([
  ["chat", irregularChunks.slice(0, 5).map(event).join("")],
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
  "a truncated %s stream ends with response.failed, and its partial call is incomplete",
  async (speaks, partialStream) => {
    for (const ending of ["ends", "breaks"] as const) {
      const { url } = await startServer((_asked, response) => {
        beginStream(response);
        response.write(partialStream, () => {
          if (ending === "ends") response.end();
          else setTimeout(() => response.destroy(), 20);
        });
      });
      const answer = findAnswer(await collectEvents(url, { speaks }));
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

test("a connection that the server does not close after the last chunk is closed after a second, and the reported usage counts", async () => {
  const { url, requests } = await startServer((_asked, response) => {
    beginStream(response);
    response.write(irregularChunks.map(event).join(""));
    const timer = setInterval(() => response.write(": still here\n\n"), 100);
    response.on("close", () => clearInterval(timer));
  });
  const began = performance.now();
  const events = await collectEvents(url);
  expect(performance.now() - began).toBeGreaterThan(900);
  expect(performance.now() - began).toBeLessThan(5000);
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { usage: { input_tokens: 7, output_tokens: 5 } },
  });
  await requests[0]?.closed;
});

test("the connection to a silent server is closed, but not if only the consumer is slow", async () => {
  const { url } = await startServer((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
  });
  expect(findAnswer(await collectEvents(url, { idleTimeoutMs: 100 }))).toMatchObject({
    type: "response.failed",
    error: { code: "upstream_idle_timeout" },
  });

  const fast = await startServer((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
    setTimeout(() => response.end(event(chunk({}, "stop")) + event("[DONE]")), 20);
  });
  let last: unknown;
  for await (const batch of createModel(fast.url, { idleTimeoutMs: 500 }).stream(
    hello,
    neverAborted,
  )) {
    await new Promise((resolve) => setTimeout(resolve, 700));
    last = batch.at(-1)?.type;
  }
  expect(last).toBe("response.completed");
});

test("a server that never responds causes a retryable timeout", async () => {
  const { url } = await startServer(() => undefined);
  expect(await catchModelError(url, { idleTimeoutMs: 50 })).toMatchObject({
    code: "upstream_timeout",
    retryable: true,
  });
});

test("aborting before the first byte ends the stream and closes the connection", async () => {
  const { url, requests } = await startServer(() => undefined);
  const leave = new AbortController();
  const ran = createModel(url).stream(hello, leave.signal)[Symbol.asyncIterator]().next();
  await expect.poll(() => requests.length, { timeout: 5000 }).toBe(1);
  leave.abort();
  expect(await ran).toEqual({ done: true, value: undefined });
  await requests[0]?.closed;
});

test("aborting during the stream ends it without another event and closes the connection", async () => {
  const { url, requests } = await startServer((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
  });
  const leave = new AbortController();
  const types: unknown[] = [];
  for await (const batch of createModel(url).stream(hello, leave.signal)) {
    types.push(...batch.map(({ type }) => type));
    setTimeout(() => leave.abort(), 20);
  }
  expect(types.at(-1)).toBe("response.output_text.delta");
  await requests[0]?.closed;
});

test("the connection is closed when the consumer stops reading early", async () => {
  const { url, requests } = await startServer((_asked, response) => {
    beginStream(response);
    response.write(event(chunk({ content: "Well" })));
  });
  for await (const batch of createModel(url).stream(hello, neverAborted))
    if (batch.length > 0) break;
  expect(requests).toHaveLength(1);
  await requests[0]?.closed;
});

test("no request is sent if the signal is already aborted", async () => {
  const { url, requests } = await startServer(() => undefined);
  const batches: unknown[] = [];
  for await (const batch of createModel(url).stream(hello, AbortSignal.abort()))
    batches.push(batch);
  expect([batches, requests]).toEqual([[], []]);
});

test("the connection is reused after a complete reply", async () => {
  const { url, connections } = await startServer((_asked, response) => {
    beginStream(response);
    response.end(chatText);
  });
  for (let round = 0; round < 3; round += 1) {
    await collectEvents(url);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(connections()).toBe(1);
});

const rejections: [string, number, unknown, { code: string; retryable: boolean }][] = [
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
    "an exhausted quota",
    429,
    { message: "You exceeded your current quota", code: "insufficient_quota" },
    { code: "insufficient_quota", retryable: false },
  ],
  ["an overloaded server", 503, "busy", { code: "server_is_overloaded", retryable: true }],
  ["a broken server", 500, { message: "oops" }, { code: "upstream_error", retryable: true }],
  [
    "a provider-specific error code",
    400,
    { message: "no such model", code: "model_not_found" },
    { code: "model_not_found", retryable: false },
  ],
  ["an invalid request", 422, { message: "no" }, { code: "upstream_rejected", retryable: false }],
];

test.each(rejections)(
  "%s is reported with its code and the provider's message",
  async (_name, status, error, expected) => {
    const { url } = await startServer((_asked, response) => sendError(response, status, error));
    const failure = await catchModelError(url);
    expect({ code: failure.code, retryable: failure.retryable }).toEqual(expected);
    const { message } = Object(error) as { message?: string };
    expect(failure.message).toContain(message ?? "busy");
  },
);

test.each<Speaks>(["chat", "responses"])(
  "an error body instead of a stream is a rejection, with the API %s",
  async (speaks) => {
    const error = { message: "prompt is too long", type: "invalid_request_error" };
    const { url } = await startServer((_asked, response) => {
      beginStream(response);
      response.end(event(speaks === "chat" ? { error } : { type: "error", error }));
    });
    expect(await catchModelError(url, { speaks })).toMatchObject({
      code: "context_length_exceeded",
      retryable: false,
    });
  },
);

test("an empty reply is a retryable error", async () => {
  const { url } = await startServer((_asked, response) => {
    beginStream(response);
    response.end();
  });
  expect(await catchModelError(url)).toMatchObject({ code: "upstream_error", retryable: true });
});

test("an unreachable server is reported with its URL", async () => {
  const { url, close } = await modelServer(() => undefined);
  await close();
  const failure = await catchModelError(url);
  expect(failure).toMatchObject({ code: "upstream_unreachable", retryable: true });
  expect(failure.message).toContain(url);
});

test("a redirect is not followed", async () => {
  const other = await startServer(() => undefined);
  const { url } = await startServer((_asked, response) =>
    sendError(response, 307, {}, { location: `${other.url}/chat/completions` }),
  );
  expect(await catchModelError(url)).toMatchObject({ code: "upstream_redirect", retryable: false });
  expect(other.requests).toEqual([]);
});

test("no error contains a secret, wherever the provider or the network put it", async () => {
  const header = "header-secret-0123";
  const secrets = [key, header, "query-secret-0123"];
  const errorBody = (): unknown => ({ message: `bad key ${secrets.join(" ")}`, code: `no_${key}` });
  const scripts: ((response: ServerResponse) => void)[] = [
    (response) => sendError(response, 401, errorBody()),
    (response) => sendError(response, 302, {}, { location: `http://else.where/${key}` }),
    (response) => {
      beginStream(response);
      response.end(event({ error: errorBody() }));
    },
    (response) => {
      beginStream(response);
      response.write(event(chunk({ content: "Well" })));
      setTimeout(() => response.end(event({ error: errorBody() })), 20);
    },
  ];
  for (const script of scripts) {
    const { url } = await startServer((_asked, response) => script(response));
    const outcome = await collectEvents(`${url}?api_key=query-secret-0123`, {
      headers: { "x-api-key": header },
    }).catch((error: unknown) => [
      (error as Error).message,
      (error as ModelError).code,
      String((error as Error).cause),
    ]);
    const text = JSON.stringify(outcome);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
  const broken = await catchModelError("http://127.0.0.1:1", { apiKey: `${key}\n` });
  expect(`${broken.message} ${String(broken.cause)}`).not.toContain(key);
});

test("a request that the wire cannot express is rejected without being sent", async () => {
  const { url, requests } = await startServer(() => undefined);
  const stream = createModel(url).stream(
    { model: "m", previous_response_id: "resp_1", input: "x" },
    neverAborted,
  );
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    name: "ModelError",
    code: "unsupported",
  });
  expect(requests).toEqual([]);
});

test("a reasoning signature of a Chat server is sent back to that server and to no other", async () => {
  const signature = { google: { thought_signature: "c2lnbmF0dXJl" } };
  const script = (_asked: ReceivedRequest, response: ServerResponse): void => {
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
  const first = await startServer(script);
  const second = await startServer(script);
  const last = (await collectEvents(first.url)).at(-1) as { response: { output: JsonObject[] } };
  const { output } = last.response;
  const input = [
    { role: "user" as const, content: "Hello" },
    ...(output as never[]),
    { type: "function_call_output" as const, call_id: "call_1", output: "a city" },
  ];
  for (const { url } of [first, second])
    for await (const _ of createModel(url).stream({ ...hello, input }, neverAborted));
  expect(JSON.stringify(first.requests.at(-1)?.body)).toContain("c2lnbmF0dXJl");
  expect(JSON.stringify(second.requests.at(-1)?.body)).not.toContain("c2lnbmF0dXJl");
});
