import type { ChatChunk, ChatDelta, ChatInput, JsonObject } from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usage, usageChunk } from "./chat-stream.ts";
import { choicesIn, toChat } from "./reply-translations.ts";

/** A chunk of one of several choices. */
const of = (index: number, delta: ChatDelta, finish: string | null = null, rest = {}) => ({
  ...chunk({}),
  choices: [{ index, delta, finish_reason: finish, ...rest }],
});

const callDeltas = (inputs: ChatInput[]) =>
  choicesIn(toChat(inputs).out).flatMap((choice) => choice.delta?.tool_calls ?? []);

test("the first delta of each choice says who speaks, also of one that only finishes", () => {
  const { out } = toChat([
    of(0, { content: "a" }),
    of(1, { content: "b" }),
    of(0, { content: "c" }),
    of(0, {}, "stop"),
    of(1, {}, "stop"),
    of(2, {}, "stop"),
    "[DONE]",
  ]);
  expect(out).toEqual([
    of(0, { role: "assistant", content: "a" }),
    of(1, { role: "assistant", content: "b" }),
    of(0, { content: "c" }),
    of(0, {}, "stop"),
    of(1, {}, "stop"),
    of(2, { role: "assistant" }, "stop"),
    "[DONE]",
  ]);
});

test("also where two choices share a chunk, and where the first words were held back", () => {
  const both = (a: string, b: string): ChatChunk => ({
    ...chunk({}),
    choices: [
      { index: 0, delta: { content: a }, finish_reason: null },
      { index: 1, delta: { content: b }, finish_reason: null },
    ],
  });
  const { out } = toChat([both("<thi", "b"), of(0, {}, "stop"), of(1, {}, "stop"), "[DONE]"]);
  const deltas = [0, 1].map((index) =>
    choicesIn(out)
      .filter((choice) => choice.index === index)
      .map((choice) => choice.delta),
  );
  for (const [first, ...rest] of deltas) {
    expect(first).toMatchObject({ role: "assistant" });
    expect(rest.every((delta) => delta?.role === undefined)).toBe(true);
  }
});

test("a message beside a delta, the reply so far, is dropped", () => {
  const { out } = toChat([
    of(0, { role: "assistant", content: "He" }, null, { message: { content: "He" } }),
    of(0, { content: "llo" }, null, { message: { content: "Hello" } }),
    of(0, {}, "stop", { message: { content: "Hello" } }),
    "[DONE]",
  ]);
  expect(out).toEqual([
    of(0, { role: "assistant", content: "He" }),
    of(0, { content: "llo" }),
    of(0, {}, "stop"),
    "[DONE]",
  ]);
});

test("unknown fields of a call and of its function pass, also from before it opens, and late", () => {
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

test("a chunk of a tool call with nothing to mend is the same object", () => {
  const opening = chunk({
    role: "assistant",
    content: null,
    ...call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":', x_new: { a: [1] } }),
  });
  const further = chunk({ tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] });
  const { out, repairs } = toChat([opening, further, chunk({}, "tool_calls"), "[DONE]"]);
  expect(out[0]).toBe(opening);
  expect(out[1]).toBe(further);
  expect(repairs.list).toEqual([]);
});

test("an error keeps the provider's fields, and a code that is no word of ours beside it", () => {
  const error = {
    message: "Failed to call a function.",
    type: "invalid_request_error",
    code: 400,
    failed_generation: "<function=get_weather>",
    metadata: { provider_name: "p" },
  };
  expect(toChat([chunk({ content: "Hi" }), { error }, "[DONE]"]).out.at(-1)).toEqual({
    error: { ...error, code: "upstream_error", param: null, upstream_code: 400 },
  });
  const limited = { message: "slow down", code: 429, param: "messages" };
  expect(toChat([{ error: limited }, "[DONE]"]).out.at(-1)).toEqual({
    error: {
      ...limited,
      type: "upstream_error",
      code: "rate_limit_exceeded",
      upstream_code: 429,
    },
  });
  const worded = { message: "no", type: "t", code: "tool_use_failed", param: null };
  expect(toChat([{ error: worded }, "[DONE]"]).out.at(-1)).toEqual({ error: worded });
});

test("a choice that failed does not take the finish of one before it", () => {
  const { out } = toChat([
    of(0, { role: "assistant", content: "a" }),
    of(1, { role: "assistant", content: "b" }),
    of(1, {}, "error", { error: { message: "boom" } }),
    of(0, {}, "stop"),
    "[DONE]",
  ]);
  expect(out.slice(2)).toEqual([
    of(0, {}, "stop"),
    { error: { message: "boom", type: "upstream_error", code: "upstream_error", param: null } },
  ]);
});

test("what the chunk with the usage says beside it is kept", () => {
  const last = { ...usageChunk(), service_tier: "default", system_fingerprint: "fp_1" };
  const { out } = toChat([
    chunk({ role: "assistant", content: "Hi" }),
    chunk({}, "stop"),
    last,
    "[DONE]",
  ]);
  expect(out.slice(-2)).toEqual([last, "[DONE]"]);
});

test.each([[{}], [{ cost: 0 }], [{ prompt_tokens: null }], [null]])(
  "a later usage %j counts nothing, and does not replace one that does",
  (later) => {
    const { out } = toChat([
      chunk({ role: "assistant", content: "Hi" }),
      chunk({}, "stop"),
      usageChunk(),
      { ...usageChunk(), usage: later },
      "[DONE]",
    ]);
    expect(out.slice(-2)).toEqual([usageChunk(), "[DONE]"]);
  },
);

test("of several usages that count the last is given, wherever it stands", () => {
  const { out } = toChat([
    chunk({ role: "assistant", content: "Hi" }, null, { usage }),
    { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: {} }] },
    { ...chunk({}), choices: [], x_groq: { usage: { ...usage, completion_tokens: 8 } } },
    "[DONE]",
  ]);
  expect(out.at(-2)).toMatchObject({ choices: [], usage: { ...usage, completion_tokens: 8 } });
});
