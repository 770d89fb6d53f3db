import {
  repairChatReply,
  ChatOverChat,
  type ChatDelta,
  type UpstreamChatEvent,
  type ChatStreamEvent,
  type ChatOverChatOptions,
  type StreamEndReason,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usage, usageChunk } from "./chat-chunks.ts";

function repair(
  inputs: UpstreamChatEvent[],
  options: Partial<ChatOverChatOptions> = {},
  endReason: StreamEndReason = "eof",
): { out: ChatStreamEvent[]; machine: ChatOverChat } {
  let count = 0;
  const machine = new ChatOverChat({
    newId: (prefix) => `${prefix}_${(count += 1)}`,
    createdAt: 1700000000,
    toolNames: new Set(["get_weather"]),
    ...options,
  });
  const out: ChatStreamEvent[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end(endReason, out);
  return { out, machine };
}

const finishChunk = (reason: string) => chunk({}, reason);

test("a valid stream is forwarded as the same objects", () => {
  const inputs = [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "Hel" }, null, { system_fingerprint: "fp", x_extra: { a: 1 } }),
    chunk({ content: "lo", x_new: true }),
    chunk({ reasoning: "hm", x_signature: "s" }),
  ];
  const { out, machine } = repair([...inputs, finishChunk("stop"), usageChunk(), "[DONE]"]);
  expect(out.slice(0, 4)).toEqual(inputs);
  inputs.forEach((input, index) => expect(out[index]).toBe(input));
  expect(out.slice(4)).toEqual([finishChunk("stop"), usageChunk(), "[DONE]"]);
  expect([...machine.repairs.counts.keys()]).toEqual([]);
});

test("the finish reason is corrected if there are calls, and is sent once at the end of its choice", () => {
  const { out } = repair([
    chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: "{}" }), "tool_calls"),
    chunk({ content: "\n" }, "stop", { native: "STOP" }),
    "[DONE]",
  ]);
  const finishes = out.flatMap((output) =>
    output === "[DONE]" ? [] : (output.choices ?? []).map((choice) => choice.finish_reason),
  );
  expect(finishes.filter((reason) => reason !== null)).toEqual(["tool_calls"]);
  expect(finishes.at(-1)).toBe("tool_calls");
});

test("a call opens once with id, type and name at the next index, and its arguments are sent in deltas", () => {
  const { out } = repair([
    chunk(call({ index: 3, id: "call_abc", name: "get_weather", args: "" })),
    chunk(call({ index: 3, id: "call_abc", name: "get_weather", args: '{"city":' })),
    chunk(call({ index: 3, id: "call_abc", name: "get_weather", args: '"Paris"}' })),
    chunk(
      call({
        name: "get_weather",
        id: "",
        args: '{"city":"Tokyo"}',
        extra_content: { google: {} },
      }),
    ),
    finishChunk("tool_calls"),
    "[DONE]",
  ]);
  const deltas = out.flatMap((output) =>
    output === "[DONE]"
      ? []
      : (output.choices ?? []).flatMap((choice) => choice.delta?.tool_calls ?? []),
  );
  expect(deltas).toEqual([
    {
      index: 0,
      id: "call_abc",
      type: "function",
      function: { name: "get_weather", arguments: '{"city":' },
    },
    { index: 0, function: { arguments: '"Paris"}' } },
    {
      index: 1,
      id: "call_1",
      type: "function",
      function: { name: "get_weather", arguments: '{"city":"Tokyo"}' },
      extra_content: { google: {} },
    },
  ]);
});

test("interleaved calls are emitted one after the other", () => {
  const fragments = [
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"ci' },
    { index: 1, id: "call_bbb", name: "get_weather", args: '{"city":' },
    { index: 0, args: 'ty":"Paris"' },
    { index: 1, args: '"Rome"}' },
    { index: 0, args: "}" },
  ];
  const { out } = repair([
    ...fragments.map((each) => chunk(call(each))),
    finishChunk("tool_calls"),
  ]);
  const callDeltas = out.flatMap((each) =>
    each === "[DONE]"
      ? []
      : (each.choices ?? []).flatMap(({ delta }) => (delta as ChatDelta).tool_calls ?? []),
  );
  expect(callDeltas.map(({ index }) => index)).toEqual([0, 0, 0, 1]);
  const joinedArguments = ["", ""];
  for (const { index, function: fn } of callDeltas)
    if (typeof fn?.arguments === "string") joinedArguments[index ?? 0] += fn.arguments;
  expect(joinedArguments).toEqual(['{"city":"Paris"}', '{"city":"Rome"}']);
});

test("think tags are moved to the reasoning field", () => {
  const { out } = repair([
    chunk({ content: "<think>hm</th" }),
    chunk({ content: "ink>Hi", x: 1 }),
    finishChunk("stop"),
    "[DONE]",
  ]);
  expect(out.slice(0, 2)).toMatchObject([
    { choices: [{ delta: { reasoning_content: "hm" } }] },
    { choices: [{ delta: { content: "Hi", x: 1 } }] },
  ]);
});

