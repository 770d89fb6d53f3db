import {
  translateResponsesRequest,
  ChatBody,
  collectResponse,
  connectMachines,
  Repairs,
  ResponsesOverChat,
  type ChatRequest,
  type JsonObject,
  type ResponseOutputItem,
  type ResponseEvent,
  type ResponseObject,
  type StreamEndReason,
} from "@deltawire/wire";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { demoModels } from "../src/quirks.ts";
import { startDemoServer, type DemoServer } from "../src/server.ts";
import { toolRoundTrip, buildRequest, shell, weather } from "./requests.ts";

let demo: DemoServer;

beforeAll(async () => {
  demo = await startDemoServer({ silenceMs: 50 });
});

afterAll(async () => demo.close());

async function postChat(request: JsonObject, signal?: AbortSignal): Promise<Response> {
  return fetch(`${demo.url}/chat/completions`, {
    method: "POST",
    redirect: "manual",
    signal: signal ?? null,
    body: JSON.stringify(request),
  });
}

/** Repeats a request that is rejected with 429 or 503 up to three times. */
async function postChatWithRetries(request: JsonObject, signal?: AbortSignal): Promise<Response> {
  let response = await postChat(request, signal);
  for (let tries = 0; [429, 503].includes(response.status) && tries < 3; tries++) {
    await response.body?.cancel();
    response = await postChat(request, signal);
  }
  return response;
}

/** Translates the reply for a Responses client. */
async function translateReply(request: ChatRequest): Promise<ResponseObject> {
  const abortController = new AbortController();
  const response = await postChatWithRetries(request, abortController.signal);
  const input = { model: "m", input: "x", tools: toResponsesTools(request) };
  const { tools } = translateResponsesRequest(input);
  let ids = 0;
  const repairs = new Repairs();
  const translator = new ResponsesOverChat({
    responseId: "resp_1",
    createdAt: 1,
    newId: (prefix) => `${prefix}_${++ids}`,
    tools,
    repairs,
  });
  const machine = connectMachines(new ChatBody({ repairs, utf8: new TextDecoder() }), translator);
  const events: ResponseEvent[] = [];
  let endReason: StreamEndReason = "eof";
  try {
    for await (const bytes of response.body ?? []) {
      machine.push(bytes, events);
      if (request.model === "keeps-open" && translator.awaitsEnd)
        setTimeout(() => abortController.abort(), 100);
    }
  } catch {
    endReason = abortController.signal.aborted ? "grace" : "transport_error";
  }
  machine.end(endReason, events);
  const collected = collectResponse(events);
  if (collected === undefined) throw new Error("no response");
  return collected;
}

function toResponsesTools({ tools }: ChatRequest) {
  return (tools ?? []).flatMap((tool) =>
    tool.type === "function" ? [{ type: "function" as const, ...tool.function }] : [],
  );
}

/** Returns the content of an item without its ids, which differ between replies. */
function withoutIds(item: ResponseOutputItem): unknown {
  switch (item.type) {
    case "message":
      return [item.type, item.status, item.content];
    case "reasoning":
      return [item.type, item.summary];
    case "function_call":
      return [item.type, item.status, item.name, item.arguments];
    default:
      return item;
  }
}

const streamed = { stream: true, stream_options: { include_usage: true } };
const cases: [string, Partial<ChatRequest>][] = [
  ["Show me a table, 你好 😀", {}],
  ["The weather in Paris and Rome?", { tools: [weather, shell] }],
  ['run `echo "a\\b"`', { tools: [weather, shell] }],
];

/** Models that never return a complete answer to this client. */
const failingModels = new Set([
  "cut",
  "error-in-stream",
  "hangs",
  "rate-limited-forever",
  "redirects",
]);
const answeringModels = [...demoModels].flatMap(([name, { modality }]) =>
  failingModels.has(name) || modality !== undefined ? [] : [name],
);

