import { openStore } from "@deltawire/store";
import type { JsonObject } from "@deltawire/wire";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  canRunPostgres,
  startPostgres,
  type PostgresServer,
} from "../../../test/postgres-server.ts";
import { IdempotentRequests } from "../src/tasks/idempotent-requests.ts";
import { gatewayFixture, sleep, testGateway, testUpstream, waitUntil } from "./gateway-fixture.ts";
import { readEvents, upstreamToml, type TestGateway } from "./test-gateway.ts";
import { streamText } from "./scripted-upstream.ts";

async function idempotencyFixture() {
  const { gateway, upstream } = await gatewayFixture(async (_request, response) => {
    await sleep(50);
    streamText(response, "Hello");
  });
  const post = (path: string, body: object, key: string): Promise<Response> =>
    gateway.post(path, body, { headers: { "idempotency-key": key } });
  const create = (body: object, key = "k1") => post("/responses", { model: "up/m", ...body }, key);
  return { post, create, upstream, gateway };
}

test("repeated requests with the same key get one response, even at the same time", async () => {
  const { create, upstream, gateway } = await idempotencyFixture();
  const [first, second] = await Promise.all([create({ input: "Hi" }), create({ input: "Hi" })]);
  const reply = (await first?.json()) as { id: string };
  expect(await second?.json()).toEqual(reply);
  expect(await (await create({ input: "Hi" })).json()).toEqual(reply);
  expect(upstream.requests).toHaveLength(1);
  const stored = await fetch(`${gateway.url}/v1/responses/${reply.id}`);
  expect(await stored.json()).toEqual(reply);
});

test("a repeated stream has the same response", async () => {
  const { create, upstream } = await idempotencyFixture();
  const first = await readEvents(await create({ input: "Hi", stream: true }));
  const second = await readEvents(await create({ input: "Hi", stream: true }));
  expect(upstream.requests).toHaveLength(1);
  const find = (events: JsonObject[], expectedType: string) =>
    events.find(({ type }) => type === expectedType);
  expect(find(second, "response.completed")?.["response"]).toEqual(
    find(first, "response.completed")?.["response"],
  );
  expect(find(second, "response.output_text.delta")).toMatchObject({ delta: "Hello" });
  expect(
    second.filter(({ done }) => done !== true).map((event) => event["sequence_number"]),
  ).toEqual(second.filter(({ done }) => done !== true).map((_, index) => index));
});

test("a repeated request in the background returns the same response", async () => {
  const { create, upstream } = await idempotencyFixture();
  const body = { input: "Hi", background: true };
  const { id } = (await (await create(body)).json()) as { id: string };
  expect(await (await create(body)).json()).toMatchObject({ id, background: true });
  const events = await readEvents(await create({ ...body }));
  expect(events).toEqual([]);
  await sleep(200);
  expect(upstream.requests).toHaveLength(1);
});

test("a failed request can be repeated with its key", async () => {
  let isBroken = true;
  const { gateway } = await gatewayFixture((_request, response) => {
    if (!isBroken) return streamText(response, "Hello");
    response.writeHead(400).end("{}");
  });
  const options = { headers: { "idempotency-key": "k1" } };
  const body = { model: "up/m", input: "Hi" };
  expect((await gateway.post("/responses", body, options)).status).toBe(400);
  isBroken = false;
  expect((await gateway.post("/responses", body, options)).status).toBe(200);
});

