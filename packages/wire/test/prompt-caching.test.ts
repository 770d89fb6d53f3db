import {
  ChatOverResponses,
  decodeChatRequest,
  decodeResponsesRequest,
  findProviderProfile,
  genericProfile,
  providerProfiles,
  repairChatRequest,
  repairResponsesRequest,
  translateChatRequest,
  translateResponsesRequest,
  withProfileFlags,
  type ChatStreamEvent,
  type JsonObject,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { chunk } from "./chat-chunks.ts";
import { createIdCounter, translateToResponses } from "./translate-reply.ts";

/* Prompt caching and asynchronous tools (OpenAI, 2026) are preserved, or dropped with a repair. */

const openai = withProfileFlags(genericProfile, providerProfiles.openai);
const prompt_cache_breakpoint = { mode: "explicit", ttl: "12h" };
const caching = { prompt_cache_key: "k", prompt_cache_options: { mode: "explicit" } };
const cached = (text: string) => ({ type: "input_text", text, prompt_cache_breakpoint });
const input = [
  { type: "message", role: "developer", content: [cached("Rules.")] },
  { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
  { type: "function_call", call_id: "call_aaa", name: "f", arguments: "{}" },
  { type: "function_call_output", call_id: "call_aaa", output: [cached("Result.")] },
  {
    type: "message",
    role: "user",
    content: [{ type: "input_image", image_url: "https://a/b.png", prompt_cache_breakpoint }],
  },
];
const request = decodeResponsesRequest({
  model: "m",
  instructions: "Be brief.",
  input,
  ...caching,
});

describe("a Responses request for a Chat upstream", () => {
  test("keeps the cache key, options and breakpoints if the profile supports them", () => {
    const { body, repairs } = translateResponsesRequest(request, { profile: openai });
    expect(body).toMatchObject({
      ...caching,
      messages: [
        {
          role: "developer",
          content: [
            { type: "text", text: "Be brief." },
            { type: "text", text: "Rules.", prompt_cache_breakpoint },
          ],
        },
        { role: "user", content: "Hi" },
        { role: "assistant" },
        { role: "tool", content: [{ type: "text", text: "Result.", prompt_cache_breakpoint }] },
        { role: "user", content: [{ type: "image_url", prompt_cache_breakpoint }] },
      ],
    });
    expect(repairs.list).toEqual([]);
  });

  test("drops them with one repair each if the profile does not", () => {
    const { body, repairs } = translateResponsesRequest(request);
    expect(JSON.stringify(body)).not.toContain("cache");
    expect(body.messages[0]).toEqual({ role: "system", content: "Be brief.\n\nRules." });
    const dropped = repairs.list.filter(({ code }) => code === "parameter_dropped");
    expect(dropped.map(({ detail }) => detail)).toEqual([
      "prompt_cache_breakpoint",
      "prompt_cache_key",
      "prompt_cache_options",
    ]);
    expect(input[0]?.content).toEqual([cached("Rules.")]);
  });
});

describe("for an upstream with cache_control, such as OpenRouter and DashScope, breakpoints", () => {
  const ephemeral = { type: "ephemeral" };
  const changed = "prompt_cache_breakpoint -> cache_control";
  const listDetails = ({ list }: { list: readonly { detail: string }[] }) =>
    list.map(({ detail }) => detail);
  const breakpointText = (text: string) => ({ type: "text", text, prompt_cache_breakpoint });

  test.each(["openrouter", "dashscope"])(
    "of a Responses client become cache_control on %s",
    (name) => {
      const profile = findProviderProfile(name) ?? genericProfile;
      const { body, repairs } = translateResponsesRequest(request, { profile });
      expect(body.messages).toMatchObject([
        {
          role: "system",
          content: [
            { type: "text", text: "Be brief." },
            { type: "text", text: "Rules.", cache_control: ephemeral },
          ],
        },
        { role: "user", content: "Hi" },
        { role: "assistant" },
        { role: "tool", content: [{ text: "Result.", cache_control: ephemeral }] },
        { role: "user", content: [{ type: "image_url", cache_control: ephemeral }] },
      ]);
      expect(JSON.stringify(body)).not.toContain("prompt_cache_breakpoint");
      expect(listDetails(repairs).filter((detail) => detail === changed)).toHaveLength(3);
    },
  );

  test.each(["openrouter", "dashscope"])("of a Chat client become cache_control on %s", (name) => {
    const profile = findProviderProfile(name) ?? genericProfile;
    const messages = [
      { role: "user", content: "Hi" },
      { role: "system", content: [breakpointText("Rules.")] },
      { role: "user", content: [{ type: "text", text: "So", cache_control: ephemeral }] },
    ];
    const { body } = repairChatRequest(decodeChatRequest({ model: "m", messages }), { profile });
    expect(body.messages).toContainEqual({
      role: "system",
      content: [{ type: "text", text: "Rules.", cache_control: ephemeral }],
    });
    expect(body.messages).toContainEqual(messages[2]);
  });

  test("beyond the last four, including those of the client, are dropped", () => {
    const content = ["a", "b", "c", "d", "e"].map(breakpointText);
    const own = { type: "text", text: "f", cache_control: { ...ephemeral, ttl: "1h" } };
    const messages = [{ role: "user", content: [...content, own] }];
    const { body, repairs } = repairChatRequest(decodeChatRequest({ model: "m", messages }), {
      profile: findProviderProfile("openrouter") ?? genericProfile,
    });
    expect(body.messages[0]?.content).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
      ...["c", "d", "e"].map((text) => ({ type: "text", text, cache_control: ephemeral })),
      own,
    ]);
    expect(repairs.counts.get("parameter_dropped")).toBe(2);
    expect(repairs.counts.get("parameter_changed")).toBe(3);
  });

  test("of a Chat client are dropped with a repair where system messages are merged into text", () => {
    const messages = [
      { role: "system", content: [breakpointText("Rules.")] },
      { role: "user", content: "Hi" },
    ];
    const { body, repairs } = repairChatRequest(decodeChatRequest({ model: "m", messages }), {
      profile: findProviderProfile("vllm") ?? genericProfile,
    });
    expect(body.messages[0]).toEqual({ role: "system", content: "Rules." });
    expect(listDetails(repairs)).toEqual(["prompt_cache_breakpoint"]);
  });
});

