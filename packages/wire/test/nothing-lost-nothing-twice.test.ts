import {
  chatOfChat,
  SseDecoder,
  type ChatDelta,
  type SseEvent,
  type WireError,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usage } from "./chat-stream.ts";
import { choicesIn, newIds, toChat, toResponses } from "./reply-translations.ts";

const of = (index: number, delta: ChatDelta, finish: string | null = null, rest = {}) => ({
  ...chunk({}),
  choices: [{ index, delta, finish_reason: finish, ...rest }],
});

test("a choice that failed does not take the finish of one behind it", () => {
  const { out } = toChat([
    of(0, { role: "assistant", content: "a" }),
    of(1, { role: "assistant", content: "b" }),
    of(0, {}, "error", { error: { message: "boom" } }),
    of(1, {}, "stop"),
    "[DONE]",
  ]);
  expect(out.slice(2)).toEqual([
    of(1, {}, "stop"),
    { error: { message: "boom", type: "upstream_error", code: "upstream_error", param: null } },
  ]);
});

test("whether a line is past the limit does not depend on the cut", () => {
  const read = (reads: string[]) => {
    const out: SseEvent[] = [];
    const decoder = new SseDecoder({ maxEventLength: 24 });
    try {
      for (const text of reads) decoder.push(text, out);
      return out.map(({ data }) => data);
    } catch (error) {
      return (error as WireError).code;
    }
  };
  const data = `data: ${"x".repeat(19)}\n\n`;
  expect([read([data]), read([data.slice(0, -1), "\n"])]).toEqual([read([data]), read([data])]);
  const comment = `: ${"x".repeat(40)}\n\ndata: a\n\n`;
  expect(read(comment.split(""))).toEqual(read([comment]));
});

test.each(["*** Begin", '"*** Begin"'])(
  "a bare custom input %s of a doubted call never runs",
  (args) => {
    const { output } = toResponses([
      chunk(call({ index: 0, id: "call_aaa", name: "write_patch" })),
      chunk(call({ index: 0, name: "health" })),
      chunk(call({ index: 0, args })),
      chunk({}, "tool_calls"),
      "[DONE]",
    ]);
    expect(output).toMatchObject([{ type: "custom_tool_call", status: "incomplete" }]);
  },
);

const reply = (message: object, rest = {}) => ({
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Hi", refusal: null, ...message },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  ...rest,
});
const options = { newId: newIds(), createdAt: 1 };

test("tool_calls: null of a whole reply is kept", () => {
  const good = reply({ tool_calls: null });
  expect(chatOfChat(good, options)).toMatchObject({ ok: true, completion: good });
});

test("a good whole reply with a usage has no repair", () => {
  expect(chatOfChat(reply({}, { usage }), options).repairs.list).toEqual([]);
});

test("tags first, then the same words in a field: once for a Chat client too", () => {
  const { out } = toChat([
    chunk({ content: "<think>hm</think>" }),
    chunk({ reasoning_content: "hm" }),
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
    "[DONE]",
  ]);
  expect(
    choicesIn(out)
      .map((choice) => choice.delta?.reasoning_content ?? "")
      .join(""),
  ).toBe("hm");
});

test.each([
  [chunk({ content: "<thi" }), "<thi"],
  [chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{" })), '"arguments":"{"'],
])(
  "what was held back goes out to a Chat client also where the connection broke",
  (input, words) => {
    expect(JSON.stringify(toChat([input]).out)).toContain(words);
  },
);

test("an empty object and then the arguments as text are one call", () => {
  const { output } = toResponses([
    chunk(call({ index: 0, id: "call_aaa", name: "health", args: {} })),
    chunk(call({ index: 0, args: '{"a":1}' })),
    chunk({}, "tool_calls"),
  ]);
  expect(output).toMatchObject([
    { type: "function_call", arguments: '{"a":1}', status: "completed" },
  ]);
});
