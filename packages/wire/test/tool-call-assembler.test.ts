import {
  Repairs,
  ToolCallAssembler,
  type CallEvent,
  type ChatToolCallDelta,
  type RepairCode,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";

const declared = ["get_weather", "get_time", "get", "health"];

interface Fragment {
  index?: unknown;
  id?: unknown;
  name?: unknown;
  args?: unknown;
}

/** Returns the closed calls, the streamed deltas and the repairs. */
function assemble(
  fragments: Fragment[],
  { isTruncated = false, used = [] as string[] }: { isTruncated?: boolean; used?: string[] } = {},
) {
  const repairs = new Repairs();
  let count = 0;
  const assembler = new ToolCallAssembler({
    choiceIndex: 0,
    repairs,
    newCallId: () => `call_minted_${(count += 1)}`,
    toolNames: new Set(declared),
    usedCallIds: new Set(used),
  });
  const events: CallEvent[] = [];
  for (const { index, id, name, args } of fragments)
    assembler.push({ index, id, function: { name, arguments: args } } as ChatToolCallDelta, events);
  const beforeClose = events.length;
  assembler.close({ isTruncated, upstreamFinished: true }, events);
  const calls = events.flatMap((event) =>
    event.type === "call.closed"
      ? [
          {
            id: event.call.id,
            name: event.call.name,
            args: event.arguments,
            isComplete: event.isComplete,
          },
        ]
      : [],
  );
  const codes = [...repairs.counts.keys()] as RepairCode[];
  return { calls, events, beforeClose, codes };
}

const completeCall = (name: string, args: string, id = "call_aaa") => ({
  id,
  name,
  args,
  isComplete: true,
});

test("the deltas of a call are streamed, and it closes once at the end of its choice", () => {
  const { events, beforeClose } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: "" },
    { index: 0, args: '{"city":' },
    { index: 0, args: '"Paris"}' },
  ]);
  const call = { index: 0, id: "call_aaa", name: "get_weather", kind: "function" };
  expect(events).toEqual([
    { type: "call.opened", call },
    { type: "call.arguments", call, delta: '{"city":' },
    { type: "call.arguments", call, delta: '"Paris"}' },
    {
      type: "call.closed",
      call,
      arguments: '{"city":"Paris"}',
      isComplete: true,
      rawArguments: '{"city":"Paris"}',
      isTruncated: false,
      upstreamFinished: true,
      isUnreliable: false,
    },
  ]);
  expect(beforeClose).toBe(3);
});

test("the next call does not close the previous one", () => {
  const { events, beforeClose } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
    { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
  ]);
  expect(events.slice(0, beforeClose).map((event) => event.type)).not.toContain("call.closed");
});

test("a split name is joined to the name of a declared tool before the call opens", () => {
  const { calls, events, codes } = assemble([
    { index: 0, id: "call_aaa", name: "get_wea", args: "" },
    { index: 0, name: "ther", args: "" },
    { index: 0, args: "{}" },
  ]);
  expect(calls).toEqual([completeCall("get_weather", "{}")]);
  expect(events.filter((event) => event.type === "call.opened")).toHaveLength(1);
  expect(codes).toContain("call_name_joined");
});

test("the last form of a growing name is used", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "get_w" },
    { index: 0, name: "get_weather", args: "{}" },
  ]);
  expect(calls[0]?.name).toBe("get_weather");
});

test("a declared name is never extended, even if a longer one is declared", () => {
  const { calls, codes } = assemble([
    { index: 0, id: "call_aaa", name: "get", args: "" },
    { index: 0, name: "_time", args: "{}" },
  ]);
  expect(calls[0]?.name).toBe("get");
  expect(codes).toContain("call_name_ignored");
});

test("the first id and name are used, except those that are empty, null or 'null'", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"ci' },
    { index: 0, id: "", name: "", args: 'ty":' },
    { index: 0, id: null, name: null, args: '"Pa' },
    { index: 0, id: "null", name: "null", args: 'ris"}' },
  ]);
  expect(calls).toEqual([completeCall("get_weather", '{"city":"Paris"}')]);
});

