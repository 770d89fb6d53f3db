import type { JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { gatewayFixture, sleep } from "./gateway-fixture.ts";
import { readEvents } from "./test-gateway.ts";
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
  const find = (events: JsonObject[], wanted: string) => events.find(({ type }) => type === wanted);
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
