import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "@deltawire/wire";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { startDeltawire, temporaryFolder } from "./deltawire-process.ts";
import { gatewayFixture, testGateway, testUpstream, waitUntil } from "./gateway-fixture.ts";
import { readEvents, upstreamToml, type TestGateway } from "./test-gateway.ts";
import { beginStream, chatChunk, formatEvent, sendError, streamText } from "./scripted-upstream.ts";

interface Reply extends JsonObject {
  id: string;
  status: string;
}

/** An upstream whose replies are sent word by word, by the test. */
async function steppedFixture() {
  const replies: ServerResponse[] = [];
  const fixture = await gatewayFixture((_request, response) => {
    beginStream(response);
    response.flushHeaders();
    replies.push(response);
  });
  const reply = async (index = 0): Promise<ServerResponse> => {
    await waitUntil("a request", () => replies.length > index);
    return replies[index] as ServerResponse;
  };
  const say = async (word: string) =>
    void (await reply()).write(formatEvent(chatChunk({ content: word })));
  const end = async () => {
    (await reply()).write(formatEvent(chatChunk({}, "stop")));
    (await reply()).end(formatEvent("[DONE]"));
  };
  return { ...fixture, replies, reply, say, end };
}

const body = { model: "up/m", input: "Hi", background: true };

async function create(gateway: TestGateway, overrides: object = {}): Promise<Reply> {
  return (await (await gateway.post("/responses", { ...body, ...overrides })).json()) as Reply;
}

async function get(url: string, id: string): Promise<Reply> {
  return (await (await fetch(`${url}/v1/responses/${id}`)).json()) as Reply;
}

const follow = async (url: string, id: string, after?: number): Promise<JsonObject[]> => {
  const query = after === undefined ? "" : `&starting_after=${after}`;
  return readEvents(await fetch(`${url}/v1/responses/${id}?stream=true${query}`));
};

const waitForStatus = (url: string, id: string, status: string) =>
  waitUntil(status, async () => (await get(url, id)).status === status);

test("a response is queued, runs without its client, and shows its progress", async () => {
  const { gateway, say, end } = await steppedFixture();
  const created = await create(gateway, { metadata: { a: "b" } });
  expect(created).toMatchObject({
    object: "response",
    status: "queued",
    background: true,
    output: [],
    metadata: { a: "b" },
  });
  await say("Hel");
  await waitForStatus(gateway.url, created.id, "in_progress");
  await say("lo");
  await end();
  await waitForStatus(gateway.url, created.id, "completed");
  expect(await get(gateway.url, created.id)).toMatchObject({
    id: created.id,
    created_at: created["created_at"],
    background: true,
    output: [{ type: "message", content: [{ type: "output_text", text: "Hello" }] }],
  });
});

test("every client receives the same numbered events, from any number", async () => {
  const { gateway, say, end } = await steppedFixture();
  const stream = await gateway.post("/responses", { ...body, stream: true });
  const first = readEvents(stream);
  await say("Hel");
  await say("lo");
  await end();
  const events = await first;
  const id = (events[0]?.["response"] as Reply | undefined)?.id ?? "";
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(
    events.map((_, index) => index),
  );
  expect(events.map(({ type }) => type).slice(0, 4)).toEqual([
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.output_item.added",
  ]);
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { id, status: "completed", background: true },
  });
  for (const after of [0, 3, events.length - 2])
    expect(await follow(gateway.url, id, after)).toEqual(events.slice(after + 1));
  expect(await follow(gateway.url, id)).toEqual(events);
  expect(await follow(gateway.url, id, events.length + 5)).toEqual([{ done: true }]);
});

test("a client that follows while the response runs continues live", async () => {
  const { gateway, say, end } = await steppedFixture();
  const { id } = await create(gateway);
  await say("Hel");
  await waitForStatus(gateway.url, id, "in_progress");
  const [early, late] = [follow(gateway.url, id), follow(gateway.url, id, 1)];
  await say("lo");
  await end();
  const events = await early;
  expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  expect(await late).toEqual(events.slice(2));
});