test("a Chat request for a Responses upstream keeps the cache key, options and breakpoints", () => {
  const part = { type: "text", text: "Rules.", prompt_cache_breakpoint };
  const { body, repairs } = translateChatRequest(
    decodeChatRequest({
      model: "m",
      ...caching,
      messages: [
        { role: "system", content: [part] },
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          tool_calls: [
            { id: "call_aaa", type: "function", function: { name: "f", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "call_aaa", content: [part] },
      ],
    }),
  );
  expect(body).toMatchObject(caching);
  expect(JSON.stringify(body.input).split('"prompt_cache_breakpoint"')).toHaveLength(3);
  expect(repairs.list).toEqual([]);
});

test("a Responses upstream that rejects breakpoints receives the same request without them", () => {
  const droppedParameters = [
    "input[].content[].prompt_cache_breakpoint",
    "input[].output[].prompt_cache_breakpoint",
  ];
  const { body, repairs } = repairResponsesRequest(request, { droppedParameters });
  expect(JSON.stringify(body)).not.toContain("breakpoint");
  expect(JSON.stringify(body)).toContain("Result.");
  expect(repairs.counts.get("parameter_dropped")).toBe(2);
  expect(repairResponsesRequest(request).body).toBe(request);
});

test.each<[string, JsonObject]>([
  ["prompt_tokens_details", { prompt_tokens_details: { cache_write_tokens: 40 } }],
  ["Anthropic's field", { cache_creation_input_tokens: 40 }],
])("cache_write_tokens are read from %s for a Responses client", (_title, details) => {
  const { response } = translateToResponses([
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
    { ...chunk({}), choices: [], usage: { prompt_tokens: 50, completion_tokens: 2, ...details } },
  ]);
  expect(response?.usage?.input_tokens_details).toEqual({
    cached_tokens: 0,
    cache_write_tokens: 40,
  });
});

test("cache_write_tokens of a Responses upstream reach a Chat client", () => {
  const machine = new ChatOverResponses({
    newId: createIdCounter(),
    createdAt: 1,
    includeUsage: true,
  });
  const out: ChatStreamEvent[] = [];
  const usage = {
    input_tokens: 50,
    input_tokens_details: { cached_tokens: 1, cache_write_tokens: 40 },
    output_tokens: 2,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 52,
  };
  machine.push({ type: "response.completed", response: { id: "r", output: [], usage } }, out);
  machine.end("eof", out);
  expect(JSON.stringify(out)).toContain(
    '"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":40}',
  );
});

describe("an asynchronous tool on a Chat upstream", () => {
  const tools = [
    { type: "function", name: "f", async: true },
    { type: "custom", name: "c", async: true },
  ];
  const call = {
    type: "function_call",
    call_id: "call_aaa",
    name: "f",
    arguments: "{}",
    async: true,
  };

  test("is offered with a repair, and its calls come back as asynchronous", () => {
    const { body, ...options } = translateResponsesRequest(
      decodeResponsesRequest({ model: "m", input: "hi", tools }),
    );
    expect(JSON.stringify(body)).not.toContain("async");
    const dropped = options.repairs.list.filter(({ code }) => code === "parameter_dropped");
    expect(dropped.map(({ detail }) => detail)).toEqual(["tools[].async: f", "tools[].async: c"]);
    const calls = ["f", "c"].map((name, index) => ({
      index,
      id: `call_${name}${name}${name}`,
      function: { name, arguments: '{"input":"x"}' },
    }));
    const { output } = translateToResponses(
      [chunk({ tool_calls: calls }), chunk({}, "tool_calls")],
      options,
    );
    expect(output).toMatchObject([
      { type: "function_call", async: true },
      { type: "custom_tool_call", async: true },
    ]);
  });

  test("may have a call without a result, which the model sees as running, until the result arrives", () => {
    const user = (content: string) => ({ type: "message", role: "user", content });
    const translate = (...items: object[]) =>
      translateResponsesRequest(decodeResponsesRequest({ model: "m", input: items, tools })).body
        .messages;
    expect(translate(user("go"), call, user("and?"))).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "call_aaa" }] },
      { role: "tool", content: "still running: the result will follow in a later message" },
      { role: "user", content: "and?" },
    ]);
    const output = { type: "function_call_output", call_id: "call_aaa", output: "done" };
    expect(translate(user("go"), call, user("and?"), output)).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      { role: "tool", content: "done" },
      { role: "user", content: "and?" },
    ]);
  });
});
