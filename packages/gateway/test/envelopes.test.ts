import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { eventsOf, upstreamToml } from "./running-gateway.ts";
import { aGateway, anUpstream, hello, scene } from "./scene.ts";
import { beginStream, chunk, event, says, type Received } from "./scripted-upstream.ts";
import { answers } from "./wire-replies.ts";

const tools = [{ type: "function", name: "look", parameters: { type: "object" } }];
const call = {
  index: 0,
  id: "call_look01",
  type: "function",
  function: { name: "look", arguments: "{}" },
};
const question = { role: "user", content: "Look!" };
const output = { type: "function_call_output", call_id: "call_look01", output: "a wall" };
const first = { ...hello, input: [question], tools, include: ["reasoning.encrypted_content"] };

type Item = JsonObject & { type: string; encrypted_content?: string };

/** The items that a client has to send back on its next turn. */
async function itemsOf(response: Response): Promise<Item[]> {
  const last = (await eventsOf(response)).at(-1)?.["response"] as { output: Item[] };
  return last.output;
}

/** Thinks and calls on the first turn, and speaks on the next. */
function thinker(thoughts: JsonObject[]) {
  return ({ body }: Received, response: Parameters<typeof says>[0]): void => {
    const messages = body["messages"] as { role: string }[];
    if (messages.some(({ role }) => role === "tool")) return says(response, "A wall.");
    beginStream(response);
    for (const thought of thoughts) response.write(event(chunk(thought)));
    response.write(event(chunk({ tool_calls: [call] })));
    response.write(event(chunk({}, "tool_calls")));
    response.end(event("[DONE]"));
  };
}

const assistantOf = (received: Received | undefined): JsonObject | undefined =>
  ((received?.body["messages"] ?? []) as JsonObject[]).find(({ role }) => role === "assistant");

const deepseek = [{ reasoning_content: "I should " }, { reasoning_content: "look." }];
const signed = [
  {
    type: "reasoning.text",
    text: "I should look.",
    signature: "sig-0123456789",
    format: "anthropic-claude-v1",
    index: 0,
  },
  {
    type: "reasoning.encrypted",
    data: "opaque-0123456789",
    id: "r1",
    format: "openai-responses-v1",
    index: 1,
  },
];
const openrouter = [{ reasoning: "I should look.", reasoning_details: signed }];

describe("reasoning", () => {
  test("goes out as a summary, with an envelope that shows nothing of it", async () => {
    const { gateway } = await scene(thinker(openrouter), { upstream: { profile: "openrouter" } });
    const response = await gateway.post("/responses", first);
    const text = await response.clone().text();
    const [reasoning] = await itemsOf(response);
    expect(reasoning).toMatchObject({
      type: "reasoning",
      summary: [{ type: "summary_text", text: "I should look." }],
    });
    expect(reasoning?.encrypted_content).toMatch(/^dw1\./);
    expect(text).toContain("response.reasoning_summary_text.delta");
    expect(text).not.toMatch(/sig-0123456789|opaque-0123456789/);
  });

  test("comes back to an upstream that wants it, as reasoning_content", async () => {
    const { gateway, upstream } = await scene(thinker(deepseek), {
      upstream: { profile: "deepseek" },
    });
    const items = await itemsOf(await gateway.post("/responses", first));
    await gateway.post("/responses", { ...first, input: [question, ...items, output] });
    expect(assistantOf(upstream.requests[1])).toMatchObject({
      reasoning_content: "I should look.",
      tool_calls: [{ id: "call_look01" }],
    });
  });

  test("comes back with its signatures, as reasoning_details", async () => {
    const { gateway, upstream } = await scene(thinker(openrouter), {
      upstream: { profile: "openrouter" },
    });
    const items = await itemsOf(await gateway.post("/responses", first));
    await gateway.post("/responses", { ...first, input: [question, ...items, output] });
    expect(assistantOf(upstream.requests[1])?.["reasoning_details"]).toEqual(signed);
  });

  test("comes back also after the client has changed its words: the envelope has the real ones", async () => {
    const { gateway, upstream } = await scene(thinker(openrouter), {
      upstream: { profile: "openrouter" },
    });
    const items = await itemsOf(await gateway.post("/responses", first));
    const input = items.map((item) =>
      item.type === "reasoning" ? { ...item, summary: [] } : item,
    );
    await gateway.post("/responses", { ...first, input: [question, ...input, output] });
    expect(assistantOf(upstream.requests[1])?.["reasoning_details"]).toEqual(signed);
  });

  test.each([
    ["deepseek", deepseek, { reasoning_content: "I should look." }],
    ["openrouter", openrouter, { reasoning_details: signed }],
  ] as const)(
    "that a client lost is found again by the call, for %s",
    async (profile, thoughts, back) => {
      const { gateway, upstream } = await scene(thinker([...thoughts]), { upstream: { profile } });
      const items = await itemsOf(await gateway.post("/responses", first));
      const input = items.filter(({ type }) => type !== "reasoning");
      await gateway.post("/responses", { ...first, input: [question, ...input, output] });
      expect(assistantOf(upstream.requests[1])).toMatchObject(back);
    },
  );

  test("is not sent to an upstream that has no use for it", async () => {
    const { gateway, upstream } = await scene(thinker(deepseek));
    const items = await itemsOf(await gateway.post("/responses", first));
    await gateway.post("/responses", { ...first, input: [question, ...items, output] });
    expect(JSON.stringify(upstream.requests[1]?.body)).not.toMatch(/I should look|dw1\./);
  });
});

