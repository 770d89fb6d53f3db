import { describe, expect, test } from "vitest";
import { KeptResponses } from "../src/history/kept-responses.ts";
import { scene } from "./scene.ts";
import { says } from "./scripted-upstream.ts";

interface Reply {
  id: string;
  store: boolean;
  previous_response_id: string | null;
  output: { id: string; type: string }[];
}

async function asking() {
  const { gateway, upstream } = await scene((_request, response) => says(response, "Paris"));
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

describe("a client of a Chat upstream may go on from", () => {
  test("a response that it names, through any number of them", async () => {
    const { ask, messages } = await asking();
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

  test("items that it refers to", async () => {
    const { ask, messages } = await asking();
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

  test("nothing that it did not want stored", async () => {
    const { gateway, ask } = await asking();
    const { id, store } = await ask({ input: "Capital of France?", store: false });
    expect(store).toBe(false);
    const body = { model: "up/m", input: "And its river?", previous_response_id: id };
    const response = await gateway.post("/responses", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        param: "previous_response_id",
        message: expect.stringContaining('send the whole history in "input"'),
      },
    });
  });

  test("nothing that is not known, and the error says what to do", async () => {
    const { gateway } = await asking();
    const input = [{ type: "item_reference", id: "msg_unknown" }];
    const response = await gateway.post("/responses", { model: "up/m", input });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("send the item itself");
  });
});

test("what is kept is bounded: what was not used for longest is forgotten first", () => {
  const kept = new KeptResponses();
  const long = "x".repeat(20 * 1024 * 1024);
  const keep = (id: string) => kept.keep(kept.expand({ input: long }), { id, output: [] } as never);
  for (const id of ["a", "b", "c"]) keep(id);
  kept.expand({ input: "x", previous_response_id: "a" });
  keep("d");
  expect(() => kept.expand({ input: "x", previous_response_id: "b" })).toThrow(/'b' not found/);
  expect(kept.expand({ input: "x", previous_response_id: "a" }).request.input).toHaveLength(2);
});