test("cancel reaches the upstream, and ends the response", async () => {
  const { gateway, upstream, say } = await steppedFixture();
  const { id } = await create(gateway);
  await say("Hel");
  await waitForStatus(gateway.url, id, "in_progress");
  const events = follow(gateway.url, id);
  const cancel = () => gateway.post(`/responses/${id}/cancel`, {});
  const canceled = await cancel();
  expect([canceled.status, await canceled.json()]).toMatchObject([
    200,
    { id, status: "cancelled" },
  ]);
  await upstream.requests[0]?.closed;
  expect((await events).at(-1)).toMatchObject({
    type: "response.incomplete",
    response: { id, status: "cancelled" },
  });
  expect(await (await cancel()).json()).toMatchObject({ status: "cancelled" });
});

test("a deleted response ends its upstream request", async () => {
  const { gateway, upstream, say } = await steppedFixture();
  const { id } = await create(gateway);
  await say("Hel");
  await fetch(`${gateway.url}/v1/responses/${id}`, { method: "DELETE" });
  await upstream.requests[0]?.closed;
  expect((await fetch(`${gateway.url}/v1/responses/${id}`)).status).toBe(404);
});

test("an upstream that rejects the request fails the response", async () => {
  const { gateway } = await gatewayFixture((_request, response) =>
    sendError(response, 400, "no such thing"),
  );
  const { id } = await create(gateway);
  await waitForStatus(gateway.url, id, "failed");
  expect(await get(gateway.url, id)).toMatchObject({
    error: { message: expect.stringContaining("no such thing") },
  });
  expect((await follow(gateway.url, id)).at(-1)).toMatchObject({ type: "response.failed" });
});

test("a response in the background is continued once it has ended", async () => {
  const { gateway, upstream, say, end } = await steppedFixture();
  const { id } = await create(gateway);
  await say("Hello");
  const next = { model: "up/m", input: "Bye", previous_response_id: id, background: true };
  const early = await gateway.post("/responses", next);
  expect([early.status, await early.json()]).toMatchObject([
    400,
    { error: { message: expect.stringContaining("continue it when it has ended") } },
  ]);
  await end();
  await waitForStatus(gateway.url, id, "completed");
  expect(await create(gateway, next)).toMatchObject({ previous_response_id: id });
  await waitUntil("the second request", () => upstream.requests.length === 2);
  expect(upstream.requests[1]?.body["messages"]).toMatchObject([
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
    { role: "user", content: "Bye" },
  ]);
  await gateway.post(`/responses/${id}/cancel`, {});
});

test.each([
  [{ store: false }, "needs store: true"],
  [{ previous_response_id: "resp_unknown" }, "not found"],
])("a request with %j is rejected", async (overrides, message) => {
  const { gateway } = await steppedFixture();
  const response = await gateway.post("/responses", { ...body, ...overrides });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(message)]);
});

test("a response that did not run in the background is neither streamed again nor canceled", async () => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "Hi"));
  const { id } = await create(gateway, { background: false });
  const streamed = await fetch(`${gateway.url}/v1/responses/${id}?stream=true`);
  const canceled = await gateway.post(`/responses/${id}/cancel`, {});
  expect([streamed.status, canceled.status]).toEqual([400, 400]);
});