test("arguments are held back until the name is known", () => {
  const { calls, events } = assemble([
    { index: 0, id: "call_aaa", args: '{"city":' },
    { index: 0, name: "get_weather", args: '"Paris"}' },
  ]);
  expect(calls).toEqual([completeCall("get_weather", '{"city":"Paris"}')]);
  expect(events[0]?.type).toBe("call.opened");
});

test("a call without a name is dropped, with a repair", () => {
  const { calls, codes } = assemble([{ index: 0, id: "call_aaa", args: "{}" }]);
  expect(calls).toEqual([]);
  expect(codes).toContain("call_without_name");
});

test.each<[string, Fragment[]]>([
  [
    "a known id identifies its call, even with another index",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
      { index: 7, id: "call_aaa", args: '"Paris"}' },
    ],
  ],
  [
    "a new id and name at an index in use start a new call",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
      { index: 0, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
    ],
  ],
  [
    "without an index, a new id starts a call and a missing id continues the last one",
    [
      { id: "call_aaa", name: "get_weather", args: '{"city":' },
      { args: '"Paris"}' },
      { id: "call_bbb", name: "get_time", args: '{"city":' },
      { args: '"Tokyo"}' },
    ],
  ],
  [
    "new indexes without id and name continue the last call",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"ci' },
      { index: 2, args: 'ty":"To' },
      { index: 3, args: 'kyo"}' },
    ],
  ],
  [
    "interleaved calls are distinguished by index",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: "" },
      { index: 1, id: "call_bbb", name: "get_time", args: "" },
      { index: 0, args: '{"city":"Pa' },
      { index: 1, args: '{"city":"To' },
      { index: 0, args: 'ris"}' },
      { index: 1, args: 'kyo"}' },
    ],
  ],
  [
    "an index may be a string, negative, or start anywhere",
    [
      { index: "-1", id: "call_aaa", name: "get_weather", args: '{"city":' },
      { index: -1, args: '"Paris"}' },
      { index: 5, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
    ],
  ],
  [
    "a late id belongs to the call at its index",
    [
      { index: 0, name: "get_weather", args: "" },
      { index: 0, id: "call_aaa", args: '{"city":"Paris"}' },
      { index: 1, name: "get_time", args: "" },
      { index: 1, id: "call_bbb", args: '{"city":"Tokyo"}' },
    ],
  ],
  [
    "a new id without a name continues the call at its index",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
      { index: 0, id: "call_zzz", args: '"Paris"}' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
    ],
  ],
])("%s", (_title, fragments) => {
  expect(assemble(fragments).calls).toEqual([
    completeCall("get_weather", '{"city":"Paris"}'),
    completeCall("get_time", '{"city":"Tokyo"}', "call_bbb"),
  ]);
});

test("a name after complete arguments starts a new call", () => {
  const { calls } = assemble([
    { index: 0, name: "get_weather", args: '{"city":"Paris"}' },
    { index: 0, name: "get_time", args: '{"city":"Rome"}' },
    { index: 0, name: "get_weather", args: '{"city":"Oslo"}' },
  ]);
  expect(calls.map(({ name, args }) => [name, args])).toEqual([
    ["get_weather", '{"city":"Paris"}'],
    ["get_time", '{"city":"Rome"}'],
    ["get_weather", '{"city":"Oslo"}'],
  ]);
});

test("a repeated name without arguments or with the same arguments does not start another call", () => {
  const { calls } = assemble([
    { index: 0, name: "get_weather", args: '{"city":"Paris"}' },
    { index: 0, name: "get_weather", args: "" },
    { index: 0, name: "get_weather", args: '{"city":"Paris"}' },
  ]);
  expect(calls).toHaveLength(1);
});

