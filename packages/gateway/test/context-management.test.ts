import type { JsonObject, ResponseInputItem } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { splitHistory, takeCompaction } from "../src/responses/manage-context.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { readEvents } from "./test-gateway.ts";
import { streamText } from "./scripted-upstream.ts";

const context_management = [{ type: "compaction", compact_threshold: 1000 }];
const long = "The answer of the model was long. ".repeat(200);
const history = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "I am Ada" },
  { role: "assistant", content: long },
  { role: "user", content: "I want a table" },
];
const summaryMessage = { role: "user", content: expect.stringContaining("Ada wants a table.") };

interface Reply extends JsonObject {
  id: string;
  output: JsonObject[];
}

async function chatFixture({ failsToSummarize = false } = {}) {
  const fixture = await gatewayFixture((request, response) => {
    const isSummary = JSON.stringify(request.body).includes("Write the summary");
    if (isSummary && failsToSummarize) return void response.writeHead(400).end("{}");
    const text = isSummary ? "Ada wants a table." : "Here it is";
    if (request.body["stream"] === true) return streamText(response, text);
    const choices = [
      { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" },
    ];
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "c", object: "chat.completion", choices, usage }));
  });
  const { gateway, upstream } = fixture;
  const create = async (body: object): Promise<Reply> => {
    const response = await gateway.post("/responses", {
      model: "up/m",
      context_management,
      ...body,
    });
    const reply = (await response.json()) as Reply;
    expect([response.status, reply]).toEqual([200, reply]);
    return reply;
  };
  const messages = (): unknown => upstream.requests.at(-1)?.body["messages"];
  const repairs = (): unknown =>
    (JSON.parse(gateway.lines.at(-1) ?? "{}") as JsonObject)["repairs"];
  return { ...fixture, create, messages, repairs };
}

describe("context_management on a Chat upstream", () => {
  test("compacts a long input: the reply begins with a sealed compaction item", async () => {
    const { create, messages, upstream, repairs } = await chatFixture();
    const reply = await create({ input: history });
    expect(reply).toMatchObject({
      status: "completed",
      output: [
        { type: "compaction", id: expect.stringMatching(/^cmp_/) },
        { type: "message", content: [{ text: "Here it is" }] },
      ],
    });
    expect(JSON.stringify(reply)).not.toContain("Ada wants");
    expect(upstream.requests).toHaveLength(2);
    expect(JSON.stringify(upstream.requests[0]?.body)).not.toContain("I want a table");
    expect(messages()).toMatchObject([
      { content: "Be brief" },
      summaryMessage,
      { role: "user", content: "I want a table" },
    ]);
    expect(repairs()).toBeUndefined();
  });

  const next = { role: "user", content: "Thanks" };
  const continued = [
    summaryMessage,
    { role: "user", content: "I want a table" },
    { role: "assistant", content: "Here it is" },
    { role: "user", content: "Thanks" },
  ];

  test("continues from the summary: by id, with all items, or only with those from the compaction", async () => {
    const { create, messages, upstream } = await chatFixture();
    const reply = await create({ input: history });
    await create({ input: [next], previous_response_id: reply.id });
    expect(messages()).toMatchObject([{ content: "Be brief" }, ...continued]);
    await create({ input: [...history, ...reply.output, next] });
    expect(messages()).toMatchObject([{ content: "Be brief" }, ...continued]);
    await create({ input: [...reply.output, next] });
    expect(messages()).toMatchObject(continued);
    expect(upstream.requests).toHaveLength(5);
  });

  test("streams the compaction item first, and all events have their numbers", async () => {
    const { gateway } = await chatFixture();
    const body = { model: "up/m", context_management, input: history, stream: true };
    const received = await readEvents(await gateway.post("/responses", body));
    const events = received.filter(({ done }) => done !== true);
    expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, at) => at));
    expect(events.slice(0, 5)).toMatchObject([
      { type: "response.created" },
      { type: "response.in_progress" },
      { type: "response.output_item.added", output_index: 0, item: { type: "compaction" } },
      { type: "response.output_item.done", output_index: 0, item: { type: "compaction" } },
      { type: "response.output_item.added", output_index: 1, item: { type: "message" } },
    ]);
    const { id } = (events.at(-1) as { response: Reply }).response;
    const stored = (await (await fetch(`${gateway.url}/v1/responses/${id}`)).json()) as Reply;
    expect(stored).toEqual(events.at(-1)?.["response"]);
    expect(stored.output).toMatchObject([{ type: "compaction" }, { type: "message" }]);
  });

  test("compacts in the background", async () => {
    const { gateway, create } = await chatFixture();
    const { id } = await create({ input: history, background: true });
    const events = await readEvents(await fetch(`${gateway.url}/v1/responses/${id}?stream=true`));
    expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, at) => at));
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { id, output: [{ type: "compaction" }, { type: "message" }] },
    });
  });

  test("leaves a short input as it is, without a repair", async () => {
    const { create, upstream, repairs } = await chatFixture();
    expect((await create({ input: "Hi" })).output).toMatchObject([{ type: "message" }]);
    expect(upstream.requests).toHaveLength(1);
    expect(repairs()).toBeUndefined();
  });

  test("an entry of another type is dropped with a repair, also next to a compaction", async () => {
    const { create, repairs, upstream } = await chatFixture();
    const unknown = { type: "clear_tool_results", keep: 3 };
    await create({ input: "Hi", context_management: [unknown] });
    expect(repairs()).toEqual({ parameter_dropped: 1 });
    const reply = await create({
      input: history,
      context_management: [unknown, ...context_management],
    });
    expect(reply.output[0]).toMatchObject({ type: "compaction" });
    expect(repairs()).toEqual({ parameter_dropped: 1 });
    expect(upstream.requests.every(({ body }) => !("context_management" in body))).toBe(true);
  });

  test("a summary that fails leaves the input as it is, with a repair", async () => {
    const { create, messages, repairs } = await chatFixture({ failsToSummarize: true });
    expect((await create({ input: history })).output).toMatchObject([{ type: "message" }]);
    expect(messages()).toHaveLength(4);
    expect(repairs()).toEqual({ parameter_dropped: 1 });
  });
});