test("every chunk has the same id, even a chunk that arrived before the id was known", () => {
  const { out } = repair([
    { id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: [{}] },
    { id: "chatcmpl-9", created: 5, model: "gpt", choices: [{ delta: { content: "Hi" } }] },
    { id: "other", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { x_groq: { id: "r" } },
    "[DONE]",
  ] as UpstreamChatEvent[]);
  const envelope = { id: "chatcmpl-9", object: "chat.completion.chunk", model: "gpt" };
  expect(out).toEqual([
    { ...envelope, created: 0, choices: [], prompt_filter_results: [{}] },
    {
      ...envelope,
      created: 5,
      choices: [{ index: 0, delta: { role: "assistant", content: "Hi" } }],
    },
    { ...envelope, created: 5, choices: [], x_groq: { id: "r" } },
    { ...envelope, created: 5, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    "[DONE]",
  ]);
});

test("a reply without an id gets one", () => {
  const { out } = repair([{ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] }]);
  expect(out[0]).toEqual({
    id: "chatcmpl_1",
    object: "chat.completion.chunk",
    created: 1700000000,
    model: "",
    choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null }],
  });
});

test("usage is sent once, after the last choice, in the standard fields", () => {
  const buildUsage = (tokens: number) => ({ ...usage, completion_tokens: tokens });
  const { out } = repair([
    chunk({ content: "Hi" }, null, { usage: buildUsage(1) }),
    chunk({}, "stop", { usage: { ...buildUsage(7), prompt_cache_hit_tokens: 5, cost: 0.1 } }),
    "[DONE]",
  ]);
  expect(out.at(-2)).toEqual({
    ...chunk({}),
    choices: [],
    usage: {
      ...usage,
      prompt_cache_hit_tokens: 5,
      cost: 0.1,
      prompt_tokens_details: { cached_tokens: 5 },
    },
  });
  expect(out.filter((output) => typeof output === "object" && output.usage)).toHaveLength(1);
});

test("a client that did not request usage gets none", () => {
  const { out } = repair([chunk({ content: "Hi" }, "stop", { usage }), "[DONE]"], {
    includeUsage: false,
  });
  expect(out.some((output) => typeof output === "object" && output.usage)).toBe(false);
});

test("each choice has its own calls and finish reason", () => {
  const choiceChunk = (index: number, delta: ChatDelta, reason: string | null = null) => ({
    ...chunk({}),
    choices: [{ index, delta, finish_reason: reason }],
  });
  const { out } = repair([
    choiceChunk(0, { content: "a" }),
    choiceChunk(1, call({ index: 0, id: "call_abc", name: "get_weather", args: '{"a":1}' })),
    choiceChunk(1, {}, "stop"),
    choiceChunk(0, {}, "length"),
    "[DONE]",
  ]);
  expect(out.slice(-3)).toEqual([
    choiceChunk(0, {}, "length"),
    choiceChunk(1, {}, "tool_calls"),
    "[DONE]",
  ]);
});

test("a stream that ends without a finish reason ends with an error", () => {
  const { out } = repair([chunk({ content: "Hi" })]);
  expect(out).toEqual([
    chunk({ role: "assistant", content: "Hi" }),
    {
      error: {
        message: "the upstream closed the stream before the reply was finished",
        type: "upstream_error",
        code: "upstream_stream_truncated",
        param: null,
      },
    },
  ]);
});

test("an error of the provider ends the stream, with its message", () => {
  const { out, machine } = repair([
    chunk({ content: "Hi" }),
    { error: { message: "Rate limit", code: 429 } },
    "[DONE]",
  ]);
  expect(out.at(-1)).toMatchObject({
    error: { message: "Rate limit", code: "rate_limit_exceeded" },
  });
  expect(out).not.toContain("[DONE]");
  expect(machine.awaitsEnd).toBe(false);
});

test("a complete reply is repaired like a stream, and keeps unknown fields", () => {
  const { repairs, ...collected } = repairChatReply(
    {
      id: "x",
      object: "chat.completion",
      created: 1,
      model: "m",
      provider: "p",
      choices: [
        {
          index: 0,
          native_finish_reason: "STOP",
          message: {
            role: "assistant",
            content: null,
            x: { y: 1 },
            tool_calls: [
              {
                id: "0",
                type: "function",
                function: { name: "get_weather", arguments: '{"a":1}{"b":2}' },
              },
            ],
          },
          finish_reason: "stop",
        },
      ],
      usage,
    },
    { newId: (prefix) => `${prefix}_new${Math.random()}`.slice(0, 12), createdAt: 1 },
  );
  expect(collected).toMatchObject({
    ok: true,
    completion: {
      id: "x",
      object: "chat.completion",
      provider: "p",
      choices: [
        {
          index: 0,
          native_finish_reason: "STOP",
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: null,
            x: { y: 1 },
            tool_calls: [
              { type: "function", function: { name: "get_weather", arguments: '{"a":1}' } },
              { type: "function", function: { name: "get_weather", arguments: '{"b":2}' } },
            ],
          },
        },
      ],
      usage,
    },
  });
  expect(repairs.counts.get("arguments_split")).toBe(1);
});

test("a complete reply that is an error stays an error", () => {
  const collected = repairChatReply(
    { error: { message: "bad key" } },
    { newId: (prefix) => prefix, createdAt: 1 },
  );
  expect(collected).toMatchObject({ ok: false, error: { message: "bad key" } });
});
