import type { ChatChunk, ChatDelta, UpstreamChatEvent, JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usage, usageChunk } from "./chat-chunks.ts";
import { getChoices, translateToChat } from "./translate-reply.ts";

/** Builds a chunk of one of several choices. */
const choiceChunk = (index: number, delta: ChatDelta, finish: string | null = null, rest = {}) => ({
  ...chunk({}),
  choices: [{ index, delta, finish_reason: finish, ...rest }],
});

const callDeltas = (inputs: UpstreamChatEvent[]) =>
  getChoices(translateToChat(inputs).out).flatMap((choice) => choice.delta?.tool_calls ?? []);

test("the first delta of each choice has the role, even if the choice only finishes", () => {
  const { out } = translateToChat([
    choiceChunk(0, { content: "a" }),
    choiceChunk(1, { content: "b" }),
    choiceChunk(0, { content: "c" }),
    choiceChunk(0, {}, "stop"),
    choiceChunk(1, {}, "stop"),
    choiceChunk(2, {}, "stop"),
    "[DONE]",
  ]);
  expect(out).toEqual([
    choiceChunk(0, { role: "assistant", content: "a" }),
    choiceChunk(1, { role: "assistant", content: "b" }),
    choiceChunk(0, { content: "c" }),
    choiceChunk(0, {}, "stop"),
    choiceChunk(1, {}, "stop"),
    choiceChunk(2, { role: "assistant" }, "stop"),
    "[DONE]",
  ]);
});

test("the role is also sent if two choices share a chunk or the first text was buffered", () => {
  const chunkOfTwoChoices = (a: string, b: string): ChatChunk => ({
    ...chunk({}),
    choices: [
      { index: 0, delta: { content: a }, finish_reason: null },
      { index: 1, delta: { content: b }, finish_reason: null },
    ],
  });
  const { out } = translateToChat([
    chunkOfTwoChoices("<thi", "b"),
    choiceChunk(0, {}, "stop"),
    choiceChunk(1, {}, "stop"),
    "[DONE]",
  ]);
  const deltas = [0, 1].map((index) =>
    getChoices(out)
      .filter((choice) => choice.index === index)
      .map((choice) => choice.delta),
  );
  for (const [first, ...rest] of deltas) {
    expect(first).toMatchObject({ role: "assistant" });
    expect(rest.every((delta) => delta?.role === undefined)).toBe(true);
  }
});

test("a message that repeats the reply so far next to a delta is dropped", () => {
  const { out } = translateToChat([
    choiceChunk(0, { role: "assistant", content: "He" }, null, { message: { content: "He" } }),
    choiceChunk(0, { content: "llo" }, null, { message: { content: "Hello" } }),
    choiceChunk(0, {}, "stop", { message: { content: "Hello" } }),
    "[DONE]",
  ]);
  expect(out).toEqual([
    choiceChunk(0, { role: "assistant", content: "He" }),
    choiceChunk(0, { content: "llo" }),
    choiceChunk(0, {}, "stop"),
    "[DONE]",
  ]);
});

test("unknown fields of a call and of its function are forwarded, even before it opens and after it ends", () => {
  const deltas = callDeltas([
    chunk({
      role: "assistant",
      tool_calls: [
        { index: 0, id: "call_aaa", x_early: 1, function: { arguments: "", x_inner: "a" } },
      ] as JsonObject[],
    }),
    chunk(call({ index: 0, name: "get_weather", args: '{"city":' })),
    chunk({
      tool_calls: [
        {
          index: 0,
          extra_content: { google: { thought_signature: "SIG" } },
          function: { arguments: '"Paris"}', x_inner: "b" },
        },
      ] as JsonObject[],
    }),
    chunk({ tool_calls: [{ index: 0, x_late: [2] }] }),
    chunk({}, "tool_calls"),
    "[DONE]",
  ]);
  expect(deltas).toEqual([
    {
      index: 0,
      id: "call_aaa",
      type: "function",
      x_early: 1,
      function: { name: "get_weather", arguments: '{"city":', x_inner: "a" },
    },
    {
      index: 0,
      extra_content: { google: { thought_signature: "SIG" } },
      function: { arguments: '"Paris"}', x_inner: "b" },
    },
    { index: 0, x_late: [2] },
  ]);
});

