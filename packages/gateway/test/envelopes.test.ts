import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readEvents, upstreamToml } from "./test-gateway.ts";
import { testGateway, testUpstream, hello, gatewayFixture } from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  streamText,
  type ReceivedRequest,
} from "./scripted-upstream.ts";
import { sendReply } from "./wire-replies.ts";

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

const sealingServer =
  '[server]\nport = 0\nsealing_key = "a-key-for-tests-of-32-characters-or-more"\n';

type Item = JsonObject & { type: string; encrypted_content?: string };

/** Returns the items that a client has to send back in its next turn. */
async function readOutputItems(response: Response): Promise<Item[]> {
  const last = (await readEvents(response)).at(-1)?.["response"] as { output: Item[] };
  return last.output;
}

/** An upstream that sends reasoning and a call in the first turn, and text in the next. */
function reasoningUpstream(thoughts: JsonObject[]) {
  return ({ body }: ReceivedRequest, response: Parameters<typeof streamText>[0]): void => {
    const messages = body["messages"] as { role: string }[];
    if (messages.some(({ role }) => role === "tool")) return streamText(response, "A wall.");
    beginStream(response);
    for (const thought of thoughts) response.write(formatEvent(chatChunk(thought)));
    response.write(formatEvent(chatChunk({ tool_calls: [call] })));
    response.write(formatEvent(chatChunk({}, "tool_calls")));
    response.end(formatEvent("[DONE]"));
  };
}

