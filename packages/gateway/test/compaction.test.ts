import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { EnvelopeCipher } from "../src/reasoning/envelope-cipher.ts";
import { dropOldestItems } from "../src/responses/drop-oldest-items.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { readEvents } from "./test-gateway.ts";
import { streamText } from "./scripted-upstream.ts";

interface Compaction {
  id: string;
  object: string;
  output: (JsonObject & { encrypted_content: string })[];
  usage: JsonObject;
}

/** A Chat upstream that rejects requests with more messages than `maxMessages`. */
async function compactionFixture({ maxMessages = Infinity } = {}) {
  const fixture = await gatewayFixture((request, response) => {
    const messages = request.body["messages"] as JsonObject[];
    if (messages.length > maxMessages) {
      const error = { message: "too long", code: "context_length_exceeded" };
      return void response.writeHead(400).end(JSON.stringify({ error }));
    }
    const isSummary = JSON.stringify(messages).includes("Write the summary");
    if (request.body["stream"] === true)
      return streamText(response, isSummary ? "Ada wants a table." : "Hello");
    const message = { role: "assistant", content: isSummary ? "Ada wants a table." : "Hello" };
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "c", object: "chat.completion", choices, usage }));
  });
  const post = async <Reply>(
    path: string,
    body: object,
  ): Promise<{ status: number; body: Reply }> => {
    const response = await fixture.gateway.post(path, { model: "up/m", ...body });
    return { status: response.status, body: (await response.json()) as Reply };
  };
  const messages = () => fixture.upstream.requests.at(-1)?.body["messages"] as JsonObject[];
  return { ...fixture, post, messages };
}

const conversation = [
  { role: "developer", content: "Be brief" },
  { role: "user", content: "I am Ada" },
  { role: "assistant", content: "Hello Ada" },
  { role: "user", content: "I want a table" },
];

test("compact returns the user's messages and one sealed summary, which every later request accepts", async () => {
  const { post, messages } = await compactionFixture();
  const { status, body } = await post<Compaction>("/responses/compact", { input: conversation });
  expect([status, body]).toMatchObject([
    200,
    {
      object: "response.compaction",
      output: [
        {
          type: "message",
          id: expect.stringMatching(/^msg_/),
          status: "completed",
          role: "user",
          content: [{ type: "input_text", text: "I am Ada" }],
        },
        { role: "user", content: [{ text: "I want a table" }] },
        { type: "compaction", id: expect.stringMatching(/^cmp_/) },
      ],
      usage: { total_tokens: 7 },
    },
  ]);
  expect(JSON.stringify(body)).not.toContain("Ada wants a table.");
  await post("/responses", { input: [...body.output, { role: "user", content: "Go on" }] });
  expect(messages()).toMatchObject([
    { role: "user" },
    { role: "user" },
    { role: "user", content: expect.stringContaining("Ada wants a table.") },
    { role: "user", content: "Go on" },
  ]);
});

const streamedTypes = [
  "response.created",
  "response.in_progress",
  "response.output_item.added",
  "response.output_item.done",
  "response.completed",
];

describe.each([false, true])("a compaction_trigger, with stream: %s,", (stream) => {
  test("returns exactly one compaction item, and the response can be continued", async () => {
    const { gateway, post, messages } = await compactionFixture();
    const input = [...conversation, { type: "compaction_trigger" }];
    const reply = await gateway.post("/responses", { model: "up/m", input, stream });
    const events = stream
      ? (await readEvents(reply)).filter(({ done }) => done !== true)
      : [{ type: "none", response: (await reply.json()) as JsonObject }];
    expect(events.map(({ type }) => type)).toEqual(stream ? streamedTypes : ["none"]);
    const response = events.at(-1)?.["response"] as JsonObject;
    expect(response).toMatchObject({ status: "completed", usage: { total_tokens: 7 } });
    expect(response["output"]).toMatchObject([{ type: "compaction" }]);
    const { status } = await post("/responses", {
      input: "Go on",
      previous_response_id: response["id"],
    });
    expect(status).toBe(200);
    // What was summarized is not sent again.
    expect(messages()).toMatchObject([
      { role: "user", content: expect.stringContaining("Ada wants a table.") },
      { role: "user", content: "Go on" },
    ]);
  });
});

