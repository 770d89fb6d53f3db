import { once } from "node:events";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { revokeAccessKey } from "../src/security/manage-access-keys.ts";
import { keyGatewayFixture } from "./access-key-fixture.ts";
import { gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, streamText } from "./scripted-upstream.ts";

class Client {
  readonly socket: WebSocket;
  readonly received: JsonObject[] = [];

  constructor(url: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, { headers });
    this.socket.on("message", (data) =>
      this.received.push(JSON.parse((data as Buffer).toString()) as JsonObject),
    );
    this.socket.on("error", () => undefined);
    onTestFinished(() => this.socket.terminate());
  }

  async create(body: object): Promise<void> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, "open");
    this.socket.send(JSON.stringify({ type: "response.create", model: "up/m", ...body }));
  }

  /** Sends a request and returns the events up to its last one. */
  async respond(body: object): Promise<JsonObject[]> {
    const start = this.received.length;
    await this.create(body);
    await waitUntil("the last event", () =>
      isLast(this.received.at(-1), start < this.received.length),
    );
    return this.received.slice(start);
  }

  /** The status of a rejected upgrade. */
  async rejection(): Promise<number> {
    const [, response] = (await once(this.socket, "unexpected-response")) as [
      unknown,
      { statusCode: number },
    ];
    return response.statusCode;
  }
}

const lastTypes = ["response.completed", "response.failed", "response.incomplete", "error"];
const isLast = (event: JsonObject | undefined, isNew: boolean): boolean =>
  isNew && lastTypes.includes(event?.["type"] as string);
const getResponse = (events: JsonObject[]): JsonObject & { id: string } =>
  events.at(-1)?.["response"] as JsonObject & { id: string };

async function socketFixture() {
  const fixture = await gatewayFixture((_request, response) => streamText(response, "Paris"));
  const messages = () => fixture.upstream.requests.at(-1)?.body["messages"];
  return { ...fixture, client: new Client(fixture.gateway.url), messages };
}

test("response.create is answered with the events of a stream, and the response is stored", async () => {
  const { client, gateway } = await socketFixture();
  const events = await client.respond({ input: "Hi" });
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(
    events.map((_, index) => index),
  );
  expect(events[0]).toMatchObject({ type: "response.created" });
  const response = getResponse(events);
  const stored = await fetch(`${gateway.url}/v1/responses/${response.id}`);
  expect(await stored.json()).toEqual(response);
});

test("responses with store: false are continued from memory, but only on their connection", async () => {
  const { client, gateway, messages } = await socketFixture();
  const first = getResponse(await client.respond({ input: "Capital of France?", store: false }));
  const second = getResponse(
    await client.respond({ input: "River?", store: false, previous_response_id: first.id }),
  );
  expect(second["previous_response_id"]).toBe(first.id);
  await client.respond({ input: "Thanks", store: false, previous_response_id: second.id });
  expect(messages()).toHaveLength(5);
  expect((await fetch(`${gateway.url}/v1/responses/${first.id}`)).status).toBe(404);
  const other = new Client(gateway.url);
  const [error] = await other.respond({ input: "Hi", previous_response_id: first.id });
  expect(error).toMatchObject({
    type: "error",
    status: 400,
    error: { code: "previous_response_not_found", param: "previous_response_id" },
  });
});

test("a long input is compacted for context_management, and what it summarizes is not sent again", async () => {
  const { client, messages } = await socketFixture();
  const context_management = [{ type: "compaction", compact_threshold: 1000 }];
  const body = { store: false, context_management };
  const first = getResponse(await client.respond({ ...body, input: "word ".repeat(2000) }));
  const events = await client.respond({
    ...body,
    input: "River?",
    previous_response_id: first.id,
  });
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
  const second = getResponse(events);
  expect(second["output"]).toMatchObject([{ type: "compaction" }, { type: "message" }]);
  await client.respond({ ...body, input: "Thanks", previous_response_id: second.id });
  expect(messages()).toMatchObject([
    { role: "user", content: expect.stringContaining("Summary of the conversation") },
    { role: "user", content: "River?" },
    { role: "assistant", content: "Paris" },
    { role: "user", content: "Thanks" },
  ]);
});