test("the same key with another body is refused, and another key is another request", async () => {
  const { create, post, upstream } = await idempotencyFixture();
  await (await create({ input: "Hi" })).json();
  const refused = await create({ input: "Bye" });
  expect([refused.status, await refused.json()]).toMatchObject([
    409,
    { error: { code: "idempotency_conflict" } },
  ]);
  await (await create({ input: "Hi" }, "k2")).json();
  expect(upstream.requests).toHaveLength(2);
  const start = async (metadata: object) => {
    const response = await post("/conversations", { metadata }, "k1");
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  const conversation = await start({ a: "b" });
  expect(conversation.status).toBe(200);
  expect(await start({ a: "b" })).toEqual(conversation);
  expect(await start({ a: "c" })).toMatchObject({ status: 409 });
});

describe.skipIf(!canRunPostgres)("with two gateways on one PostgreSQL database,", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 600_000);
  afterAll(() => server.stop());

  async function pairFixture(schema: string) {
    const waiting: (() => void)[] = [];
    const upstream = await testUpstream((_request, response) => {
      waiting.push(() => streamText(response, "Hello"));
    });
    const toml = `[store]\nurl = ${JSON.stringify(server.url)}\nschema = "${schema}"\n${upstreamToml("up", upstream.url)}`;
    const [one, two] = [await testGateway(toml), await testGateway(toml)];
    const create = (gateway: TestGateway, body: object = {}): Promise<Response> =>
      gateway.post(
        "/responses",
        { model: "up/m", input: "Hi", ...body },
        { headers: { "idempotency-key": "k1" } },
      );
    const finishReply = async (): Promise<void> => {
      await waitUntil("a request", () => waiting.length > 0);
      waiting.shift()?.();
    };
    return { one, two, upstream, create, finishReply };
  }

  test("a request that is repeated on the other one while it runs gets the same response", async () => {
    const { one, two, upstream, create, finishReply } = await pairFixture("same_response");
    const replies = [create(one)];
    await waitUntil("the request", () => upstream.requests.length === 1);
    replies.push(create(two), create(one), create(two));
    await sleep(600);
    await finishReply();
    const received = await Promise.all(
      replies.map(async (reply) => [(await reply).status, await (await reply).json()]),
    );
    expect(received).toEqual(received.map(() => [200, received[0]?.[1]]));
    expect(upstream.requests).toHaveLength(1);
  });

  test("a request in the background is followed on the other one while it runs", async () => {
    const { one, two, upstream, create, finishReply } = await pairFixture("followed");
    const body = { background: true, stream: true };
    const first = create(one, body);
    await waitUntil("the request", () => upstream.requests.length === 1);
    const second = await create(two, body);
    await finishReply();
    const events = await readEvents(second);
    expect(events).toEqual(await readEvents(await first));
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    expect(upstream.requests).toHaveLength(1);
  });

  test("a request whose client has disconnected can be repeated on the other one", async () => {
    const { one, two, upstream, create, finishReply } = await pairFixture("repeated");
    const controller = new AbortController();
    const canceled = fetch(`${one.url}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "k1" },
      body: JSON.stringify({ model: "up/m", input: "Hi" }),
      signal: controller.signal,
    });
    await waitUntil("the request", () => upstream.requests.length === 1);
    controller.abort();
    await expect(canceled).rejects.toThrow("aborted");
    await waitUntil("the end of the upstream request", () => upstream.openCount() === 0);
    await finishReply();
    const reply = create(two);
    await finishReply();
    expect((await reply).status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
  });
});

test("a request that another process runs waits, then is refused; after a crash it runs again", async () => {
  const store = await openStore({ path: ":memory:" });
  onTestFinished(() => store.close());
  const leases = { getStore: () => store, leaseMs: 300, waitMs: 600 };
  const [one, two] = [new IdempotentRequests(store, leases), new IdempotentRequests(store, leases)];
  const runs: string[] = [];
  const finish = Promise.withResolvers<void>();
  const running = one.run("key", {}, async (id) => {
    runs.push(`one ${id}`);
    await finish.promise;
    return id;
  });
  await waitUntil("the first request", () => runs.length === 1);
  const repeat = () => two.run("key", {}, async (id) => (runs.push(`two ${id}`), id));
  await expect(repeat()).rejects.toMatchObject({ code: "request_in_progress", retryAfter: 5 });
  finish.resolve();
  const id = await running;
  expect(await repeat()).toBe(id);
  expect(runs).toEqual([`one ${id}`, `two ${id}`]);
  // A process that has crashed neither renews nor releases its lease.
  await store.holdIdempotencyKey("key", { holder: "crashed", ttlMs: 300 });
  const startedAt = performance.now();
  expect(await repeat()).toBe(id);
  expect(performance.now() - startedAt).toBeGreaterThan(200);
});