test("a history that does not fit is summarized without its oldest items", async () => {
  const { post, upstream } = await compactionFixture({ maxMessages: 6 });
  const input = Array.from({ length: 10 }, (_, index) => ({
    role: "user",
    content: `message ${index}`,
  }));
  const { status } = await post("/responses/compact", { input });
  expect(status).toBe(200);
  const sent = upstream.requests.map(({ body }) => (body["messages"] as unknown[]).length);
  expect(sent.at(-1)).toBeLessThanOrEqual(6);
  expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain("message 9");
});

test("truncation auto leaves out the oldest items; without it the error is reported", async () => {
  const { gateway, post, messages } = await compactionFixture({ maxMessages: 4 });
  const input = [
    { role: "developer", content: "Be brief" },
    ...Array.from({ length: 8 }, (_, index) => ({ role: "user", content: `message ${index}` })),
  ];
  expect(await post("/responses", { input })).toMatchObject({
    status: 400,
    body: { error: { code: "context_length_exceeded" } },
  });
  const { status } = await post("/responses", { input, truncation: "auto" });
  expect(status).toBe(200);
  expect(messages()).toMatchObject([{ content: "Be brief" }, {}, {}, { content: "message 7" }]);
  const streamed = await gateway.post("/responses", {
    model: "up/m",
    input,
    truncation: "auto",
    stream: true,
  });
  const events = await readEvents(streamed);
  expect(events.some(({ type }) => type === "response.completed")).toBe(true);
  const background = { input, truncation: "auto", background: true };
  const { body } = await post<{ id: string }>("/responses", background);
  const path = `${gateway.url}/v1/responses/${body.id}?stream=true`;
  expect((await readEvents(await fetch(path))).at(-1)).toMatchObject({
    type: "response.completed",
  });
});

test("items are dropped from the oldest, calls together with their results", () => {
  const user = { type: "message", role: "user", content: "Hi" } as const;
  const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" } as const;
  const output = { type: "function_call_output", call_id: "a", output: "1" } as const;
  const developer = { type: "message", role: "developer", content: "Be brief" } as const;
  expect(dropOldestItems([developer, call, user, output, user])).toEqual([developer, user, user]);
  expect(dropOldestItems([developer, user])).toHaveLength(2);
  expect(dropOldestItems([])).toEqual([]);
});

test("input_tokens returns an estimate", async () => {
  const { post, upstream } = await compactionFixture();
  const { body } = await post<{ input_tokens: number }>("/responses/input_tokens", {
    input: "word ".repeat(100),
  });
  expect(body).toMatchObject({ object: "response.input_tokens", estimated: true });
  expect(body.input_tokens).toBeGreaterThan(50);
  expect(body.input_tokens).toBeLessThan(400);
  expect(upstream.requests).toHaveLength(0);
});

test("a summary that was sealed with another key is an error that names the item", async () => {
  const { post } = await compactionFixture();
  const encrypted_content = new EnvelopeCipher(Buffer.alloc(32, 7)).sealSummary({
    summary: "secret",
  });
  const input = [{ type: "compaction", id: "cmp_1", encrypted_content }];
  expect(await post("/responses", { input })).toMatchObject({
    status: 400,
    body: { error: { param: "input[0].encrypted_content" } },
  });
});

test("a request with nothing to compact is an error", async () => {
  const { post } = await compactionFixture();
  expect(await post("/responses/compact", { input: [] })).toMatchObject({
    status: 400,
    body: { error: { param: "input" } },
  });
});