test("a warm-up with generate: false asks nothing, and is continued", async () => {
  const { client, upstream, messages } = await socketFixture();
  const events = await client.respond({
    input: [{ role: "developer", content: "Be brief" }],
    generate: false,
    store: false,
  });
  expect(events.map(({ type }) => type)).toEqual([
    "response.created",
    "response.in_progress",
    "response.completed",
  ]);
  expect(upstream.requests).toHaveLength(0);
  await client.respond({ input: "Hi", previous_response_id: getResponse(events).id });
  expect(messages()).toMatchObject([{ content: "Be brief" }, { content: "Hi" }]);
});

test("streams run at the same time and are told apart; requests of one run in their order", async () => {
  const pending: (() => void)[] = [];
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
    pending.push(() => response.end([chatChunk({}, "stop"), "[DONE]"].map(formatEvent).join("")));
  });
  const client = new Client(gateway.url);
  await client.create({ input: "a1", stream_id: "a" });
  await client.create({ input: "a2", stream_id: "a" });
  await client.create({ input: "b1", stream_id: "b" });
  await waitUntil("two requests", () => pending.length === 2);
  expect(JSON.stringify(upstream.requests.map(({ body }) => body))).not.toContain("a2");
  pending[1]?.();
  const completed = (stream: string) =>
    client.received.filter(
      ({ type, stream_id }) => type === "response.completed" && stream_id === stream,
    ).length;
  await waitUntil("b", () => completed("b") === 1);
  expect(completed("a")).toBe(0);
  pending[0]?.();
  await waitUntil("a2", () => pending.length === 3);
  pending[2]?.();
  await waitUntil("both", () => completed("a") === 2);
  expect(client.received.every(({ stream_id }) => stream_id === "a" || stream_id === "b")).toBe(
    true,
  );
});

test("a continuation that fails evicts the response from memory", async () => {
  let isBroken = false;
  const { gateway } = await gatewayFixture((_request, response) => {
    if (isBroken) response.writeHead(400).end('{"error":{"message":"broken"}}');
    else streamText(response, "Paris");
  });
  const client = new Client(gateway.url);
  const { id } = getResponse(await client.respond({ input: "Hi", store: false }));
  isBroken = true;
  const next = { input: "Again", store: false, previous_response_id: id };
  expect((await client.respond(next)).at(-1)).toMatchObject({ type: "error", status: 400 });
  isBroken = false;
  expect((await client.respond(next)).at(-1)).toMatchObject({
    error: { code: "previous_response_not_found" },
  });
});

test("a continuation with the result of an unknown call fails, and evicts the response", async () => {
  const { client, upstream } = await socketFixture();
  const { id } = getResponse(await client.respond({ input: "Hi", store: false }));
  const next = { store: false, previous_response_id: id };
  const result = { type: "function_call_output", call_id: "call_unknown", output: "1" };
  expect((await client.respond({ ...next, input: [result] })).at(-1)).toMatchObject({
    type: "error",
    status: 400,
    error: { message: expect.stringContaining("No tool call found"), param: "input" },
  });
  expect((await client.respond({ ...next, input: "Again" })).at(-1)).toMatchObject({
    error: { code: "previous_response_not_found" },
  });
  expect(upstream.requests).toHaveLength(1);
});

describe("an invalid message is an error, and the connection stays open:", () => {
  test.each([
    ["{", "invalid_json", "not valid JSON"],
    ["[]", "invalid_request", "JSON object"],
    ['{"type":"response.unknown"}', "invalid_request", "response.create"],
    ['{"type":"response.create","stream_id":7}', "invalid_request", "stream_id"],
    ['{"type":"response.create"}', "invalid_request", "model"],
    ['{"type":"response.create","model":"up/m","input":[7]}', "invalid_request", "input[0]"],
  ])("%s", async (message, code, text) => {
    const { client } = await socketFixture();
    await once(client.socket, "open");
    client.socket.send(message);
    await waitUntil("the error", () => client.received.length === 1);
    expect(client.received[0]).toMatchObject({
      type: "error",
      error: { code, message: expect.stringContaining(text) },
    });
    const events = await client.respond({ input: "Hi" });
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  });
});