describe("an envelope", () => {
  const foreign = (envelope: string) => ({
    type: "reasoning",
    id: "rs_foreign",
    summary: [],
    encrypted_content: envelope,
  });

  test("of somebody else is dropped without an error", async () => {
    const { gateway, upstream } = await scene(thinker(deepseek), {
      upstream: { profile: "deepseek" },
    });
    const called = { type: "function_call", call_id: "call_other1", name: "look", arguments: "{}" };
    const answered = { ...output, call_id: "call_other1" };
    for (const envelope of ["gAAAAABforeign", "dw1.", "dw1.AAAAAAAA", "dw9.zzz"]) {
      const input = [question, foreign(envelope), called, answered];
      const response = await gateway.post("/responses", { ...first, input });
      expect(response.status).toBe(200);
      expect(JSON.stringify(upstream.requests.at(-1)?.body)).not.toContain(envelope);
    }
  });

  test("of one upstream is nothing to another, and is not sent there", async () => {
    const [a, b] = [await anUpstream(thinker(openrouter)), await anUpstream(thinker(openrouter))];
    const gateway = await aGateway(
      `${upstreamToml("a", a.url, { profile: "openrouter" })}${upstreamToml("b", b.url, { profile: "openrouter" })}`,
    );
    const items = await itemsOf(await gateway.post("/responses", { ...first, model: "a/m" }));
    const next = { ...first, model: "b/m", input: [question, ...items, output] };
    expect((await gateway.post("/responses", next)).status).toBe(200);
    expect(JSON.stringify(b.requests[0]?.body)).not.toMatch(/sig-|opaque-|dw1\./);
  });

  test("of another gateway, or from before its key was lost, is dropped too", async () => {
    const one = await scene(thinker(openrouter), { upstream: { profile: "openrouter" } });
    const items = await itemsOf(await one.gateway.post("/responses", first));
    const gateway = await aGateway(upstreamToml("up", one.upstream.url, { profile: "openrouter" }));
    const next = { ...first, input: [question, ...items, output] };
    expect((await gateway.post("/responses", next)).status).toBe(200);
    expect(JSON.stringify(one.upstream.requests[1]?.body)).not.toMatch(/sig-|opaque-|dw1\./);
  });

  test("never reaches a Responses upstream; its own sealed reasoning does", async () => {
    const [chat, responses] = [
      await anUpstream(thinker(openrouter)),
      await anUpstream(({ body }, response) =>
        answers("responses", response, body, { text: ["Hi"] }),
      ),
    ];
    const gateway = await aGateway(
      `${upstreamToml("chat", chat.url, { profile: "openrouter" })}${upstreamToml("responses", responses.url, { speaks: "responses" })}`,
    );
    const items = await itemsOf(await gateway.post("/responses", { ...first, model: "chat/m" }));
    expect(JSON.stringify(items)).toContain("dw1.");
    const theirs = { ...foreign("gAAAAABtheirs"), summary: [{ type: "summary_text", text: "hm" }] };
    const said = {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Hm" }],
    };
    const input = [question, theirs, said, question, ...items, output];
    const response = await gateway.post("/responses", { ...first, model: "responses/m", input });
    expect(response.status).toBe(200);
    const sent = JSON.stringify(responses.requests[0]?.body);
    expect(sent).not.toContain("dw1.");
    expect(sent).toContain("gAAAAABtheirs");
    expect(sent).toContain("call_look01");
  });
});