const findAssistantMessage = (received: ReceivedRequest | undefined): JsonObject | undefined =>
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
  test("is sent as a summary and as an encrypted envelope", async () => {
    const { gateway } = await gatewayFixture(reasoningUpstream(openrouter), {
      upstream: { profile: "openrouter" },
    });
    const response = await gateway.post("/responses", first);
    const text = await response.clone().text();
    const [reasoning] = await readOutputItems(response);
    expect(reasoning).toMatchObject({
      type: "reasoning",
      summary: [{ type: "summary_text", text: "I should look." }],
    });
    expect(reasoning?.encrypted_content).toMatch(/^dw1\./);
    expect(text).toContain("response.reasoning_summary_text.delta");
    expect(text).not.toMatch(/sig-0123456789|opaque-0123456789/);
  });

  test("is sent back as reasoning_content to an upstream that requires it", async () => {
    const { gateway, upstream } = await gatewayFixture(reasoningUpstream(deepseek), {
      upstream: { profile: "deepseek" },
    });
    const items = await readOutputItems(await gateway.post("/responses", first));
    await gateway.post("/responses", { ...first, input: [question, ...items, output] });
    expect(findAssistantMessage(upstream.requests[1])).toMatchObject({
      reasoning_content: "I should look.",
      tool_calls: [{ id: "call_look01" }],
    });
  });

  test("is sent back with its signatures, as reasoning_details", async () => {
    const { gateway, upstream } = await gatewayFixture(reasoningUpstream(openrouter), {
      upstream: { profile: "openrouter" },
    });
    const items = await readOutputItems(await gateway.post("/responses", first));
    await gateway.post("/responses", { ...first, input: [question, ...items, output] });
    expect(findAssistantMessage(upstream.requests[1])?.["reasoning_details"]).toEqual(signed);
  });

  test("is sent back unchanged from the envelope even if the client changed the summary", async () => {
    const { gateway, upstream } = await gatewayFixture(reasoningUpstream(openrouter), {
      upstream: { profile: "openrouter" },
    });
    const items = await readOutputItems(await gateway.post("/responses", first));
    const input = items.map((item) =>
      item.type === "reasoning" ? { ...item, summary: [] } : item,
    );
    await gateway.post("/responses", { ...first, input: [question, ...input, output] });
    expect(findAssistantMessage(upstream.requests[1])?.["reasoning_details"]).toEqual(signed);
  });

  test.each([
    ["deepseek", deepseek, { reasoning_content: "I should look." }],
    ["openrouter", openrouter, { reasoning_details: signed }],
  ] as const)(
    "that a client does not send back is looked up by the call id, for %s",
    async (profile, thoughts, expectedFields) => {
      const { gateway, upstream } = await gatewayFixture(reasoningUpstream([...thoughts]), {
        upstream: { profile },
      });
      const items = await readOutputItems(await gateway.post("/responses", first));
      const input = items.filter(({ type }) => type !== "reasoning");
      await gateway.post("/responses", { ...first, input: [question, ...input, output] });
      expect(findAssistantMessage(upstream.requests[1])).toMatchObject(expectedFields);
    },
  );

  test("that is plain text survives a restart, for clients that return only encrypted reasoning", async () => {
    const one = await gatewayFixture(reasoningUpstream(deepseek), {
      toml: sealingServer,
      upstream: { profile: "deepseek" },
    });
    const items = await readOutputItems(await one.gateway.post("/responses", first));
    const [reasoning] = items;
    expect(reasoning?.encrypted_content).toMatch(/^dw1\./);
    const restarted = await testGateway(
      `${sealingServer}${upstreamToml("up", one.upstream.url, { profile: "deepseek" })}`,
    );
    const input = [question, { ...reasoning, summary: [] }, ...items.slice(1), output];
    await restarted.post("/responses", { ...first, input });
    expect(findAssistantMessage(one.upstream.requests[1])).toMatchObject({
      reasoning_content: "I should look.",
      tool_calls: [{ id: "call_look01" }],
    });
  });

  test("that is plain text is not sealed for Codex, and only if the client requests it", async () => {
    const { gateway } = await gatewayFixture(reasoningUpstream(deepseek), {
      upstream: { profile: "deepseek" },
    });
    const codex = { headers: { originator: "codex_cli_rs" } };
    for (const [body, options] of [
      [first, codex],
      [{ ...first, include: [] }, {}],
    ] as const) {
      const [reasoning] = await readOutputItems(await gateway.post("/responses", body, options));
      expect(reasoning).toMatchObject({ summary: [{ text: "I should look." }] });
      expect(reasoning?.encrypted_content).toBeUndefined();
    }
  });

  test("is not sent to an upstream that does not accept it", async () => {
    const { gateway, upstream } = await gatewayFixture(reasoningUpstream(deepseek));
    const items = await readOutputItems(await gateway.post("/responses", first));
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

  test("of another provider is dropped without an error", async () => {
    const { gateway, upstream } = await gatewayFixture(reasoningUpstream(deepseek), {
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

  test("of one upstream is not sent to another", async () => {
    const [a, b] = [
      await testUpstream(reasoningUpstream(openrouter)),
      await testUpstream(reasoningUpstream(openrouter)),
    ];
    const gateway = await testGateway(
      `${upstreamToml("a", a.url, { profile: "openrouter" })}${upstreamToml("b", b.url, { profile: "openrouter" })}`,
    );
    const items = await readOutputItems(
      await gateway.post("/responses", { ...first, model: "a/m" }),
    );
    const next = { ...first, model: "b/m", input: [question, ...items, output] };
    expect((await gateway.post("/responses", next)).status).toBe(200);
    expect(JSON.stringify(b.requests[0]?.body)).not.toMatch(/sig-|opaque-|dw1\./);
  });

  test("of another gateway, or from before its key was replaced, is dropped too", async () => {
    const one = await gatewayFixture(reasoningUpstream(openrouter), {
      upstream: { profile: "openrouter" },
    });
    const items = await readOutputItems(await one.gateway.post("/responses", first));
    const gateway = await testGateway(
      upstreamToml("up", one.upstream.url, { profile: "openrouter" }),
    );
    const next = { ...first, input: [question, ...items, output] };
    expect((await gateway.post("/responses", next)).status).toBe(200);
    expect(JSON.stringify(one.upstream.requests[1]?.body)).not.toMatch(/sig-|opaque-|dw1\./);
  });

  test("never reaches a Responses upstream; its own sealed reasoning does", async () => {
    const [chat, responses] = [
      await testUpstream(reasoningUpstream(openrouter)),
      await testUpstream(({ body }, response) =>
        sendReply("responses", response, body, { text: ["Hi"] }),
      ),
    ];
    const gateway = await testGateway(
      `${upstreamToml("chat", chat.url, { profile: "openrouter" })}${upstreamToml("responses", responses.url, { speaks: "responses" })}`,
    );
    const items = await readOutputItems(
      await gateway.post("/responses", { ...first, model: "chat/m" }),
    );
    expect(JSON.stringify(items)).toContain("dw1.");
    const providerReasoning = {
      ...foreign("gAAAAABtheirs"),
      summary: [{ type: "summary_text", text: "hm" }],
    };
    const assistantMessage = {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Hm" }],
    };
    const input = [question, providerReasoning, assistantMessage, question, ...items, output];
    const response = await gateway.post("/responses", { ...first, model: "responses/m", input });
    expect(response.status).toBe(200);
    const sent = JSON.stringify(responses.requests[0]?.body);
    expect(sent).not.toContain("dw1.");
    expect(sent).toContain("gAAAAABtheirs");
    expect(sent).toContain("call_look01");
  });
});
