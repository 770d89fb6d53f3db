import {
  collectChat,
  completeToolCalls,
  genericProfile,
  Repairs,
  wholeToolCalls,
  WireError,
  withFlags,
  type ChatChunk,
  type IncompleteToolCall,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { chatSequenceFaults } from "../check/chat-sequence.ts";
import { saidOnResponses } from "../check/said.ts";
import { playToResponses } from "../check/play.ts";
import { body, call, chunk, usageChunk } from "./chat-stream.ts";

const beijing = '{"location":"Beijing"}';
/** The stream that document 001 prints. */
const printed = [
  chunk(call({ index: 0, id: "call_123", name: "get_weather", args: "" })),
  chunk(call({ index: 0, args: '{"loc' })),
  chunk(call({ index: 0, args: 'ation":"Beijing' })),
  chunk(call({ index: 0, args: '"}' })),
  chunk({}, "tool_calls"),
];
const weather = { id: "call_123", name: "get_weather", arguments: { location: "Beijing" } };

async function* later<Value>(values: Iterable<Value>): AsyncGenerator<Value> {
  for (const value of values) yield await Promise.resolve(value);
}

const handedOut = (chunks: Iterable<ChatChunk>) =>
  [...chunks].map(({ choices, error }) => {
    const { delta, finish_reason: finish } = choices?.[0] ?? {};
    return error === undefined
      ? [delta?.content ?? delta?.tool_calls ?? delta?.incomplete_tool_calls, finish]
      : "error";
  });

test("text passes as it comes, the call comes once and whole, and then the finish", () => {
  const text = chunk({ role: "assistant", content: "I look." });
  const passed = [...wholeToolCalls([text, ...printed, usageChunk()])];
  expect(passed[0]).toBe(text);
  const whole = {
    index: 0,
    id: "call_123",
    type: "function",
    function: { name: "get_weather", arguments: beijing },
  };
  expect(handedOut(passed.slice(-3))).toEqual([
    [[whole], null],
    [undefined, "tool_calls"],
    [undefined, undefined],
  ]);
  const calls = passed.flatMap(({ choices = [] }) => choices[0]?.delta?.tool_calls ?? []);
  expect(calls).toEqual([whole]);
  expect(chatSequenceFaults([...passed, "[DONE]"])).toEqual([]);
});

test("text is not held back", () => {
  const pulled: string[] = [];
  const source = function* () {
    for (const content of ["a", "b"]) {
      pulled.push(content);
      yield chunk({ content });
    }
  };
  const passed = wholeToolCalls(source());
  expect(passed.next().value).toMatchObject({ choices: [{ delta: { content: "a" } }] });
  expect(pulled).toEqual(["a"]);
});

test("an asynchronous stream gives the same", async () => {
  const passed: ChatChunk[] = [];
  for await (const one of wholeToolCalls(later(printed))) passed.push(one);
  expect(passed).toEqual([...wholeToolCalls(printed)]);
  const calls = [];
  for await (const one of completeToolCalls(later(printed))) calls.push(one);
  expect(calls).toEqual([weather]);
});

test("whoever stops reading closes the source, and an error of the source comes through", async () => {
  let closed = false;
  const source = async function* () {
    try {
      yield* later([chunk({ content: "a" }), ...printed]);
    } finally {
      closed = true;
    }
  };
  for await (const first of wholeToolCalls(source())) if (first !== undefined) break;
  expect(closed).toBe(true);
  const broken = async function* () {
    yield* later(printed.slice(0, 4));
    throw new Error("ECONNRESET");
  };
  const calls: unknown[] = [];
  const reading = async () => {
    for await (const one of completeToolCalls(broken())) calls.push(one);
  };
  await expect(reading()).rejects.toThrow("ECONNRESET");
  expect(calls).toEqual([]);
});

test("what servers do to calls is mended by the same rules", () => {
  const repairs = new Repairs();
  const calls = completeToolCalls(
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

test("a leaked call is handed out like any other", () => {
  const content = '<tool_call>{"name":"get_time","arguments":{}}</tool_call>';
  const [first] = completeToolCalls([chunk({ content }), chunk({}, "stop")], {
    toolNames: new Set(["get_time"]),
    profile: withFlags(genericProfile, { leakedCalls: ["hermes"] }),
  });
  expect(first).toMatchObject({ name: "get_time", arguments: {} });
});

test("a custom tool's input is an argument", () => {
  const custom = { index: 0, id: "call_ccc", type: "custom", custom: { name: "sh", input: "ls" } };
  expect([
    ...completeToolCalls([chunk({ tool_calls: [custom] }), chunk({}, "tool_calls")]),
  ]).toEqual([{ id: "call_ccc", name: "sh", arguments: { input: "ls" } }]);
});

test("of several choices the first one's calls count", () => {
  const other = { ...chunk({}), choices: [{ ...printed[0]?.choices?.[0], index: 1 }] };
  const finish = { ...chunk({}), choices: [{ index: 1, delta: {}, finish_reason: "stop" }] };
  expect([...completeToolCalls([other, ...printed, finish])]).toEqual([weather]);
});

test("an id that is missing is made of the reply's id: the same again for the same reply, another in the next turn", () => {
  const idOf = (reply: string) => {
    const bare = chunk(call({ index: 0, name: "get_weather", args: beijing }), "tool_calls");
    return [...completeToolCalls([{ ...bare, id: reply }])][0]?.id;
  };
  expect(idOf("chatcmpl-1")).toMatch(/^call_\w{10}$/);
  expect(idOf("chatcmpl-1")).toBe(idOf("chatcmpl-1"));
  expect(idOf("chatcmpl-1")).not.toBe(idOf("chatcmpl-2"));
});

const cutOff = [
  ["by length", [...printed.slice(0, 3), chunk({}, "length")], '{"location":"Beijing'],
  ["by length, behind the last brace", [...printed.slice(0, 4), chunk({}, "length")], beijing],
  [
    "by a stop that came too early",
    [...printed.slice(0, 3), chunk({}, "stop")],
    '{"location":"Beijing',
  ],
] as const;

test.each(cutOff)(
  "a call that was cut off is never handed out to run: %s",
  (_how, chunks, received) => {
    const told: IncompleteToolCall[] = [];
    const calls = completeToolCalls(chunks, { onIncomplete: (one) => told.push(one) });
    expect([...calls]).toEqual([]);
    expect(told).toEqual([{ id: "call_123", name: "get_weather", received }]);
    expect(thrownBy(() => [...completeToolCalls(chunks)])).toMatchObject({
      code: "call_not_whole",
    });
    const deltas = [...wholeToolCalls(chunks)].map(({ choices }) => choices?.[0]?.delta);
    expect(deltas.flatMap((delta) => delta?.tool_calls ?? [])).toEqual([]);
    expect(deltas.flatMap((delta) => delta?.incomplete_tool_calls ?? [])).toMatchObject([
      { id: "call_123", function: { name: "get_weather", arguments: received } },
    ]);
  },
);

test("arguments that are JSON but no object cannot be run; whole calls come first", () => {
  const list = chunk(call({ index: 1, id: "call_list", name: "get_time", args: "[1]" }));
  const calls = completeToolCalls([...printed.slice(0, 4), list, chunk({}, "tool_calls")]);
  expect(calls.next().value).toEqual(weather);
  expect(thrownBy(() => calls.next())).toMatchObject({
    code: "call_not_whole",
    message:
      "get_time: call call_list must not run, its arguments are no whole object or the reply was cut: [1]",
  });
});

test.each([
  ["broke off", printed.slice(0, 4)],
  ["says that it failed", [...printed, { error: { message: "boom" } }]],
])("a reply that %s has no call to run", (_title, chunks) => {
  expect(thrownBy(() => [...completeToolCalls(chunks)])).toMatchObject({ code: "reply_failed" });
  expect(handedOut(wholeToolCalls(chunks)).at(-1)).toBe("error");
});

test("fields of these names that hold anything else harm nobody", () => {
  const odd = { tool_calls: "x", incomplete_tool_calls: 7, function_call: [] };
  expect([...completeToolCalls([chunk(odd), ...printed])]).toEqual([weather]);
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

test("whatever comes: each call is handed out once, the whole ones to run, and text is as it was", () => {
  fc.assert(
    fc.property(anyStream, ([deltas, word]) => {
      const chunks = [...deltas.map((delta) => chunk(delta)), chunk({}, word)];
      const passed = [...wholeToolCalls(chunks, { newId: counter() })];
      const outputs = passed.filter(({ error }) => error === undefined);
      const said = saidOnResponses(playToResponses(body(chunks)).out);
      const listed = (field: "tool_calls" | "incomplete_tool_calls") =>
        outputs
          .flatMap(({ choices }) => choices?.[0]?.delta?.[field] ?? [])
          .map((one) => [one.function?.name, one.function?.arguments]);
      const expected = (whole: boolean) =>
        said.calls.filter((one) => one.whole === whole).map((one) => [one.name, one.arguments]);
      expect(listed("tool_calls")).toEqual(expected(true));
      expect(listed("incomplete_tool_calls")).toEqual(expected(false));
      const collected = collectChat(outputs);
      if (!collected.ok) throw new Error("an error");
      expect(collected.completion.choices[0]?.message.content ?? "").toBe(said.text);
    }),
    runs(400),
  );
});

function counter() {
  let count = 0;
  return (prefix: string) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
}

function thrownBy(work: () => unknown): WireError {
  try {
    work();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("where no call is whole the finish does not promise one", () => {
  const cut = chunk(call({ index: 0, id: "call_123", name: "get_weather", args: '{"ci' }));
  const passed = [...wholeToolCalls([cut, chunk({}, "stop")])];
  const finishes = passed.flatMap(({ choices = [] }) => choices[0]?.finish_reason ?? []);
  expect(finishes).toEqual(["length"]);
});