describe.each(cases)("for the prompt %j", (prompt, overrides) => {
  let clean: ResponseObject;

  beforeAll(async () => {
    clean = await translateReply(buildRequest(prompt, { ...streamed, ...overrides }));
  });

  test("clean sends reasoning, text and calls", () => {
    expect(clean.status).toBe("completed");
    const types = clean.output.map(({ type }) => type);
    expect(types.slice(0, 2)).toEqual(["reasoning", "message"]);
    expect(types.includes("function_call")).toBe(overrides.tools !== undefined);
    expect(clean.usage?.total_tokens).toBeGreaterThan(10);
  });

  test.concurrent.each(answeringModels)(
    "%s results in the same response after repair",
    async (model) => {
      const response = await translateReply(
        buildRequest(prompt, { ...streamed, ...overrides, model }),
      );
      expect(response.output.map(withoutIds)).toEqual(clean.output.map(withoutIds));
      expect(response.status).toBe("completed");
      expect(response.usage).toEqual(model === "no-usage" ? null : clean.usage);
    },
  );

  test.concurrent.each(answeringModels.filter((name) => name !== "stream-only"))(
    "%s results in the same output without streaming",
    async (model) => {
      const response = await translateReply(buildRequest(prompt, { ...overrides, model }));
      expect(response.output.map(withoutIds)).toEqual(clean.output.map(withoutIds));
    },
  );

  test.each(["cut", "error-in-stream"])("%s results in a failed response", async (model) => {
    const response = await translateReply(
      buildRequest(prompt, { ...streamed, ...overrides, model }),
    );
    expect(response.status).toBe("failed");
    expect(response.output.length).toBeGreaterThan(0);
  });
});

/** Returns the raw text and the chunks of a streamed reply. */
async function fetchChunks(model: string, prompt: string, overrides: Partial<ChatRequest> = {}) {
  const response = await postChatWithRetries(
    buildRequest(prompt, { ...streamed, ...overrides, model }),
  );
  const text = await response.text();
  const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
  return { text, chunks: lines.map((line) => JSON.parse(line.slice(6)) as Chunk) };
}

interface Chunk {
  id: string;
  choices: {
    delta: { tool_calls?: CallDelta[]; content?: string };
    finish_reason: string | null;
    [field: string]: unknown;
  }[];
}

interface CallDelta {
  index?: number;
  function?: { name?: string; arguments?: unknown };
}

const twoCalls = { tools: [weather] };
const twoCallPrompt = "The weather in Paris and Rome?";

async function fetchCallDeltas(model: string) {
  const { chunks } = await fetchChunks(model, twoCallPrompt, twoCalls);
  return chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
}

