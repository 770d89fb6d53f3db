import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { keyGatewayFixture } from "./access-key-fixture.ts";
import { gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

interface Item extends JsonObject {
  id: string;
}

interface ItemList {
  data: Item[];
  has_more: boolean;
  first_id: string | null;
  last_id: string | null;
}

async function conversationFixture() {
  const { gateway, upstream } = await gatewayFixture((_request, response) =>
    streamText(response, "Paris"),
  );
  const send = async <Body = JsonObject>(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: Body }> => {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const respond = async (body: object): Promise<JsonObject & { id: string }> => {
    const reply = await send<JsonObject & { id: string }>("POST", "/responses", {
      model: "up/m",
      ...body,
    });
    expect([reply.status, reply.body]).toEqual([200, reply.body]);
    return reply.body;
  };
  const create = async (body: object = {}): Promise<string> =>
    (await send<{ id: string }>("POST", "/conversations", body)).body.id;
  const listItems = async (id: string): Promise<Item[]> =>
    (await send<ItemList>("GET", `/conversations/${id}/items?order=asc`)).body.data;
  return { send, respond, create, listItems, upstream };
}

const messages = (upstream: { requests: { body: JsonObject }[] }): unknown =>
  upstream.requests.at(-1)?.body["messages"];

test("a conversation is created, read, changed and deleted", async () => {
  const { send } = await conversationFixture();
  const created = await send<{ id: string }>("POST", "/conversations", {
    metadata: { topic: "rivers" },
  });
  expect(created).toMatchObject({
    status: 200,
    body: { object: "conversation", metadata: { topic: "rivers" }, created_at: expect.any(Number) },
  });
  const path = `/conversations/${created.body.id}`;
  expect(await send("GET", path)).toEqual(created);
  expect(await send("POST", path, { metadata: { topic: "lakes" } })).toMatchObject({
    body: { metadata: { topic: "lakes" } },
  });
  expect(await send("DELETE", path)).toEqual({
    status: 200,
    body: { id: created.body.id, object: "conversation.deleted", deleted: true },
  });
  for (const [method, at] of [
    ["GET", path],
    ["DELETE", path],
    ["GET", `${path}/items`],
    ["GET", `${path}/items/msg_1`],
  ] as const)
    expect(await send(method, at)).toMatchObject({
      status: 404,
      body: { error: { code: "conversation_not_found" } },
    });
});

test("items are added, listed in pages, read and deleted", async () => {
  const { send, create, listItems } = await conversationFixture();
  const id = await create({ items: [{ role: "user", content: "Capital of France?" }] });
  const path = `/conversations/${id}/items`;
  const added = await send<ItemList>("POST", path, {
    items: [
      { type: "message", role: "assistant", content: "Paris" },
      { type: "function_call_output", call_id: "call_1", output: "{}" },
    ],
  });
  expect(added.body.data).toMatchObject([
    { role: "assistant", status: "completed", content: [{ type: "output_text", text: "Paris" }] },
    { type: "function_call_output", call_id: "call_1" },
  ]);
  const items = await listItems(id);
  expect(items).toHaveLength(3);
  expect(items.slice(1)).toEqual(added.body.data);
  const page = await send<ItemList>("GET", `${path}?limit=1&after=${items[2]?.id}`);
  expect(page.body).toEqual({
    object: "list",
    data: [items[1]],
    first_id: items[1]?.id,
    last_id: items[1]?.id,
    has_more: true,
  });
  expect(await send("GET", `${path}/${items[0]?.id}`)).toEqual({ status: 200, body: items[0] });
  expect(await send("DELETE", `${path}/${items[0]?.id}`)).toMatchObject({
    status: 200,
    body: { id, object: "conversation" },
  });
  expect(await send("GET", `${path}/${items[0]?.id}`)).toMatchObject({
    status: 404,
    body: { error: { code: "item_not_found" } },
  });
});

test("a response continues a conversation, and its items are added to it", async () => {
  const { send, respond, create, listItems, upstream } = await conversationFixture();
  const id = await create({ items: [{ role: "user", content: "Capital of France?" }] });
  const first = await respond({ input: "Answer now", conversation: id });
  expect(first).toMatchObject({ conversation: { id }, previous_response_id: null });
  expect((await send("GET", `/responses/${first.id}`)).body).toEqual(first);
  await respond({ input: "And its river?", conversation: { id } });
  expect(messages(upstream)).toMatchObject([
    { role: "user" },
    { role: "user" },
    { role: "assistant", content: "Paris" },
    { role: "user", content: "And its river?" },
  ]);
  const items = await listItems(id);
  expect(items.map(({ role }) => role)).toEqual(["user", "user", "assistant", "user", "assistant"]);
  // Also without the conversation, a later turn has its items up to the response.
  await respond({ input: "Thanks", previous_response_id: first.id });
  expect(messages(upstream)).toHaveLength(4);
  const inputs = await send<ItemList>("GET", `/responses/${first.id}/input_items?order=asc`);
  expect(inputs.body.data).toHaveLength(2);
});

test("a response in the background adds its items when it has ended", async () => {
  const { respond, create, listItems } = await conversationFixture();
  const id = await create();
  await respond({ input: "Capital of France?", conversation: id, background: true });
  await waitUntil("the items", async () => (await listItems(id)).length > 0);
  expect(await listItems(id)).toMatchObject([
    { role: "user", content: [{ type: "input_text", text: "Capital of France?" }] },
    { role: "assistant", content: [{ text: "Paris" }] },
  ]);
});

test("a response with store: false adds nothing to its conversation", async () => {
  const { respond, create, listItems } = await conversationFixture();
  const id = await create();
  await respond({ input: "Hi", conversation: id, store: false });
  expect(await listItems(id)).toEqual([]);
});

describe("an error names the field:", () => {
  test.each([
    [
      "/responses",
      { model: "up/m", input: "Hi", conversation: "conv_unknown" },
      404,
      "conversation",
    ],
    ["/responses", { model: "up/m", input: "Hi", conversation: 7 }, 400, "conversation"],
    [
      "/responses",
      { model: "up/m", input: "Hi", conversation: "a", previous_response_id: "b" },
      400,
      "conversation",
    ],
    ["/conversations", { metadata: { a: 1 } }, 400, "metadata.a"],
    ["/conversations", { items: [{ type: "item_reference", id: "a" }] }, 400, "items[0]"],
    [
      "/conversations",
      { items: Array.from({ length: 21 }, () => ({ role: "user", content: "" })) },
      400,
      "items",
    ],
  ])("%s with %j", async (path, body, status, param) => {
    const { send } = await conversationFixture();
    expect(await send("POST", path, body)).toMatchObject({ status, body: { error: { param } } });
  });
});

test("conversations of another access key are not found", async () => {
  const fixture = await keyGatewayFixture();
  const [ann, bob] = await Promise.all(
    ["ann", "bob"].map((name) => fixture.createClient({ name, owner: name, scopes: ["models"] })),
  );
  const created = await ann?.request("POST", "/v1/conversations", {
    items: [{ role: "user", content: "secret" }],
  });
  const id = (created?.body as { id: string } | undefined)?.id;
  const path = `/v1/conversations/${id}`;
  expect(await ann?.request("GET", `${path}/items`)).toMatchObject({ status: 200 });
  for (const [method, at, body] of [
    ["GET", path, undefined],
    ["GET", `${path}/items`, undefined],
    ["POST", path, { metadata: {} }],
    ["POST", `${path}/items`, { items: [] }],
    ["DELETE", path, undefined],
    ["POST", "/v1/responses", { model: "demo/clean", input: "Hi", conversation: id }],
  ] as const)
    expect([at, (await bob?.request(method, at, body))?.status]).toEqual([at, 404]);
  expect(await ann?.request("GET", path)).toMatchObject({ status: 200 });
});

test("items of more than 20 MB in one request are rejected, and add nothing", async () => {
  const { send, create, listItems, upstream } = await conversationFixture();
  const content = "a".repeat(10_500_000);
  const items = [1, 2].map(() => ({ role: "user", content }));
  const id = await create();
  const tooLarge = (param: string) => ({
    status: 413,
    body: {
      error: {
        code: "request_too_large",
        param,
        message: expect.stringContaining("may have at most 20 MB"),
      },
    },
  });
  expect(await send("POST", "/conversations", { items })).toMatchObject(tooLarge("items"));
  const path = `/conversations/${id}/items`;
  expect(await send("POST", path, { items })).toMatchObject(tooLarge("items"));
  expect(await listItems(id)).toEqual([]);
  const request = { model: "up/m", conversation: id, input: items };
  expect(await send("POST", "/responses", request)).toMatchObject(tooLarge("input"));
  expect(upstream.requests).toEqual([]);
  expect((await send("POST", path, { items: items.slice(1) })).status).toBe(200);
});
