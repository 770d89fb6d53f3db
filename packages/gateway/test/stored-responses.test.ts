import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@deltawire/store";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { gatewayFixture, testGateway, testUpstream } from "./gateway-fixture.ts";
import { keyGatewayFixture } from "./access-key-fixture.ts";
import { readEvents, upstreamToml, type TestGateway } from "./test-gateway.ts";
import { beginStream, formatEvent, streamText } from "./scripted-upstream.ts";

interface Reply {
  id: string;
  status: string;
  store: boolean;
  previous_response_id: string | null;
  output: { id: string; type: string }[];
}

interface ItemList {
  object: "list";
  data: JsonObject[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

async function request(
  gateway: TestGateway,
  path: string,
  method = "GET",
): Promise<{ status: number; body: JsonObject }> {
  const response = await fetch(`${gateway.url}/v1${path}`, { method });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

async function create(gateway: TestGateway, body: object): Promise<Reply> {
  const response = await gateway.post("/responses", { model: "up/m", ...body });
  const reply: unknown = await response.json();
  expect([response.status, reply]).toEqual([200, reply]);
  return reply as Reply;
}

const overChat = () => gatewayFixture((_request, response) => streamText(response, "Paris"));

/** An upstream that speaks Responses and stores nothing. */
async function overResponses() {
  let count = 0;
  return gatewayFixture(
    (_request, response) => {
      count += 1;
      beginStream(response);
      response.end(buildResponseEvents(`resp_up${count}`, "Paris").map(formatEvent).join(""));
    },
    { upstream: { speaks: "responses" } },
  );
}

function buildResponseEvents(id: string, text: string): JsonObject[] {
  const content = [{ type: "output_text", text, annotations: [] }];
  const item = {
    type: "message",
    id: `msg_${id}`,
    role: "assistant",
    status: "completed",
    content,
  };
  const response = { id, object: "response", model: "m", status: "in_progress", output: [] };
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  return [
    { type: "response.created", sequence_number: 0, response },
    {
      type: "response.output_item.added",
      sequence_number: 1,
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    },
    { type: "response.output_item.done", sequence_number: 2, output_index: 0, item },
    {
      type: "response.completed",
      sequence_number: 3,
      response: { ...response, status: "completed", output: [item], usage },
    },
  ];
}

describe.each([
  ["a Chat upstream", overChat],
  ["a Responses upstream", overResponses],
])("over %s,", (_name, start) => {
  test("a response is read as it was created", async () => {
    const { gateway } = await start();
    const created = await create(gateway, { input: "Capital of France?", metadata: { a: "b" } });
    const { status, body } = await request(gateway, `/responses/${created.id}`);
    expect([status, body]).toEqual([200, created]);
  });

  test("a streamed response has the same ids in the stream and later", async () => {
    const { gateway } = await start();
    const response = await gateway.post("/responses", { model: "up/m", input: "Hi", stream: true });
    const events = await readEvents(response);
    const completed = events.find(({ type }) => type === "response.completed");
    const id = (completed?.["response"] as { id: string } | undefined)?.id;
    expect(events[0]).toMatchObject({ type: "response.created", response: { id } });
    expect(await request(gateway, `/responses/${id}`)).toEqual({
      status: 200,
      body: completed?.["response"],
    });
  });

  test("a response is continued from the store, over any number of turns", async () => {
    const { gateway, upstream } = await start();
    const first = await create(gateway, { input: "Capital of France?" });
    const second = await create(gateway, {
      input: "And its river?",
      previous_response_id: first.id,
    });
    expect(second.previous_response_id).toBe(first.id);
    await create(gateway, { input: "Thanks", previous_response_id: second.id });
    const { messages, input, previous_response_id } = upstream.requests.at(-1)?.body ?? {};
    expect(previous_response_id).toBeUndefined();
    const sent = (messages ?? input) as { role: string }[];
    expect(sent.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
  });

  test("input items are listed in pages, with those of earlier turns", async () => {
    const { gateway } = await start();
    const first = await create(gateway, { input: "Capital of France?" });
    const second = await create(gateway, {
      input: [
        { role: "user", content: "And its river?" },
        { role: "user", content: [{ type: "input_text", text: "Quickly" }] },
      ],
      previous_response_id: first.id,
    });
    const list = async (query: string) =>
      (await request(gateway, `/responses/${second.id}/input_items?${query}`))
        .body as unknown as ItemList;
    const all = await list("order=asc");
    expect(all).toMatchObject({
      object: "list",
      has_more: false,
      data: [
        { role: "user", content: [{ type: "input_text", text: "Capital of France?" }] },
        { id: first.output[0]?.id, role: "assistant" },
        { role: "user", content: [{ type: "input_text", text: "And its river?" }] },
        { role: "user", content: [{ type: "input_text", text: "Quickly" }] },
      ],
    });
    const ids = all.data.map(({ id }) => id as string);
    expect(new Set(ids).size).toBe(4);
    expect((await list("")).data.map(({ id }) => id)).toEqual(ids.toReversed());
    const page = await list(`order=asc&limit=2&after=${ids[0]}`);
    expect(page).toMatchObject({ first_id: ids[1], last_id: ids[2], has_more: true });
    expect(await list(`order=asc&after=${ids[3]}`)).toMatchObject({
      data: [],
      first_id: null,
      has_more: false,
    });
  });

  test("a deleted response is gone, and cannot be continued on a Chat upstream", async () => {
    const { gateway } = await start();
    const { id } = await create(gateway, { input: "Hi" });
    expect(await request(gateway, `/responses/${id}`, "DELETE")).toEqual({
      status: 200,
      body: { id, object: "response", deleted: true },
    });
    for (const [path, method] of [
      [`/responses/${id}`, "GET"],
      [`/responses/${id}`, "DELETE"],
      [`/responses/${id}/input_items`, "GET"],
    ] as const)
      expect(await request(gateway, path, method)).toMatchObject({
        status: 404,
        body: { error: { code: "response_not_found" } },
      });
  });

  test("store: false stores nothing", async () => {
    const { gateway } = await start();
    const { id } = await create(gateway, { input: "Hi", store: false });
    expect(await request(gateway, `/responses/${id}`)).toMatchObject({ status: 404 });
  });
});

test("a response larger than 20 MB is answered but not stored, and rejected if it must be stored", async () => {
  const { gateway } = await overChat();
  const input = "a".repeat(21_000_000);
  const large = await create(gateway, { input });
  const small = await create(gateway, { input: "Hello" });
  expect((await request(gateway, `/responses/${large.id}`)).status).toBe(404);
  expect((await request(gateway, `/responses/${small.id}`)).status).toBe(200);
  for (const wish of [{ background: true }, { store: true }]) {
    const rejected = await gateway.post("/responses", { model: "up/m", input, ...wish });
    expect([rejected.status, await rejected.json()]).toMatchObject([
      413,
      {
        error: {
          code: "request_too_large",
          param: "input",
          message: expect.stringContaining("may have at most 20 MB"),
        },
      },
    ]);
  }
});

test("a response that cannot be found is an error on a Chat upstream, and forwarded to a Responses upstream", async () => {
  const chat = await overChat();
  const body = { model: "up/m", input: "Hi", previous_response_id: "resp_unknown" };
  const rejected = await chat.gateway.post("/responses", body);
  expect(rejected.status).toBe(400);
  expect(await rejected.json()).toMatchObject({
    error: { code: "previous_response_not_found", param: "previous_response_id" },
  });
  const responses = await overResponses();
  await create(responses.gateway, body);
  expect(responses.upstream.requests.at(-1)?.body["previous_response_id"]).toBe("resp_unknown");
});

test("responses are stored until they are too old, and survive a restart", async () => {
  const dataFolder = realpathSync(mkdtempSync(join(tmpdir(), "deltawire-responses-")));
  onTestFinished(() => rmSync(dataFolder, { recursive: true, force: true }));
  const upstream = await testUpstream((_request, response) => streamText(response, "Paris"));
  const toml = upstreamToml("up", upstream.url);
  const before = await testGateway(toml, { dataFolder });
  const created = await create(before, { input: "Capital of France?" });
  const continued = await create(before, { input: "x", previous_response_id: created.id });
  await before.close();
  const after = await testGateway(toml, { dataFolder });
  expect((await request(after, `/responses/${created.id}`)).body).toEqual(created);
  await create(after, { input: "And its river?", previous_response_id: continued.id });
  expect(upstream.requests.at(-1)?.body["messages"]).toHaveLength(5);
  await after.close();
  const store = await openStore({ path: join(dataFolder, "deltawire.db") });
  const bytes = await store.getResponseBytes();
  expect(bytes).toBeGreaterThan(0);
  await store.close();
  const pruned = await testGateway(`[store]\nresponse_days = 0.01\n${toml}`, { dataFolder });
  expect(await request(pruned, `/responses/${created.id}`)).toMatchObject({ status: 200 });
});

test("responses of another access key are not found", async () => {
  const fixture = await keyGatewayFixture();
  const [ann, bob] = await Promise.all(
    ["ann", "bob"].map((name) => fixture.createClient({ name, owner: name, scopes: ["models"] })),
  );
  const body = { model: "demo/clean", input: "Hello" };
  const created = await ann?.request("POST", "/v1/responses", body);
  const id = (created?.body as Reply | undefined)?.id;
  expect(await ann?.request("GET", `/v1/responses/${id}`)).toMatchObject({ status: 200 });
  for (const [method, path] of [
    ["GET", `/v1/responses/${id}`],
    ["GET", `/v1/responses/${id}/input_items`],
    ["DELETE", `/v1/responses/${id}`],
  ] as const)
    expect(await bob?.request(method, path)).toMatchObject({ status: 404 });
  const continued = { ...body, previous_response_id: id };
  expect(await bob?.request("POST", "/v1/responses", continued)).toMatchObject({ status: 400 });
  expect(await ann?.request("POST", "/v1/responses", continued)).toMatchObject({ status: 200 });
});

test.each([
  ["include=everything", "include"],
  ["limit=0", "limit"],
  ["order=up", "order"],
  ["after=msg_unknown", "after"],
])("a query with %s is an error that names the parameter", async (query, param) => {
  const { gateway } = await overChat();
  const { id } = await create(gateway, { input: "Hi" });
  expect(await request(gateway, `/responses/${id}/input_items?${query}`)).toMatchObject({
    status: 400,
    body: { error: { param } },
  });
});