test("two tools with the same id are two calls with different ids", () => {
  const { calls } = assemble([
    { id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
    { id: "call_aaa", name: "get_time", args: '{"city":"Tokyo"}' },
  ]);
  expect(calls).toEqual([
    completeCall("get_weather", '{"city":"Paris"}'),
    completeCall("get_time", '{"city":"Tokyo"}', "call_minted_1"),
  ]);
});

test("an id that is missing, short or used in the history is replaced", () => {
  const ids = (fragment: Fragment, used: string[] = []) =>
    assemble([{ index: 0, name: "health", args: "{}", ...fragment }], { used }).calls[0]?.id;
  expect(ids({})).toBe("call_minted_1");
  expect(ids({ id: "0" })).toBe("call_minted_1");
  expect(ids({ id: "call_aaa" }, ["call_aaa"])).toBe("call_minted_1");
  expect(ids({ id: "call_aaa" })).toBe("call_aaa");
});

test("calls open in order of arrival, even without arguments", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "health", args: "" },
    { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
  ]);
  expect(calls.map(({ name }) => name)).toEqual(["health", "get_time"]);
});

const assembleArguments = (...args: unknown[]) =>
  assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: args[0] },
    ...args.slice(1).map((fragment) => ({ index: 0, args: fragment })),
  ]);

test.each<[string, unknown[], string, ...RepairCode[]]>([
  ["blank arguments become {}", ["", " \n"], "{}", "arguments_blank"],
  ["null arguments become {}", [null], "{}", "arguments_blank"],
  ["the string null becomes {}", ["null"], "{}", "arguments_blank"],
  ["{} alone stays {}", ["{}"], "{}"],
  [
    "arguments that are an object are converted to JSON",
    [{ city: "Paris" }],
    '{"city":"Paris"}',
    "arguments_object",
  ],
  ["{} before an object is dropped", ["{}", '{"a":1}'], '{"a":1}', "arguments_placeholder"],
  [
    "{} before an object in the same fragment is dropped",
    ['{}{"a":1}'],
    '{"a":1}',
    "arguments_placeholder",
  ],
  [
    "{} before an object is dropped even if { and } are split",
    ["{", "}", '{"a":1}'],
    '{"a":1}',
    "arguments_placeholder",
  ],
  [
    "a snapshot adds only its new part",
    ['{"a', '{"a":1', '{"a":1}'],
    '{"a":1}',
    "arguments_cumulative",
  ],
  [
    "a repeated snapshot adds nothing",
    ['{"a', '{"a":', '{"a":', '{"a":1}'],
    '{"a":1}',
    "arguments_cumulative",
    "arguments_repeated",
  ],
  [
    "repeated complete arguments are dropped",
    ['{"a":', "1}", '{"a":1}'],
    '{"a":1}',
    "arguments_repeated",
  ],
  [
    "repeated arguments are dropped even if their white space differs",
    ['{"a":1}', '{ "a": 1 }'],
    '{"a":1}',
    "arguments_repeated",
  ],
  ["white space around arguments is dropped", [' {"a":1}', " ", "\n"], '{"a":1}'],
  ["an extra closing brace is dropped", ['{"a":1}}'], '{"a":1}', "arguments_tail_dropped"],
  ["a stop token is dropped", ['{"a":1}', "<|im_end|>"], '{"a":1}', "arguments_tail_dropped"],
  ["an increment that looks like a snapshot is joined", ['{"a":', '{"a":1}}'], '{"a":{"a":1}}'],
  ["braces in strings do not count", ['{"a":"}{', '\\"}"}'], '{"a":"}{\\"}"}'],
])("%s", (_title, args, final, ...repairs) => {
  const { calls, codes } = assembleArguments(...args);
  expect(calls).toEqual([completeCall("get_weather", final)]);
  expect(codes).toEqual(repairs);
});

test("different objects are different calls of the same tool, and equal objects are one call", () => {
  const { calls, codes } = assembleArguments(
    '{"city":"Paris"}{"city":"Tokyo"}',
    '{"city":"Paris"}',
  );
  expect(calls).toEqual([
    completeCall("get_weather", '{"city":"Paris"}'),
    completeCall("get_weather", '{"city":"Tokyo"}', "call_minted_1"),
  ]);
  expect(codes).toContain("arguments_split");
});