test("context_management is forwarded to a Responses upstream", async () => {
  const { gateway, upstream } = await gatewayFixture(
    (_request, response) => void response.writeHead(400).end("{}"),
    { upstream: { speaks: "responses" } },
  );
  await gateway.post("/responses", { model: "up/m", context_management, input: history });
  expect(upstream.requests).toMatchObject([{ body: { context_management } }]);
});

describe("the input that is not summarized", () => {
  const user = { type: "message", role: "user", content: "Hi" } as const;
  const assistant = { type: "message", role: "assistant", content: "Hello" } as const;
  const developer = { type: "message", role: "developer", content: "Be brief" } as const;
  const call = (call_id: string): ResponseInputItem => ({
    type: "function_call",
    call_id,
    name: "f",
    arguments: "{}",
  });
  const output = (call_id: string): ResponseInputItem => ({
    type: "function_call_output",
    call_id,
    output: "1",
  });
  const reasoning: ResponseInputItem = { type: "reasoning", id: "r", summary: [] };

  test.each<[string, ResponseInputItem[], number, number]>([
    ["new messages", [developer, user, assistant, user, user], 1, 3],
    [
      "the results of the last calls with the calls and their reasoning",
      [user, call("a"), output("a"), reasoning, call("b"), call("c"), output("b"), output("c")],
      0,
      3,
    ],
    ["results of an earlier call", [user, call("a"), assistant, user, output("a")], 0, 1],
    ["everything, if nothing came before", [developer, user], 1, 1],
    ["nothing, without input", [], 0, 0],
  ])("begins with %s", (_name, items, instructions, recent) => {
    expect(splitHistory(items)).toEqual({ instructions, recent });
  });
});

test("the smallest threshold counts, and invalid entries stay in the request", () => {
  const compaction = (compact_threshold: unknown) =>
    ({ type: "compaction", compact_threshold }) as JsonObject;
  const take = (entries: unknown) =>
    takeCompaction({ input: "Hi", context_management: entries as JsonObject[] });
  expect(take([compaction(2000), compaction(1500)])).toEqual({
    request: { input: "Hi" },
    threshold: 1500,
  });
  const invalid = [compaction("many"), compaction(-1), null, { type: "other" }];
  expect(take([...invalid, compaction(5)])).toEqual({
    request: { input: "Hi", context_management: invalid },
    threshold: 5,
  });
  for (const entries of [invalid, "auto", null, undefined])
    expect(take(entries).threshold).toBeUndefined();
});