test("a client that disconnects ends its upstream requests", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ content: "Hi" })));
  });
  const client = new Client(gateway.url);
  await client.create({ input: "Hi" });
  await waitUntil("an event", () => client.received.length > 0);
  client.socket.terminate();
  await upstream.requests[0]?.closed;
  expect(upstream.openCount()).toBe(0);
});

describe("an upgrade is rejected", () => {
  const toml = `[server]\nport = 0\ntokens = ["secret-of-a-client"]\n`;

  test("without a valid token", async () => {
    const { gateway } = await gatewayFixture((_request, response) => streamText(response, "Hi"), {
      toml,
    });
    expect(await new Client(gateway.url).rejection()).toBe(401);
    const client = new Client(gateway.url, { authorization: "Bearer secret-of-a-client" });
    expect((await client.respond({ input: "Hi" })).at(-1)).toMatchObject({
      type: "response.completed",
    });
  });

  test("from the page of another site", async () => {
    const { gateway } = await gatewayFixture((_request, response) => streamText(response, "Hi"));
    const client = new Client(gateway.url, { origin: "https://evil.example" });
    expect(await client.rejection()).toBe(403);
  });

  test("at other paths", async () => {
    const { gateway } = await socketFixture();
    const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/models`);
    socket.on("error", () => undefined);
    const [, response] = (await once(socket, "unexpected-response")) as [
      unknown,
      { statusCode: number },
    ];
    expect(response.statusCode).toBe(426);
  });
});

test("an access key sees only its own responses, and needs the scope", async () => {
  const { gateway, createClient } = await (async () => {
    const fixture = await keyGatewayFixture();
    return { gateway: fixture.gateway, createClient: fixture.createClient.bind(fixture) };
  })();
  const [ann, bob, other] = await Promise.all([
    createClient({ name: "ann", owner: "ann", scopes: ["models"] }),
    createClient({ name: "bob", owner: "bob", scopes: ["models"] }),
    createClient({ name: "other", owner: "bob", scopes: ["chats"] }),
  ]);
  const connect = ({ key }: { key: string }) =>
    new Client(gateway.url, { authorization: `Bearer ${key}` });
  expect(await connect(other).rejection()).toBe(403);
  const body = { model: "demo/clean", input: "Hello" };
  const { id } = getResponse(await connect(ann).respond(body));
  const continued = { ...body, previous_response_id: id };
  expect((await connect(bob).respond(continued)).at(-1)).toMatchObject({
    error: { code: "previous_response_not_found" },
  });
  expect((await connect(ann).respond(continued)).at(-1)).toMatchObject({
    type: "response.completed",
  });
});

test("a connection ends when its access key is revoked, and its usage counts for the key", async () => {
  const { gateway, store, createClient } = await keyGatewayFixture();
  const { key } = await createClient({ name: "ann", limits: { tokens_per_day: 1_000_000 } });
  const client = new Client(gateway.url, { authorization: `Bearer ${key}` });
  const response = getResponse(await client.respond({ model: "demo/clean", input: "Hello" }));
  const { total_tokens } = response["usage"] as { total_tokens: number };
  const keyId = (await store.listAccessKeys())[0]?.id ?? "";
  await waitUntil("the tokens are counted", async () => {
    const { totals } = await store.addUsage([{ keyId, unit: "tokens", period: "day", amount: 0 }]);
    return totals[0]?.amount === total_tokens;
  });
  const closed = once(client.socket, "close");
  await revokeAccessKey("ann", store);
  const [code, reason] = (await closed) as [number, Buffer];
  expect([code, reason.toString()]).toEqual([1008, "key_revoked"]);
  expect(client.received.at(-1)).toMatchObject({
    type: "error",
    status: 401,
    error: { code: "key_revoked", message: 'the access key "ann" was revoked; use another one' },
  });
});

test("a gateway that stops ends its connections", async () => {
  const { client, gateway } = await socketFixture();
  await client.respond({ input: "Hi" });
  const closed = once(client.socket, "close");
  await gateway.drain();
  expect((await closed)[0]).toBe(1001);
});
