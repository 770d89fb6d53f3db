import {
  chatRequest,
  ChatBody,
  collectResponse,
  connect,
  Repairs,
  ResponsesOverChat,
  type ChatRequest,
  type JsonObject,
  type OutputItem,
  type ResponseEvent,
  type ResponseObject,
  type StreamEnd,
} from "@deltawire/wire";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { quirks } from "../src/quirks.ts";
import { startDemo, type Demo } from "../src/server.ts";
import { ran, says, shell, weather } from "./requests.ts";

let demo: Demo;

beforeAll(async () => {
  demo = await startDemo({ silenceMs: 50 });
});

afterAll(async () => demo.close());

async function ask(request: JsonObject, signal?: AbortSignal): Promise<Response> {
  return fetch(`${demo.url}/chat/completions`, {
    method: "POST",
    redirect: "manual",
    signal: signal ?? null,
    body: JSON.stringify(request),
  });
}

/** The same request until it is not put off. */
async function askPatiently(request: JsonObject, signal?: AbortSignal): Promise<Response> {
  let response = await ask(request, signal);
  for (let tries = 0; [429, 503].includes(response.status) && tries < 3; tries++) {
    await response.body?.cancel();
    response = await ask(request, signal);
  }
  return response;
}

/** What a Responses client gets of the reply, through the wire library. */
async function translated(request: ChatRequest): Promise<ResponseObject> {
  const grace = new AbortController();
  const response = await askPatiently(request, grace.signal);
  const input = { model: "m", input: "x", tools: declared(request) };
  const { tools } = chatRequest(input);
  let ids = 0;
  const repairs = new Repairs();
  const translator = new ResponsesOverChat({
    responseId: "resp_1",
    createdAt: 1,
    newId: (prefix) => `${prefix}_${++ids}`,
    tools,
    repairs,
  });
  const machine = connect(new ChatBody({ repairs, utf8: new TextDecoder() }), translator);
  const events: ResponseEvent[] = [];
  let how: StreamEnd = "eof";
  try {
    for await (const bytes of response.body ?? []) {
      machine.push(bytes, events);
      if (request.model === "keeps-open" && translator.awaitsEnd)
        setTimeout(() => grace.abort(), 100);
    }
  } catch {
    how = grace.signal.aborted ? "grace" : "transport_error";
  }
  machine.end(how, events);
  const collected = collectResponse(events);
  if (collected === undefined) throw new Error("no response");
  return collected;
}

function declared({ tools }: ChatRequest) {
  return (tools ?? []).flatMap((tool) =>
    tool.type === "function" ? [{ type: "function" as const, ...tool.function }] : [],
  );
}