describe("a reply of the demo model", () => {
  test("clean has small deltas, a finish reason, usage and [DONE]", async () => {
    const { text, chunks } = await fetchChunks("clean", twoCallPrompt, twoCalls);
    expect(chunks[0]).toMatchObject({
      object: "chat.completion.chunk",
      model: "clean",
      choices: [{ index: 0, delta: { role: "assistant" } }],
    });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("tool_calls");
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: expect.any(Number) },
    });
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    for (const { function: textResult } of await fetchCallDeltas("clean"))
      expect(String(textResult?.arguments).length).toBeLessThanOrEqual(8);
  });

  test("clean has usage only on request", async () => {
    const { text } = await fetchChunks("clean", "Hello", { stream_options: null });
    expect(text).not.toContain("usage");
  });

  test("clean has n choices in parallel", async () => {
    const { chunks } = await fetchChunks("clean", "Hello", { n: 2 });
    expect(chunks.slice(0, 4).map(({ choices }) => choices[0]?.["index"])).toEqual([0, 1, 0, 1]);
  });

  test("stop-with-calls has calls and the finish reason stop", async () => {
    const { chunks } = await fetchChunks("stop-with-calls", twoCallPrompt, twoCalls);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
  });

  test("no-index has calls without index, missing-ids without id, and same-index with index 0", async () => {
    expect((await fetchCallDeltas("no-index")).some((call) => "index" in call)).toBe(false);
    expect((await fetchCallDeltas("missing-ids")).some((call) => "id" in call)).toBe(false);
    expect(new Set((await fetchCallDeltas("same-index")).map(({ index }) => index))).toEqual(
      new Set([0]),
    );
    expect(new Set((await fetchCallDeltas("clean")).map(({ index }) => index))).toEqual(
      new Set([0, 1]),
    );
  });

  test("split-name has function names that are split over two chunks", async () => {
    const names = (await fetchCallDeltas("split-name")).flatMap(
      (call) => call.function?.name ?? [],
    );
    expect(names).toEqual(["get_we", "ather", "get_we", "ather"]);
  });

  test("snapshot-arguments repeats the arguments from the start, and object-arguments has an object", async () => {
    const snapshots = (await fetchCallDeltas("snapshot-arguments")).map(
      (call) => call.function?.arguments,
    );
    expect(snapshots.slice(1, 3)).toEqual(['{"city":', '{"city":"Paris"}']);
    const objects = (await fetchCallDeltas("object-arguments")).map(
      (call) => call.function?.arguments,
    );
    expect(objects).toEqual([{ city: "Paris" }, { city: "Rome" }]);
  });

  test("think-tags has reasoning in tags of the content and no reasoning field", async () => {
    const { text, chunks } = await fetchChunks("think-tags", "Hello");
    expect(text).not.toContain("reasoning_content");
    const content = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(content).toMatch(/^<think>.+<\/think>You said/);
  });

  test("no-usage has no usage, and usage-in-last-choice has it in the last choice", async () => {
    expect((await fetchChunks("no-usage", "Hello")).text).not.toContain('"usage"');
    const { chunks } = await fetchChunks("usage-in-last-choice", "Hello");
    expect(chunks.at(-1)?.choices[0]).toMatchObject({
      finish_reason: "stop",
      usage: { total_tokens: expect.any(Number) },
    });
  });

  test.each(["refuses-developer", "refuses-parameters", "refuses-images-in-tools", "whole-json"])(
    "%s is accepted as a former name, which is not listed",
    async (model) => {
      expect((await postChat(buildRequest("Hello", { model }))).status).toBe(200);
      expect(demoModels.has(model)).toBe(false);
    },
  );

  test("complete-json is not streamed", async () => {
    const response = await postChat(buildRequest("Hello", { ...streamed, model: "complete-json" }));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ object: "chat.completion" });
  });

  test("crlf has comments, and CRLF at the end of every line", async () => {
    const { text } = await fetchChunks("crlf", "Hello");
    expect(text).not.toMatch(/[^\r]\n/);
    expect(text).toMatch(/^: /m);
  });

  test("bytewise arrives in many small reads", async () => {
    const response = await postChat(buildRequest("Hi", { ...streamed, model: "bytewise" }));
    let reads = 0;
    let bytes = 0;
    for await (const read of response.body ?? []) {
      reads += 1;
      bytes += read.length;
    }
    expect(bytes / reads).toBeLessThan(50);
  });

  test("no-done has no [DONE], and no-finish-done has no finish reason", async () => {
    expect((await fetchChunks("no-done", "Hello")).text).not.toContain("[DONE]");
    const { text, chunks } = await fetchChunks("no-finish-done", "Hello");
    expect(text).toContain("[DONE]");
    expect(chunks.some(({ choices }) => choices[0]?.finish_reason)).toBe(false);
  });

  test("cut breaks off within text or within arguments", async () => {
    for (const [prompt, overrides] of [
      ["Hello", {}],
      [twoCallPrompt, { ...twoCalls, reasoning_effort: "none" }],
    ] as const) {
      const response = await postChat(
        buildRequest(prompt, { ...streamed, ...overrides, model: "cut" }),
      );
      let text = "";
      const utf8 = new TextDecoder();
      const readBody = async () => {
        for await (const read of response.body ?? []) text += utf8.decode(read, { stream: true });
      };
      await expect(readBody()).rejects.toThrow("terminated");
      expect(text).not.toContain('"finish_reason":"');
      expect(text.includes("arguments")).toBe("tools" in overrides);
    }
  });

  test("cut also breaks off without streaming", async () => {
    const response = await postChat(buildRequest("Hello", { model: "cut" }));
    await expect(response.text()).rejects.toThrow("terminated");
  });

  test("slow has pauses between its chunks", async () => {
    const startTime = performance.now();
    const { chunks } = await fetchChunks("slow", "Hello", {
      reasoning_effort: "none",
      max_tokens: 4,
    });
    expect(performance.now() - startTime).toBeGreaterThan(45 * chunks.length);
  });

  test("silent has its headers long before its text", async () => {
    const silentServer = await startDemoServer({ silenceMs: 300 });
    try {
      const startTime = performance.now();
      const response = await fetch(`${silentServer.url}/chat/completions`, {
        method: "POST",
        body: JSON.stringify(buildRequest("Hello", { ...streamed, model: "silent" })),
      });
      const headersMs = performance.now() - startTime;
      await response.text();
      expect(performance.now() - startTime - headersMs).toBeGreaterThan(200);
    } finally {
      await silentServer.close();
    }
  });

  test("hangs never arrives", async () => {
    const waiting = fetch(`${demo.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify(buildRequest("Hello", { model: "hangs" })),
      signal: AbortSignal.timeout(200),
    });
    await expect(waiting).rejects.toThrow(/timeout/);
  });
});

describe("rejections", () => {
  test("rate-limited rejects the first two requests of each conversation", async () => {
    const fetchStatus = async (prompt: string) => {
      const response = await postChat(buildRequest(prompt, { model: "rate-limited" }));
      await response.body?.cancel();
      return [response.status, response.headers.get("retry-after")];
    };
    expect(await fetchStatus("first")).toEqual([429, "1"]);
    expect(await fetchStatus("second")).toEqual([429, "1"]);
    expect(await fetchStatus("first")).toEqual([429, "1"]);
    expect(await fetchStatus("first")).toEqual([200, null]);
    expect(await fetchStatus("second")).toEqual([429, "1"]);
  });

  test("rate-limited-forever rejects every request, overloaded only the first", async () => {
    const forever = buildRequest("again", { model: "rate-limited-forever" });
    for (let tries = 0; tries < 4; tries++) expect((await postChat(forever)).status).toBe(429);
    const overloaded = buildRequest("again", { model: "overloaded" });
    expect((await postChat(overloaded)).status).toBe(503);
    expect((await postChat(overloaded)).status).toBe(200);
  });

  test("redirects responds with a redirect to a path that answers", async () => {
    const response = await postChat(buildRequest("Hello", { model: "redirects" }));
    expect(response.status).toBe(307);
    const location = new URL(response.headers.get("location") ?? "", demo.url);
    const followed = await fetch(location, {
      method: "POST",
      body: JSON.stringify(buildRequest("Hello", { model: "redirects" })),
    });
    expect(followed.status).toBe(200);
    expect(demo.requests.at(-1)?.path).toBe("/elsewhere/chat/completions");
  });

  const textResult = toolRoundTrip("get_weather", "fine");
  const imageResult = toolRoundTrip("get_weather", [
    { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
  ]);

  test.each<[string, JsonObject, JsonObject, number, string]>([
    [
      "small-context",
      { messages: [{ role: "user", content: "x".repeat(40_000) }] },
      {},
      400,
      "maximum context length is 8000 tokens",
    ],
    [
      "rejects-developer-role",
      { messages: [{ role: "developer", content: "x" }] },
      { messages: [{ role: "system", content: "x" }] },
      400,
      "unknown variant `developer`",
    ],
    [
      "single-system",
      {
        messages: [
          { role: "user", content: "x" },
          { role: "system", content: "x" },
        ],
      },
      {},
      400,
      "System message must be at the beginning",
    ],
    [
      "rejects-parameters",
      { parallel_tool_calls: true },
      { temperature: 1 },
      400,
      "'parallel_tool_calls'",
    ],
    [
      "rejects-images-in-tools",
      { messages: imageResult },
      { messages: textResult },
      422,
      "valid string",
    ],
    [
      "needs-reasoning",
      { messages: textResult },
      { messages: textResult.map((message) => ({ ...message, reasoning_content: "" })) },
      400,
      "reasoning_content",
    ],
    [
      "mistral-ids",
      { messages: textResult },
      { messages: toolRoundTrip("get_weather", "fine", "abcdEF123") },
      400,
      "length of 9",
    ],
    ["stream-only", {}, { stream: true }, 400, "non-streaming"],
    ["temperature-1-only", { temperature: 0.5 }, { temperature: 1 }, 400, "only 1 is allowed"],
    [
      "no-json-schema",
      { response_format: { type: "json_schema", json_schema: { name: "a", schema: {} } } },
      { response_format: { type: "text" } },
      400,
      "response_format",
    ],
    [
      "no-forced-choice",
      { tools: [weather], tool_choice: "required" },
      { tools: [weather], tool_choice: "auto" },
      400,
      "tool_choice",
    ],
    ["no-empty-content", { messages: [{ role: "user", content: "" }] }, {}, 400, "non-empty"],
  ])(
    "%s rejects a request that it does not support and accepts another",
    async (model, unsupported, supported, status, message) => {
      const rejected = await postChat(buildRequest("Hello", { ...unsupported, model }));
      expect(rejected.status).toBe(status);
      expect(await rejected.text()).toContain(message);
      const accepted = await postChat(buildRequest("Hello", { ...supported, model }));
      expect(accepted.status).toBe(200);
      await accepted.text();
    },
  );

  test("small-context rejects a prompt that is too long with the code that clients expect", async () => {
    const response = await postChat(buildRequest("x".repeat(40_000), { model: "small-context" }));
    expect(await response.json()).toMatchObject({
      error: { code: "context_length_exceeded", type: "invalid_request_error" },
    });
  });
});

test("every demo model has a name in lower case and a description of one line", () => {
  for (const [name, { description }] of demoModels) {
    expect(name).toMatch(/^[a-z\d-]+$/);
    expect(description).toMatch(/^[A-Z][^\n]{10,100}\.$/);
  }
});
