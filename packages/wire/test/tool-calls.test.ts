import {
  collectChat,
  collectToolCalls,
  genericProfile,
  Repairs,
  bufferToolCalls,
  WireError,
  withProfileFlags,
  type ChatChunk,
  type IncompleteToolCall,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { readResponseEvents } from "../check/reply-content.ts";
import { playChatToResponses } from "../check/play.ts";
import { body, call, chunk, usageChunk } from "./chat-chunks.ts";

const beijing = '{"location":"Beijing"}';
/** A stream with one call whose arguments arrive in several chunks. */
const weatherChunks = [
  chunk(call({ index: 0, id: "call_123", name: "get_weather", args: "" })),
  chunk(call({ index: 0, args: '{"loc' })),
  chunk(call({ index: 0, args: 'ation":"Beijing' })),
  chunk(call({ index: 0, args: '"}' })),
  chunk({}, "tool_calls"),
];
const weather = { id: "call_123", name: "get_weather", arguments: { location: "Beijing" } };

async function* toAsync<Value>(values: Iterable<Value>): AsyncGenerator<Value> {
  for (const value of values) yield await Promise.resolve(value);
}

const summarize = (chunks: Iterable<ChatChunk>) =>
  [...chunks].map(({ choices, error }) => {
    const { delta, finish_reason: finish } = choices?.[0] ?? {};
    return error === undefined
      ? [delta?.content ?? delta?.tool_calls ?? delta?.incomplete_tool_calls, finish]
      : "error";
  });

test("bufferToolCalls emits text unchanged, then the complete call once, then the finish reason", () => {
  const text = chunk({ role: "assistant", content: "I look." });
  const buffered = [...bufferToolCalls([text, ...weatherChunks, usageChunk()])];
  expect(buffered[0]).toBe(text);
  const completeCall = {
    index: 0,
    id: "call_123",
    type: "function",
    function: { name: "get_weather", arguments: beijing },
  };
  expect(summarize(buffered.slice(-3))).toEqual([
    [[completeCall], null],
    [undefined, "tool_calls"],
    [undefined, undefined],
  ]);
  const calls = buffered.flatMap(({ choices = [] }) => choices[0]?.delta?.tool_calls ?? []);
  expect(calls).toEqual([completeCall]);
  expect(findChatSequenceFaults([...buffered, "[DONE]"])).toEqual([]);
});

test("bufferToolCalls emits text before it reads the next chunk", () => {
  const readFromSource: string[] = [];
  const source = function* () {
    for (const content of ["a", "b"]) {
      readFromSource.push(content);
      yield chunk({ content });
    }
  };
  const buffered = bufferToolCalls(source());
  expect(buffered.next().value).toMatchObject({ choices: [{ delta: { content: "a" } }] });
  expect(readFromSource).toEqual(["a"]);
});

test("an asynchronous stream results in the same chunks and calls", async () => {
  const buffered: ChatChunk[] = [];
  for await (const entry of bufferToolCalls(toAsync(weatherChunks))) buffered.push(entry);
  expect(buffered).toEqual([...bufferToolCalls(weatherChunks)]);
  const calls = [];
  for await (const entry of collectToolCalls(toAsync(weatherChunks))) calls.push(entry);
  expect(calls).toEqual([weather]);
});

test("the source is closed if the reader stops, and its errors are forwarded", async () => {
  let closed = false;
  const source = async function* () {
    try {
      yield* toAsync([chunk({ content: "a" }), ...weatherChunks]);
    } finally {
      closed = true;
    }
  };
  for await (const first of bufferToolCalls(source())) if (first !== undefined) break;
  expect(closed).toBe(true);
  const failingSource = async function* () {
    yield* toAsync(weatherChunks.slice(0, 4));
    throw new Error("ECONNRESET");
  };
  const calls: unknown[] = [];
  const reading = async () => {
    for await (const entry of collectToolCalls(failingSource())) calls.push(entry);
  };
  await expect(reading()).rejects.toThrow("ECONNRESET");
  expect(calls).toEqual([]);
});

test("collectToolCalls repairs calls like the translators", () => {
  const repairs = new Repairs();
  const calls = collectToolCalls(
    [
      chunk(call({ index: 0, id: "call_aaa", name: "get_time", args: "{}" })),
      chunk(call({ index: 1, id: "call_bbb", name: "get_weather", args: '{"location"' })),
      chunk(call({ index: 1, id: "call_bbb", name: "get_weather", args: '{"location":"Bei' })),
      chunk(call({ index: 1, id: "call_bbb", name: "get_weather", args: beijing })),
      chunk({}, "stop"),
      "[DONE]",
    ],
    { repairs },
  );
  expect([...calls]).toEqual([
    { id: "call_aaa", name: "get_time", arguments: {} },
    { id: "call_bbb", name: "get_weather", arguments: { location: "Beijing" } },
  ]);
  expect([...repairs.counts.keys()]).toEqual(["arguments_cumulative", "finish_corrected"]);
});

test("collectToolCalls returns leaked calls as calls", () => {
  const content = '<tool_call>{"name":"get_time","arguments":{}}</tool_call>';
  const [first] = collectToolCalls([chunk({ content }), chunk({}, "stop")], {
    toolNames: new Set(["get_time"]),
    profile: withProfileFlags(genericProfile, { leakedCalls: ["hermes"] }),
  });
  expect(first).toMatchObject({ name: "get_time", arguments: {} });
});

test("collectToolCalls returns the input of a custom tool as the argument input", () => {
  const custom = { index: 0, id: "call_ccc", type: "custom", custom: { name: "sh", input: "ls" } };
  expect([...collectToolCalls([chunk({ tool_calls: [custom] }), chunk({}, "tool_calls")])]).toEqual(
    [{ id: "call_ccc", name: "sh", arguments: { input: "ls" } }],
  );
});

test("collectToolCalls returns only the calls of the first choice", () => {
  const secondChoice = { ...chunk({}), choices: [{ ...weatherChunks[0]?.choices?.[0], index: 1 }] };
  const finish = { ...chunk({}), choices: [{ index: 1, delta: {}, finish_reason: "stop" }] };
  expect([...collectToolCalls([secondChoice, ...weatherChunks, finish])]).toEqual([weather]);
});

test("a missing call id is derived from the id of the reply, so that it is equal for the same reply and different in the next turn", () => {
  const getGeneratedId = (reply: string) => {
    const withoutId = chunk(call({ index: 0, name: "get_weather", args: beijing }), "tool_calls");
    return [...collectToolCalls([{ ...withoutId, id: reply }])][0]?.id;
  };
  expect(getGeneratedId("chatcmpl-1")).toMatch(/^call_\w{10}$/);
  expect(getGeneratedId("chatcmpl-1")).toBe(getGeneratedId("chatcmpl-1"));
  expect(getGeneratedId("chatcmpl-1")).not.toBe(getGeneratedId("chatcmpl-2"));
});

const truncatedReplies = [
  [
    "finish reason length",
    [...weatherChunks.slice(0, 3), chunk({}, "length")],
    '{"location":"Beijing',
  ],
  [
    "finish reason length after the last brace",
    [...weatherChunks.slice(0, 4), chunk({}, "length")],
    beijing,
  ],
  [
    "finish reason stop within the arguments",
    [...weatherChunks.slice(0, 3), chunk({}, "stop")],
    '{"location":"Beijing',
  ],
] as const;

test.each(truncatedReplies)(
  "a truncated call is not returned as a complete one: %s",
  (_title, chunks, rawArguments) => {
    const incomplete: IncompleteToolCall[] = [];
    const calls = collectToolCalls(chunks, { onIncomplete: (entry) => incomplete.push(entry) });
    expect([...calls]).toEqual([]);
    expect(incomplete).toEqual([{ id: "call_123", name: "get_weather", rawArguments }]);
    expect(getWireError(() => [...collectToolCalls(chunks)])).toMatchObject({
      code: "incomplete_tool_call",
    });
    const deltas = [...bufferToolCalls(chunks)].map(({ choices }) => choices?.[0]?.delta);
    expect(deltas.flatMap((delta) => delta?.tool_calls ?? [])).toEqual([]);
    expect(deltas.flatMap((delta) => delta?.incomplete_tool_calls ?? [])).toMatchObject([
      { id: "call_123", function: { name: "get_weather", arguments: rawArguments } },
    ]);
  },
);

test("arguments that are not an object are rejected after all complete calls have been returned", () => {
  const list = chunk(call({ index: 1, id: "call_list", name: "get_time", args: "[1]" }));
  const calls = collectToolCalls([...weatherChunks.slice(0, 4), list, chunk({}, "tool_calls")]);
  expect(calls.next().value).toEqual(weather);
  expect(getWireError(() => calls.next())).toMatchObject({
    code: "incomplete_tool_call",
    message:
      "get_time: call call_list must not run, because its arguments are not a JSON object or the reply was truncated: [1]",
  });
});

test.each([
  ["ends early", weatherChunks.slice(0, 4)],
  ["ends with an error", [...weatherChunks, { error: { message: "boom" } }]],
])("a reply that %s is an error and has no complete call", (_title, chunks) => {
  expect(getWireError(() => [...collectToolCalls(chunks)])).toMatchObject({ code: "reply_failed" });
  expect(summarize(bufferToolCalls(chunks)).at(-1)).toBe("error");
});

test("fields with unexpected values are ignored", () => {
  const malformed = { tool_calls: "x", incomplete_tool_calls: 7, function_call: [] };
  expect([...collectToolCalls([chunk(malformed), ...weatherChunks])]).toEqual([weather]);
});

const fragment = fc.record(
  {
    index: fc.constantFrom(0, 1, null),
    id: fc.constantFrom("call_aaa", "call_bbb", "", null),
    name: fc.constantFrom("get_weather", "health", "", null),
    args: fc.constantFrom("", "{}", '{"city":', '"Paris"}', '{"city":"Paris"}', '{"a":1}{"b":2}'),
  },
  { requiredKeys: [] },
);
const anyStream = fc.tuple(
  fc.array(fc.oneof(fragment.map(call), fc.constant({ content: "x" })), { maxLength: 10 }),
  fc.constantFrom("stop", "tool_calls", "length", "error"),
);

test("each call of any input is returned once, as complete or incomplete, and text is unchanged", () => {
  fc.assert(
    fc.property(anyStream, ([deltas, reason]) => {
      const chunks = [...deltas.map((delta) => chunk(delta)), chunk({}, reason)];
      const buffered = [...bufferToolCalls(chunks, { newId: createCounter() })];
      const outputs = buffered.filter(({ error }) => error === undefined);
      const expectedContent = readResponseEvents(playChatToResponses(body(chunks)).out);
      const listCalls = (field: "tool_calls" | "incomplete_tool_calls") =>
        outputs
          .flatMap(({ choices }) => choices?.[0]?.delta?.[field] ?? [])
          .map((entry) => [entry.function?.name, entry.function?.arguments]);
      const expected = (isComplete: boolean) =>
        expectedContent.calls
          .filter((call) => call.isComplete === isComplete)
          .map((entry) => [entry.name, entry.arguments]);
      expect(listCalls("tool_calls")).toEqual(expected(true));
      expect(listCalls("incomplete_tool_calls")).toEqual(expected(false));
      const collected = collectChat(outputs);
      if (!collected.ok) throw new Error("expected a completion");
      expect(collected.completion.choices[0]?.message.content ?? "").toBe(expectedContent.text);
    }),
    propertyRuns(400),
  );
});

function createCounter() {
  let count = 0;
  return (prefix: string) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
}

function getWireError(action: () => unknown): WireError {
  try {
    action();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("the finish reason is not tool_calls if no call is complete", () => {
  const truncated = chunk(call({ index: 0, id: "call_123", name: "get_weather", args: '{"ci' }));
  const buffered = [...bufferToolCalls([truncated, chunk({}, "stop")])];
  const finishes = buffered.flatMap(({ choices = [] }) => choices[0]?.finish_reason ?? []);
  expect(finishes).toEqual(["length"]);
});