test("only the last of several objects is incomplete if it is truncated", () => {
  const { calls } = assembleArguments('{"a":1}{"b":');
  expect(calls.map(({ args, isComplete }) => [args, isComplete])).toEqual([
    ['{"a":1}', true],
    ['{"b":', false],
  ]);
});

test.each([['{"a":'], ["{'a': 1}"], ['{"a":1},"b":2}'], ['{"a":1} and so on']])(
  "arguments %s are incomplete, and the call must not run",
  (args) => {
    const { calls, codes } = assembleArguments(args);
    expect(calls[0]?.isComplete).toBe(false);
    expect(codes).toContain("arguments_incomplete");
  },
);

test("in a truncated reply no call is complete, even with complete arguments", () => {
  const { calls } = assemble(
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"ci' },
    ],
    { isTruncated: true },
  );
  expect(calls.map((call) => call.isComplete)).toEqual([false, false]);
});

/** Generates a JSON object in fragments, possibly as snapshots or with a repetition at the end. */
const splitArguments = fc
  .tuple(
    fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 }),
    fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 30 }),
  )
  .map(([value, sizes]) => {
    const text = JSON.stringify(value);
    const cuts: string[] = [];
    let at = 0;
    for (const size of sizes) {
      cuts.push(text.slice(at, at + size));
      at += size;
    }
    return { text, cuts: [...cuts, text.slice(at)].filter((part) => part !== "") };
  });

test("deltas add up to the arguments that the upstream sent, however they are split", () => {
  fc.assert(
    fc.property(
      splitArguments,
      fc.constantFrom("increments", "snapshots", "echo"),
      ({ text, cuts }, form) => {
        const parts =
          form === "snapshots"
            ? cuts.map((_, index) => cuts.slice(0, index + 1).join(""))
            : form === "echo"
              ? [...cuts, text]
              : cuts;
        const { calls, events } = assembleArguments(...parts);
        const streamed = events.flatMap((event) =>
          event.type === "call.arguments" ? [event.delta] : [],
        );
        expect(calls).toEqual([completeCall("get_weather", text)]);
        expect(streamed.join("")).toBe(text);
      },
    ),
    propertyRuns(300),
  );
});

test("for any fragments, each call opens and closes once, and its deltas add up to its arguments", () => {
  const fragment = fc.record(
    {
      index: fc.option(fc.oneof(fc.integer({ min: -1, max: 2 }), fc.string()), { nil: null }),
      id: fc.option(fc.constantFrom("call_aaa", "call_bbb", "", "null", "0"), { nil: null }),
      name: fc.option(fc.constantFrom("get", "get_time", "_time", "health", "", "x"), {
        nil: null,
      }),
      args: fc.oneof(
        fc.constantFrom("{}", "{", "}", '{"a":1}', '{"a', '":1}', " ", "null", ""),
        fc.string(),
        fc.jsonValue(),
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 12 }), fc.boolean(), (fragments, isTruncated) => {
      expect(findLifecycleFaults(assemble(fragments, { isTruncated }).events, isTruncated)).toEqual(
        [],
      );
    }),
    propertyRuns(500),
  );
});

/** Finds calls that open or close twice, or whose deltas do not add up to their arguments. */
function findLifecycleFaults(events: CallEvent[], isTruncated: boolean): string[] {
  const faults: string[] = [];
  const open = new Map<string, string>();
  const closed = new Set<string>();
  for (const event of events) {
    const { id } = event.call;
    const received = open.get(id);
    if (event.type === "call.opened") {
      if (received !== undefined) faults.push(`${id} opens twice`);
      open.set(id, "");
      continue;
    }
    if (received === undefined || closed.has(id)) faults.push(`${id} is not open`);
    if (event.type === "call.fields") continue;
    if (event.type === "call.arguments") {
      open.set(id, received + event.delta);
      continue;
    }
    closed.add(id);
    if (received !== event.arguments) faults.push(`${id}: deltas do not add up`);
    if (event.isComplete && (isTruncated || !isJson(event.arguments)))
      faults.push(`${id} is marked complete`);
  }
  if (closed.size !== open.size) faults.push("a call never closed");
  return faults;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
