import { describe, expect, test } from "vitest";
import { ResponseCache } from "../src/history/response-cache.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

interface Reply {
  id: string;
  store: boolean;
  previous_response_id: string | null;
  output: { id: string; type: string }[];
}

async function cacheFixture() {
  const { gateway, upstream } = await gatewayFixture((_request, response) =>
    streamText(response, "Paris"),
  );
  const ask = async (body: object): Promise<Reply> =>
    (await (await gateway.post("/responses", { model: "up/m", ...body })).json()) as Reply;
  const messages = () => upstream.requests.at(-1)?.body["messages"];
  return { gateway, ask, messages };
}

const conversation = [
  { role: "user", content: "Capital of France?" },
  { role: "assistant", content: "Paris" },
  { role: "user", content: "And its river?" },
];

describe("a client of a Chat upstream can continue", () => {
  test("a response by its id, over any number of turns", async () => {
    const { ask, messages } = await cacheFixture();
    const first = await ask({ input: "Capital of France?" });
    const second = await ask({ input: "And its river?", previous_response_id: first.id });
    expect(messages()).toEqual(conversation);
    expect(second).toMatchObject({ store: true, previous_response_id: first.id });
    await ask({ input: "Thanks", previous_response_id: second.id });
    expect(messages()).toEqual([
      ...conversation,
      { role: "assistant", content: "Paris" },
      { role: "user", content: "Thanks" },
    ]);
  });

  test("with item references", async () => {
    const { ask, messages } = await cacheFixture();
    const { output } = await ask({ input: "Capital of France?" });
    await ask({
      input: [
        { role: "user", content: "Capital of France?" },
        ...output.map(({ id }) => ({ type: "item_reference", id })),
        { role: "user", content: "And its river?" },
      ],
    });
    expect(messages()).toEqual(conversation);
  });

  test("no response with store: false", async () => {
    const { gateway, ask } = await cacheFixture();
    const { id, store } = await ask({ input: "Capital of France?", store: false });
    expect(store).toBe(false);
    const body = { model: "up/m", input: "And its river?", previous_response_id: id };
    const response = await gateway.post("/responses", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        param: "previous_response_id",
        message: expect.stringContaining('send the complete history in "input"'),
      },
    });
  });

  test("no unknown response, and the error says what to do", async () => {
    const { gateway } = await cacheFixture();
    const input = [{ type: "item_reference", id: "msg_unknown" }];
    const response = await gateway.post("/responses", { model: "up/m", input });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("send the item itself");
  });
});

test("the cache is limited in size; the least recently used responses are dropped", () => {
  const cache = new ResponseCache();
  const add = (id: string) =>
    cache.set("ann", id, {
      previousResponseId: undefined,
      items: [{ type: "message", role: "user", content: id, id: `msg_${id}` }],
      size: 20 * 1024 * 1024,
    });
  for (const id of ["a", "b", "c"]) add(id);
  cache.get("ann", "a");
  add("d");
  expect(cache.get("ann", "b")).toBeUndefined();
  expect(cache.findItem("ann", "msg_b")).toBeUndefined();
  expect(cache.get("ann", "a")?.items).toHaveLength(1);
  expect(cache.findItem("ann", "msg_a")).toMatchObject({ content: "a" });
  expect(cache.get("bob", "a")).toBeUndefined();
  expect(cache.findItem("bob", "msg_a")).toBeUndefined();
});
