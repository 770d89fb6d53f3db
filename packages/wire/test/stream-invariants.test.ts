import {
  repairChatReply,
  SseDecoder,
  type ChatDelta,
  type SseEvent,
  type WireError,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usage } from "./chat-chunks.ts";
import {
  getChoices,
  createIdCounter,
  translateToChat,
  translateToResponses,
} from "./translate-reply.ts";

const choiceChunk = (index: number, delta: ChatDelta, finish: string | null = null, rest = {}) => ({
  ...chunk({}),
  choices: [{ index, delta, finish_reason: finish, ...rest }],
});

test("a failed choice does not affect the finish reason of the next one", () => {
  const { out } = translateToChat([
    choiceChunk(0, { role: "assistant", content: "a" }),
    choiceChunk(1, { role: "assistant", content: "b" }),
    choiceChunk(0, {}, "error", { error: { message: "boom" } }),
    choiceChunk(1, {}, "stop"),
    "[DONE]",
  ]);
  expect(out.slice(2)).toEqual([
    choiceChunk(1, {}, "stop"),
    { error: { message: "boom", type: "upstream_error", code: "upstream_error", param: null } },
  ]);
});

test("the event size limit does not depend on how the input is split", () => {
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
  "a custom call with plain input %s and conflicting tool names is incomplete",
  (args) => {
    const { output } = translateToResponses([
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
const options = { newId: createIdCounter(), createdAt: 1 };

test("tool_calls: null is preserved in a complete reply", () => {
  const valid = reply({ tool_calls: null });
  expect(repairChatReply(valid, options)).toMatchObject({ ok: true, completion: valid });
});

test("a valid complete reply with usage needs no repair", () => {
  expect(repairChatReply(reply({}, { usage }), options).repairs.list).toEqual([]);
});

test("a Chat client receives reasoning in think tags once if a field repeats it", () => {
  const { out } = translateToChat([
    chunk({ content: "<think>hm</think>" }),
    chunk({ reasoning_content: "hm" }),
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
    "[DONE]",
  ]);
  expect(
    getChoices(out)
      .map((choice) => choice.delta?.reasoning_content ?? "")
      .join(""),
  ).toBe("hm");
});

test.each([
  [chunk({ content: "<thi" }), "<thi"],
  [chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{" })), '"arguments":"{"'],
])("a Chat client receives held-back text even if the connection breaks", (input, text) => {
  expect(JSON.stringify(translateToChat([input]).out)).toContain(text);
});

test("arguments that start as an empty object and continue as text are one call", () => {
  const { output } = translateToResponses([
    chunk(call({ index: 0, id: "call_aaa", name: "health", args: {} })),
    chunk(call({ index: 0, args: '{"a":1}' })),
    chunk({}, "tool_calls"),
  ]);
  expect(output).toMatchObject([
    { type: "function_call", arguments: '{"a":1}', status: "completed" },
  ]);
});