test("after a crash, a response is asked again if nothing was sent, else it fails", async () => {
  let isRestarted = false;
  const upstream = await testUpstream((request, response) => {
    if (isRestarted) return streamText(response, "Hello again");
    beginStream(response);
    response.flushHeaders();
    if (JSON.stringify(request.body).includes("started"))
      response.write(formatEvent(chatChunk({ content: "Hel" })));
  });
  const folder = temporaryFolder(`[server]\nport = 0\n${upstreamToml("up", upstream.url)}`);
  const start = () => startDeltawire(["serve", "--data", folder], { cwd: folder });
  const before = start();
  const url = await before.url;
  const post = async (input: string): Promise<Reply> => {
    const response = await fetch(`${url}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, input }),
    });
    return (await response.json()) as Reply;
  };
  const [silent, started] = [await post("silent"), await post("started")];
  await waitUntil("both requests", () => upstream.requests.length === 2);
  await waitUntil("the first text", async () => {
    const events = await fetch(`${url}/v1/responses/${started.id}`);
    return (await events.text()).includes('"in_progress"');
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  isRestarted = true;
  before.child.kill("SIGKILL");
  await before.ended;
  const after = start();
  const newUrl = await after.url;
  await waitForStatus(newUrl, silent.id, "completed");
  await waitForStatus(newUrl, started.id, "failed");
  expect((await get(newUrl, silent.id))["output"]).toMatchObject([
    { content: [{ text: "Hello again" }] },
  ]);
  expect(await get(newUrl, started.id)).toMatchObject({
    error: { code: "server_error", message: expect.stringContaining("the gateway stopped") },
  });
  const events = await follow(newUrl, started.id);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(
    events.map((_, index) => index),
  );
  expect(events.at(-1)).toMatchObject({ type: "response.failed" });
});

describe.skipIf(!canRunPostgres)("with two gateways on one PostgreSQL database,", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  test("each follows, cancels and deletes the responses of the other", async () => {
    const replies: ServerResponse[] = [];
    const upstream = await testUpstream((_request, response) => {
      beginStream(response);
      response.flushHeaders();
      replies.push(response);
    });
    const toml = `[store]\nurl = ${JSON.stringify(server.url)}\nschema = "background"\n${upstreamToml("up", upstream.url)}`;
    const [one, two] = [await testGateway(toml), await testGateway(toml)];
    const [finished, canceled, deleted] = [await create(one), await create(one), await create(one)];
    await waitUntil("all requests", () => replies.length === 3);
    for (const reply of replies) reply.write(formatEvent(chatChunk({ content: "Hel" })));
    const events = follow(two.url, finished.id);
    expect(await (await two.post(`/responses/${canceled.id}/cancel`, {})).json()).toMatchObject({
      status: "cancelled",
    });
    await fetch(`${two.url}/v1/responses/${deleted.id}`, { method: "DELETE" });
    await waitUntil("two aborted requests", () => upstream.openCount() === 1);
    const open = replies.find((reply) => !reply.destroyed && !reply.closed);
    open?.end(
      [chatChunk({ content: "lo" }), chatChunk({}, "stop"), "[DONE]"].map(formatEvent).join(""),
    );
    const received = await events;
    expect(received.at(-1)).toMatchObject({ type: "response.completed" });
    expect(await follow(one.url, finished.id)).toEqual(received);
    expect(await get(two.url, finished.id)).toEqual(await get(one.url, finished.id));
  });

  test("a gateway that stops leaves its responses to the other", async () => {
    let isSecond = false;
    const upstream = await testUpstream((_request, response) => {
      if (isSecond) return streamText(response, "Hello");
      beginStream(response);
      response.flushHeaders();
    });
    const toml = `[store]\nurl = ${JSON.stringify(server.url)}\nschema = "handover"\n${upstreamToml("up", upstream.url)}`;
    const [one, two] = [await testGateway(toml), await testGateway(toml)];
    const { id } = await create(one);
    await waitUntil("the request", () => upstream.requests.length === 1);
    isSecond = true;
    const events = follow(two.url, id);
    await one.close();
    expect((await events).at(-1)).toMatchObject({ type: "response.completed" });
  });
});

test("events are sent as server-sent events with their type", async () => {
  const { gateway, say, end } = await steppedFixture();
  const response = await gateway.post("/responses", { ...body, stream: true });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  await say("Hello");
  await end();
  const text = await response.text();
  expect(text).toMatch(/^event: response\.created\ndata: \{"type":"response\.created"/);
});