test("a valid chunk of a tool call is forwarded as the same object", () => {
  const opening = chunk({
    role: "assistant",
    content: null,
    ...call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":', x_new: { a: [1] } }),
  });
  const continuation = chunk({ tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] });
  const { out, repairs } = translateToChat([
    opening,
    continuation,
    chunk({}, "tool_calls"),
    "[DONE]",
  ]);
  expect(out[0]).toBe(opening);
  expect(out[1]).toBe(continuation);
  expect(repairs.list).toEqual([]);
});

test("an error keeps the provider's fields, including an unknown code", () => {
  const error = {
    message: "Failed to call a function.",
    type: "invalid_request_error",
    code: 400,
    failed_generation: "<function=get_weather>",
    metadata: { provider_name: "p" },
  };
  expect(translateToChat([chunk({ content: "Hi" }), { error }, "[DONE]"]).out.at(-1)).toEqual({
    error: { ...error, code: "upstream_error", param: null, upstream_code: 400 },
  });
  const rateLimit = { message: "slow down", code: 429, param: "messages" };
  expect(translateToChat([{ error: rateLimit }, "[DONE]"]).out.at(-1)).toEqual({
    error: {
      ...rateLimit,
      type: "upstream_error",
      code: "rate_limit_exceeded",
      upstream_code: 429,
    },
  });
  const withStringCode = { message: "no", type: "t", code: "tool_use_failed", param: null };
  expect(translateToChat([{ error: withStringCode }, "[DONE]"]).out.at(-1)).toEqual({
    error: withStringCode,
  });
});

test("a failed choice does not get the finish reason of an earlier one", () => {
  const { out } = translateToChat([
    choiceChunk(0, { role: "assistant", content: "a" }),
    choiceChunk(1, { role: "assistant", content: "b" }),
    choiceChunk(1, {}, "error", { error: { message: "boom" } }),
    choiceChunk(0, {}, "stop"),
    "[DONE]",
  ]);
  expect(out.slice(2)).toEqual([
    choiceChunk(0, {}, "stop"),
    { error: { message: "boom", type: "upstream_error", code: "upstream_error", param: null } },
  ]);
});

test("the other fields of the chunk with the usage are forwarded", () => {
  const usageChunkWithFields = {
    ...usageChunk(),
    service_tier: "default",
    system_fingerprint: "fp_1",
  };
  const { out } = translateToChat([
    chunk({ role: "assistant", content: "Hi" }),
    chunk({}, "stop"),
    usageChunkWithFields,
    "[DONE]",
  ]);
  expect(out.slice(-2)).toEqual([usageChunkWithFields, "[DONE]"]);
});

test.each([[{}], [{ cost: 0 }], [{ prompt_tokens: null }], [null]])(
  "a later usage of %j has no counts and does not replace one that has counts",
  (later) => {
    const { out } = translateToChat([
      chunk({ role: "assistant", content: "Hi" }),
      chunk({}, "stop"),
      usageChunk(),
      { ...usageChunk(), usage: later },
      "[DONE]",
    ]);
    expect(out.slice(-2)).toEqual([usageChunk(), "[DONE]"]);
  },
);

test("the last of several usages is sent, wherever it occurs", () => {
  const { out } = translateToChat([
    chunk({ role: "assistant", content: "Hi" }, null, { usage }),
    { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: {} }] },
    { ...chunk({}), choices: [], x_groq: { usage: { ...usage, completion_tokens: 8 } } },
    "[DONE]",
  ]);
  expect(out.at(-2)).toMatchObject({ choices: [], usage: { ...usage, completion_tokens: 8 } });
});