/** An item without the ids, which differ from reply to reply. */
function essence(item: OutputItem): unknown {
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
const wishes: [string, Partial<ChatRequest>][] = [
  ["Show me a table, 你好 😀", {}],
  ["The weather in Paris and Rome?", { tools: [weather, shell] }],
  ['run `echo "a\\b"`', { tools: [weather, shell] }],
];

/** Models that never give an answer, or a broken one. */
const failing = new Set(["cut", "error-in-stream", "hangs", "rate-limited-forever", "redirects"]);
const answering = [...quirks].flatMap(([name, { makes }]) =>
  failing.has(name) || makes !== undefined ? [] : [name],
);

describe.each(wishes)("%j", (words, more) => {
  let clean: ResponseObject;

  beforeAll(async () => {
    clean = await translated(says(words, { ...streamed, ...more }));
  });

  test("the clean model thinks, speaks and calls", () => {
    expect(clean.status).toBe("completed");
    const types = clean.output.map(({ type }) => type);
    expect(types.slice(0, 2)).toEqual(["reasoning", "message"]);
    expect(types.includes("function_call")).toBe(more.tools !== undefined);
    expect(clean.usage?.total_tokens).toBeGreaterThan(10);
  });

  test.concurrent.each(answering)("%s says the same in the end", async (model) => {
    const response = await translated(says(words, { ...streamed, ...more, model }));
    expect(response.output.map(essence)).toEqual(clean.output.map(essence));
    expect(response.status).toBe("completed");
    expect(response.usage).toEqual(model === "no-usage" ? null : clean.usage);
  });

  test.concurrent.each(answering.filter((name) => name !== "stream-only"))(
    "%s says the same in one piece",
    async (model) => {
      const response = await translated(says(words, { ...more, model }));
      expect(response.output.map(essence)).toEqual(clean.output.map(essence));
    },
  );

  test.each(["cut", "error-in-stream"])("%s never completes", async (model) => {
    const response = await translated(says(words, { ...streamed, ...more, model }));
    expect(response.status).toBe("failed");
    expect(response.output.length).toBeGreaterThan(0);
  });
});

/** The chunks of a streamed reply, as they are on the wire. */
async function chunksOf(model: string, words: string, more: Partial<ChatRequest> = {}) {
  const response = await askPatiently(says(words, { ...streamed, ...more, model }));
  const text = await response.text();
  const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
  return { text, chunks: lines.map((line) => JSON.parse(line.slice(6)) as Chunk) };
}

interface Chunk {
  id: string;
  choices: {
    delta: { tool_calls?: Fragment[]; content?: string };
    finish_reason: string | null;
    [field: string]: unknown;
  }[];
}

interface Fragment {
  index?: number;
  function?: { name?: string; arguments?: unknown };
}

const twoCalls = { tools: [weather] };
const question = "The weather in Paris and Rome?";

async function fragmentsOf(model: string) {
  const { chunks } = await chunksOf(model, question, twoCalls);
  return chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
}

describe("on the wire", () => {
  test("clean streams in small pieces, with one finish, the usage and the sentinel", async () => {
    const { text, chunks } = await chunksOf("clean", question, twoCalls);
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
    for (const { function: called } of await fragmentsOf("clean"))
      expect(String(called?.arguments).length).toBeLessThanOrEqual(8);
  });

  test("usage is only sent where it is asked for", async () => {
    const { text } = await chunksOf("clean", "Hello", { stream_options: null });
    expect(text).not.toContain("usage");
  });

  test("n choices are streamed side by side", async () => {
    const { chunks } = await chunksOf("clean", "Hello", { n: 2 });
    expect(chunks.slice(0, 4).map(({ choices }) => choices[0]?.["index"])).toEqual([0, 1, 0, 1]);
  });

  test("stop-with-calls says stop", async () => {
    const { chunks } = await chunksOf("stop-with-calls", question, twoCalls);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
  });

  test("no-index has no index, missing-ids no ids, same-index only 0", async () => {
    expect((await fragmentsOf("no-index")).some((call) => "index" in call)).toBe(false);
    expect((await fragmentsOf("missing-ids")).some((call) => "id" in call)).toBe(false);
    expect(new Set((await fragmentsOf("same-index")).map(({ index }) => index))).toEqual(
      new Set([0]),
    );
    expect(new Set((await fragmentsOf("clean")).map(({ index }) => index))).toEqual(
      new Set([0, 1]),
    );
  });

  test("split-name sends two halves", async () => {
    const names = (await fragmentsOf("split-name")).flatMap((call) => call.function?.name ?? []);
    expect(names).toEqual(["get_we", "ather", "get_we", "ather"]);
  });

  test("snapshot-arguments repeats, object-arguments sends an object", async () => {
    const snapshots = (await fragmentsOf("snapshot-arguments")).map(
      (call) => call.function?.arguments,
    );
    expect(snapshots.slice(1, 3)).toEqual(['{"city":', '{"city":"Paris"}']);
    const objects = (await fragmentsOf("object-arguments")).map((call) => call.function?.arguments);
    expect(objects).toEqual([{ city: "Paris" }, { city: "Rome" }]);
  });

  test("think-tags has tags and no field", async () => {
    const { text, chunks } = await chunksOf("think-tags", "Hello");
    expect(text).not.toContain("reasoning_content");
    const content = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(content).toMatch(/^<think>.+<\/think>You said/);
  });

  test("no-usage has none, usage-in-last-choice has it there", async () => {
    expect((await chunksOf("no-usage", "Hello")).text).not.toContain('"usage"');
    const { chunks } = await chunksOf("usage-in-last-choice", "Hello");
    expect(chunks.at(-1)?.choices[0]).toMatchObject({
      finish_reason: "stop",
      usage: { total_tokens: expect.any(Number) },
    });
  });

  test("whole-json is no stream", async () => {
    const response = await ask(says("Hello", { ...streamed, model: "whole-json" }));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ object: "chat.completion" });
  });

  test("crlf has no bare line feed, and comments", async () => {
    const { text } = await chunksOf("crlf", "Hello");
    expect(text).not.toMatch(/[^\r]\n/);
    expect(text).toMatch(/^: /m);
  });

  test("bytewise comes in many small reads", async () => {
    const response = await ask(says("Hi", { ...streamed, model: "bytewise" }));
    let reads = 0;
    let bytes = 0;
    for await (const read of response.body ?? []) {
      reads += 1;
      bytes += read.length;
    }
    expect(bytes / reads).toBeLessThan(50);
  });

  test("no-done has no sentinel, no-finish-done no finish", async () => {
    expect((await chunksOf("no-done", "Hello")).text).not.toContain("[DONE]");
    const { text, chunks } = await chunksOf("no-finish-done", "Hello");
    expect(text).toContain("[DONE]");
    expect(chunks.some(({ choices }) => choices[0]?.finish_reason)).toBe(false);
  });

  test("cut breaks in mid text, and in mid arguments", async () => {
    for (const [words, more] of [
      ["Hello", {}],
      [question, { ...twoCalls, reasoning_effort: "none" }],
    ] as const) {
      const response = await ask(says(words, { ...streamed, ...more, model: "cut" }));
      let text = "";
      const utf8 = new TextDecoder();
      const reading = async () => {
        for await (const read of response.body ?? []) text += utf8.decode(read, { stream: true });
      };
      await expect(reading()).rejects.toThrow("terminated");
      expect(text).not.toContain('"finish_reason":"');
      expect(text.includes("arguments")).toBe("tools" in more);
    }
  });

  test("a whole reply can be cut too", async () => {
    const response = await ask(says("Hello", { model: "cut" }));
    await expect(response.text()).rejects.toThrow("terminated");
  });

  test("slow takes its time", async () => {
    const begun = performance.now();
    const { chunks } = await chunksOf("slow", "Hello", { reasoning_effort: "none", max_tokens: 4 });
    expect(performance.now() - begun).toBeGreaterThan(45 * chunks.length);
  });

  test("silent sends its headers long before its words", async () => {
    const quiet = await startDemo({ silenceMs: 300 });
    try {
      const begun = performance.now();
      const response = await fetch(`${quiet.url}/chat/completions`, {
        method: "POST",
        body: JSON.stringify(says("Hello", { ...streamed, model: "silent" })),
      });
      const headers = performance.now() - begun;
      await response.text();
      expect(performance.now() - begun - headers).toBeGreaterThan(200);
    } finally {
      await quiet.close();
    }
  });

  test("hangs says nothing at all", async () => {
    const waiting = fetch(`${demo.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify(says("Hello", { model: "hangs" })),
      signal: AbortSignal.timeout(200),
    });
    await expect(waiting).rejects.toThrow(/timeout/);
  });
});

describe("refusals", () => {
  test("rate-limited puts a conversation off twice, each one for itself", async () => {
    const statuses = async (words: string) => {
      const response = await ask(says(words, { model: "rate-limited" }));
      await response.body?.cancel();
      return [response.status, response.headers.get("retry-after")];
    };
    expect(await statuses("first")).toEqual([429, "1"]);
    expect(await statuses("second")).toEqual([429, "1"]);
    expect(await statuses("first")).toEqual([429, "1"]);
    expect(await statuses("first")).toEqual([200, null]);
    expect(await statuses("second")).toEqual([429, "1"]);
  });

  test("rate-limited-forever never answers, overloaded the second time", async () => {
    const forever = says("again", { model: "rate-limited-forever" });
    for (let tries = 0; tries < 4; tries++) expect((await ask(forever)).status).toBe(429);
    const overloaded = says("again", { model: "overloaded" });
    expect((await ask(overloaded)).status).toBe(503);
    expect((await ask(overloaded)).status).toBe(200);
  });

  test("redirects leads elsewhere, where an answer waits", async () => {
    const response = await ask(says("Hello", { model: "redirects" }));
    expect(response.status).toBe(307);
    const location = new URL(response.headers.get("location") ?? "", demo.url);
    const followed = await fetch(location, {
      method: "POST",
      body: JSON.stringify(says("Hello", { model: "redirects" })),
    });
    expect(followed.status).toBe(200);
    expect(demo.requests.at(-1)?.path).toBe("/elsewhere/chat/completions");
  });

  const called = ran("get_weather", "fine");
  const withPicture = ran("get_weather", [
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
      "refuses-developer",
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
      "refuses-parameters",
      { parallel_tool_calls: true },
      { temperature: 1 },
      400,
      "'parallel_tool_calls'",
    ],
    [
      "refuses-images-in-tools",
      { messages: withPicture },
      { messages: called },
      422,
      "valid string",
    ],
    [
      "needs-reasoning",
      { messages: called },
      { messages: called.map((message) => ({ ...message, reasoning_content: "" })) },
      400,
      "reasoning_content",
    ],
    [
      "mistral-ids",
      { messages: called },
      { messages: ran("get_weather", "fine", "abcdEF123") },
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
    "%s refuses what it does not take, and takes the rest",
    async (model, bad, good, status, message) => {
      const refused = await ask(says("Hello", { ...bad, model }));
      expect(refused.status).toBe(status);
      expect(await refused.text()).toContain(message);
      const taken = await ask(says("Hello", { ...good, model }));
      expect(taken.status).toBe(200);
      await taken.text();
    },
  );

  test("an overflow has the code by which clients know it", async () => {
    const response = await ask(says("x".repeat(40_000), { model: "small-context" }));
    expect(await response.json()).toMatchObject({
      error: { code: "context_length_exceeded", type: "invalid_request_error" },
    });
  });
});

test("every model says in one line what is special about it", () => {
  for (const [name, { description }] of quirks) {
    expect(name).toMatch(/^[a-z\d-]+$/);
    expect(description).toMatch(/^[A-Z][^\n]{10,100}\.$/);
  }
});
