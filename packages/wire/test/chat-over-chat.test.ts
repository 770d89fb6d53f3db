import {
  chatOfChat,
  ChatOverChat,
  type ChatDelta,
  type ChatInput,
  type ChatOutput,
  type ChatOverChatOptions,
  type StreamEnd,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usage, usageChunk } from "./chat-stream.ts";

function repair(
  inputs: ChatInput[],
  options: Partial<ChatOverChatOptions> = {},
  how: StreamEnd = "eof",
): { out: ChatOutput[]; machine: ChatOverChat } {
  let count = 0;
  const machine = new ChatOverChat({
    newId: (prefix) => `${prefix}_${(count += 1)}`,
    createdAt: 1700000000,
    toolNames: new Set(["get_weather"]),
    ...options,
  });
  const out: ChatOutput[] = [];
  for (const input of inputs) machine.push(input, out);
  machine.end(how, out);
  return { out, machine };
}

const finish = (reason: string) => chunk({}, reason);

test("a stream with nothing to mend goes through as it is, object by object", () => {
  const inputs = [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "Hel" }, null, { system_fingerprint: "fp", x_extra: { a: 1 } }),
    chunk({ content: "lo", x_new: true }),
    chunk({ reasoning: "hm", x_signature: "s" }),
  ];
  const { out, machine } = repair([...inputs, finish("stop"), usageChunk(), "[DONE]"]);
  expect(out.slice(0, 4)).toEqual(inputs);
  inputs.forEach((input, nth) => expect(out[nth]).toBe(input));
  expect(out.slice(4)).toEqual([finish("stop"), usageChunk(), "[DONE]"]);
  expect([...machine.repairs.counts.keys()]).toEqual([]);
});

test("the finish is corrected from the calls, and comes once, at the end of its choice", () => {
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

test("calls open once with id, type and name, at dense indexes; deltas stay deltas", () => {
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
    finish("tool_calls"),
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

test("calls come one after the other: what is held back of one, or comes in turns, holds up the next", () => {
  const fragments = [
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"ci' },
    { index: 1, id: "call_bbb", name: "get_weather", args: '{"city":' },
    { index: 0, args: 'ty":"Paris"' },
    { index: 1, args: '"Rome"}' },
    { index: 0, args: "}" },
  ];
  const { out } = repair([...fragments.map((each) => chunk(call(each))), finish("tool_calls")]);
  const told = out.flatMap((each) =>
    each === "[DONE]"
      ? []
      : (each.choices ?? []).flatMap(({ delta }) => (delta as ChatDelta).tool_calls ?? []),
  );
  expect(told.map(({ index }) => index)).toEqual([0, 0, 0, 1]);
  const said = ["", ""];
  for (const { index, function: called } of told)
    if (typeof called?.arguments === "string") said[index ?? 0] += called.arguments;
  expect(said).toEqual(['{"city":"Paris"}', '{"city":"Rome"}']);
});

test("think tags go where Chat clients look for reasoning", () => {
  const { out } = repair([
    chunk({ content: "<think>hm</th" }),
    chunk({ content: "ink>Hi", x: 1 }),
    finish("stop"),
    "[DONE]",
  ]);
  expect(out.slice(0, 2)).toMatchObject([
    { choices: [{ delta: { reasoning_content: "hm" } }] },
    { choices: [{ delta: { content: "Hi", x: 1 } }] },
  ]);
});

test("every chunk has an envelope with one id, also what came before the id", () => {
  const { out } = repair([
    { id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: [{}] },
    { id: "chatcmpl-9", created: 5, model: "gpt", choices: [{ delta: { content: "Hi" } }] },
    { id: "other", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { x_groq: { id: "r" } },
    "[DONE]",
  ] as ChatInput[]);
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

test("an upstream that never says its id gets one", () => {
  const { out } = repair([{ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] }]);
  expect(out[0]).toEqual({
    id: "chatcmpl_1",
    object: "chat.completion.chunk",
    created: 1700000000,
    model: "",
    choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null }],
  });
});

test("usage comes once, after the last choice, with the counts where clients look", () => {
  const growing = (tokens: number) => ({ ...usage, completion_tokens: tokens });
  const { out } = repair([
    chunk({ content: "Hi" }, null, { usage: growing(1) }),
    chunk({}, "stop", { usage: { ...growing(7), prompt_cache_hit_tokens: 5, cost: 0.1 } }),
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

test("a client that did not ask for usage gets none", () => {
  const { out } = repair([chunk({ content: "Hi" }, "stop", { usage }), "[DONE]"], {
    includeUsage: false,
  });
  expect(out.some((output) => typeof output === "object" && output.usage)).toBe(false);
});

test("choices are independent", () => {
  const of = (index: number, delta: ChatDelta, reason: string | null = null) => ({
    ...chunk({}),
    choices: [{ index, delta, finish_reason: reason }],
  });
  const { out } = repair([
    of(0, { content: "a" }),
    of(1, call({ index: 0, id: "call_abc", name: "get_weather", args: '{"a":1}' })),
    of(1, {}, "stop"),
    of(0, {}, "length"),
    "[DONE]",
  ]);
  expect(out.slice(-3)).toEqual([of(0, {}, "length"), of(1, {}, "tool_calls"), "[DONE]"]);
});

test("an end without a finish is an error, never a finish that nobody sent", () => {
  const { out } = repair([chunk({ content: "Hi" })]);
  expect(out).toEqual([
    chunk({ role: "assistant", content: "Hi" }),
    {
      error: {
        message: "the upstream closed the stream before it had finished the reply",
        type: "upstream_error",
        code: "upstream_stream_truncated",
        param: null,
      },
    },
  ]);
});

test("an error in the stream is the end, with the provider's words", () => {
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

test("a whole reply is repaired like a stream, and keeps what we do not know", () => {
  const { repairs, ...collected } = chatOfChat(
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

test("a whole reply that is an error is an error", () => {
  const collected = chatOfChat(
    { error: { message: "bad key" } },
    { newId: (prefix) => prefix, createdAt: 1 },
  );
  expect(collected).toMatchObject({ ok: false, error: { message: "bad key" } });
});
