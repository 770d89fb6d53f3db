import {
  Repairs,
  ToolCallAssembler,
  type CallEvent,
  type ChatToolCallDelta,
  type RepairCode,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";

const declared = ["get_weather", "get_time", "get", "health"];

interface Fragment {
  index?: unknown;
  id?: unknown;
  name?: unknown;
  args?: unknown;
}

/** What became of the fragments: the calls as they closed, what streamed, and what was repaired. */
function assemble(
  fragments: Fragment[],
  { cut = false, used = [] as string[] }: { cut?: boolean; used?: string[] } = {},
) {
  const repairs = new Repairs();
  let minted = 0;
  const assembler = new ToolCallAssembler({
    choice: 0,
    repairs,
    newCallId: () => `call_minted_${(minted += 1)}`,
    toolNames: new Set(declared),
    usedCallIds: new Set(used),
  });
  const events: CallEvent[] = [];
  for (const { index, id, name, args } of fragments)
    assembler.push({ index, id, function: { name, arguments: args } } as ChatToolCallDelta, events);
  const beforeClose = events.length;
  assembler.close({ cut, finished: true }, events);
  const calls = events.flatMap((event) =>
    event.type === "call.closed"
      ? [{ id: event.call.id, name: event.call.name, args: event.arguments, whole: event.whole }]
      : [],
  );
  const codes = [...repairs.counts.keys()] as RepairCode[];
  return { calls, events, beforeClose, codes };
}

const whole = (name: string, args: string, id = "call_aaa") => ({ id, name, args, whole: true });

test("a call streams its deltas and is closed once, at the end of its choice", () => {
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
      whole: true,
      received: '{"city":"Paris"}',
      cut: false,
      finished: true,
      doubted: false,
    },
  ]);
  expect(beforeClose).toBe(3);
});

test("the next call does not close the one before it", () => {
  const { events, beforeClose } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
    { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
  ]);
  expect(events.slice(0, beforeClose).map((event) => event.type)).not.toContain("call.closed");
});

test("a name that comes in pieces is joined towards a declared tool, before the call opens", () => {
  const { calls, events, codes } = assemble([
    { index: 0, id: "call_aaa", name: "get_wea", args: "" },
    { index: 0, name: "ther", args: "" },
    { index: 0, args: "{}" },
  ]);
  expect(calls).toEqual([whole("get_weather", "{}")]);
  expect(events.filter((event) => event.type === "call.opened")).toHaveLength(1);
  expect(codes).toContain("call_name_joined");
});

test("a name that grows is taken as it stands last", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "get_w" },
    { index: 0, name: "get_weather", args: "{}" },
  ]);
  expect(calls[0]?.name).toBe("get_weather");
});

test("a declared name is never made longer, also where a longer one is declared", () => {
  const { calls, codes } = assemble([
    { index: 0, id: "call_aaa", name: "get", args: "" },
    { index: 0, name: "_time", args: "{}" },
  ]);
  expect(calls[0]?.name).toBe("get");
  expect(codes).toContain("call_name_ignored");
});

test("the first id and name win; an empty, null or 'null' one is none", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"ci' },
    { index: 0, id: "", name: "", args: 'ty":' },
    { index: 0, id: null, name: null, args: '"Pa' },
    { index: 0, id: "null", name: "null", args: 'ris"}' },
  ]);
  expect(calls).toEqual([whole("get_weather", '{"city":"Paris"}')]);
});

test("arguments that come before the name wait for it", () => {
  const { calls, events } = assemble([
    { index: 0, id: "call_aaa", args: '{"city":' },
    { index: 0, name: "get_weather", args: '"Paris"}' },
  ]);
  expect(calls).toEqual([whole("get_weather", '{"city":"Paris"}')]);
  expect(events[0]?.type).toBe("call.opened");
});

test("a call that never gets a name is not handed out, and counted", () => {
  const { calls, codes } = assemble([{ index: 0, id: "call_aaa", args: "{}" }]);
  expect(calls).toEqual([]);
  expect(codes).toContain("call_without_name");
});

test.each<[string, Fragment[]]>([
  [
    "a known id finds its call whatever the index says",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
      { index: 7, id: "call_aaa", args: '"Paris"}' },
    ],
  ],
  [
    "a new id at an index in use is a new call",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
      { index: 0, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
    ],
  ],
  [
    "no index: a new id is a new call, and no id goes on with the last one",
    [
      { id: "call_aaa", name: "get_weather", args: '{"city":' },
      { args: '"Paris"}' },
      { id: "call_bbb", name: "get_time", args: '{"city":' },
      { args: '"Tokyo"}' },
    ],
  ],
  [
    "indexes that drift without id and name go on with the last call",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"ci' },
      { index: 2, args: 'ty":"To' },
      { index: 3, args: 'kyo"}' },
    ],
  ],
  [
    "interleaved calls are told apart by index",
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
    "an id that comes late belongs to the call at its index",
    [
      { index: 0, name: "get_weather", args: "" },
      { index: 0, id: "call_aaa", args: '{"city":"Paris"}' },
      { index: 1, name: "get_time", args: "" },
      { index: 1, id: "call_bbb", args: '{"city":"Tokyo"}' },
    ],
  ],
  [
    "a new id without a name in the middle of a call is the same call",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
      { index: 0, id: "call_zzz", args: '"Paris"}' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
    ],
  ],
])("%s", (_title, fragments) => {
  expect(assemble(fragments).calls).toEqual([
    whole("get_weather", '{"city":"Paris"}'),
    whole("get_time", '{"city":"Tokyo"}', "call_bbb"),
  ]);
});

test("a name at a call whose arguments have ended is a new call", () => {
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

test("the same name with nothing, or with the same once more, is an echo and no second call", () => {
  const { calls } = assemble([
    { index: 0, name: "get_weather", args: '{"city":"Paris"}' },
    { index: 0, name: "get_weather", args: "" },
    { index: 0, name: "get_weather", args: '{"city":"Paris"}' },
  ]);
  expect(calls).toHaveLength(1);
});

test("one id for two tools is two calls, with two ids", () => {
  const { calls } = assemble([
    { id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
    { id: "call_aaa", name: "get_time", args: '{"city":"Tokyo"}' },
  ]);
  expect(calls).toEqual([
    whole("get_weather", '{"city":"Paris"}'),
    whole("get_time", '{"city":"Tokyo"}', "call_minted_1"),
  ]);
});

test("an id that is missing, short, or stands in the history is replaced", () => {
  const ids = (fragment: Fragment, used: string[] = []) =>
    assemble([{ index: 0, name: "health", args: "{}", ...fragment }], { used }).calls[0]?.id;
  expect(ids({})).toBe("call_minted_1");
  expect(ids({ id: "0" })).toBe("call_minted_1");
  expect(ids({ id: "call_aaa" }, ["call_aaa"])).toBe("call_minted_1");
  expect(ids({ id: "call_aaa" })).toBe("call_aaa");
});

test("calls open in the order of their arrival, also one that has no arguments yet", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "health", args: "" },
    { index: 1, id: "call_bbb", name: "get_time", args: '{"city":"Tokyo"}' },
  ]);
  expect(calls.map(({ name }) => name)).toEqual(["health", "get_time"]);
});

const oneCall = (...args: unknown[]) =>
  assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: args[0] },
    ...args.slice(1).map((more) => ({ index: 0, args: more })),
  ]);

test.each<[string, unknown[], string, ...RepairCode[]]>([
  ["blank arguments are {}", ["", " \n"], "{}", "arguments_blank"],
  ["null arguments are {}", [null], "{}", "arguments_blank"],
  ["the word null is {}", ["null"], "{}", "arguments_blank"],
  ["a {} of its own stays", ["{}"], "{}"],
  ["an object is serialised", [{ city: "Paris" }], '{"city":"Paris"}', "arguments_object"],
  ["{} before an object is dropped", ["{}", '{"a":1}'], '{"a":1}', "arguments_placeholder"],
  ["{} in the same fragment too", ['{}{"a":1}'], '{"a":1}', "arguments_placeholder"],
  ["also where { and } came apart", ["{", "}", '{"a":1}'], '{"a":1}', "arguments_placeholder"],
  [
    "a snapshot counts with what it adds",
    ['{"a', '{"a":1', '{"a":1}'],
    '{"a":1}',
    "arguments_cumulative",
  ],
  [
    "a snapshot may come twice",
    ['{"a', '{"a":', '{"a":', '{"a":1}'],
    '{"a":1}',
    "arguments_cumulative",
    "arguments_repeated",
  ],
  ["the whole once more is dropped", ['{"a":', "1}", '{"a":1}'], '{"a":1}', "arguments_repeated"],
  ["also if only its blanks differ", ['{"a":1}', '{ "a": 1 }'], '{"a":1}', "arguments_repeated"],
  ["blanks around it are dropped", [' {"a":1}', " ", "\n"], '{"a":1}'],
  ["a brace too many is dropped", ['{"a":1}}'], '{"a":1}', "arguments_tail_dropped"],
  ["a stop token is dropped", ['{"a":1}', "<|im_end|>"], '{"a":1}', "arguments_tail_dropped"],
  ["an increment may look like a snapshot", ['{"a":', '{"a":1}}'], '{"a":{"a":1}}'],
  ["braces in strings do not count", ['{"a":"}{', '\\"}"}'], '{"a":"}{\\"}"}'],
])("%s", (_title, args, final, ...repairs) => {
  const { calls, codes } = oneCall(...args);
  expect(calls).toEqual([whole("get_weather", final)]);
  expect(codes).toEqual(repairs);
});

test("objects in a row are that many calls of the same name, equal ones are one", () => {
  const { calls, codes } = oneCall('{"city":"Paris"}{"city":"Tokyo"}', '{"city":"Paris"}');
  expect(calls).toEqual([
    whole("get_weather", '{"city":"Paris"}'),
    whole("get_weather", '{"city":"Tokyo"}', "call_minted_1"),
  ]);
  expect(codes).toContain("arguments_split");
});

test("of objects in a row the last may be cut: it alone is not whole", () => {
  const { calls } = oneCall('{"a":1}{"b":');
  expect(calls.map(({ args, whole: isWhole }) => [args, isWhole])).toEqual([
    ['{"a":1}', true],
    ['{"b":', false],
  ]);
});

test.each([['{"a":'], ["{'a': 1}"], ['{"a":1},"b":2}'], ['{"a":1} and so on']])(
  "arguments %s are not whole, and the call must not run",
  (args) => {
    const { calls, codes } = oneCall(args);
    expect(calls[0]?.whole).toBe(false);
    expect(codes).toContain("arguments_not_whole");
  },
);

test("when the reply was cut no call is whole, not even one whose arguments are", () => {
  const { calls } = assemble(
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
      { index: 1, id: "call_bbb", name: "get_time", args: '{"ci' },
    ],
    { cut: true },
  );
  expect(calls.map((call) => call.whole)).toEqual([false, false]);
});

/** A JSON object cut into fragments, perhaps sent as snapshots, perhaps with an echo at the end. */
const sent = fc
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
    return { text, cuts: [...cuts, text.slice(at)].filter((cut) => cut !== "") };
  });

test("what streams joins to the final arguments, and these are what was sent, however it was cut", () => {
  fc.assert(
    fc.property(
      sent,
      fc.constantFrom("increments", "snapshots", "echo"),
      ({ text, cuts }, form) => {
        const parts =
          form === "snapshots"
            ? cuts.map((_, nth) => cuts.slice(0, nth + 1).join(""))
            : form === "echo"
              ? [...cuts, text]
              : cuts;
        const { calls, events } = oneCall(...parts);
        const streamed = events.flatMap((event) =>
          event.type === "call.arguments" ? [event.delta] : [],
        );
        expect(calls).toEqual([whole("get_weather", text)]);
        expect(streamed.join("")).toBe(text);
      },
    ),
    runs(300),
  );
});

test("for any fragments: each call opens once and closes once, and its deltas join to its arguments", () => {
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
    fc.property(fc.array(fragment, { maxLength: 12 }), fc.boolean(), (fragments, cut) => {
      expect(lifeFaults(assemble(fragments, { cut }).events, cut)).toEqual([]);
    }),
    runs(500),
  );
});

/** What is wrong with the lives of the calls: none opens or closes twice, grows otherwise than it ends, or lies. */
function lifeFaults(events: CallEvent[], cut: boolean): string[] {
  const faults: string[] = [];
  const open = new Map<string, string>();
  const closed = new Set<string>();
  for (const event of events) {
    const { id } = event.call;
    const soFar = open.get(id);
    if (event.type === "call.opened") {
      if (soFar !== undefined) faults.push(`${id} opens twice`);
      open.set(id, "");
      continue;
    }
    if (soFar === undefined || closed.has(id)) faults.push(`${id} is not open`);
    if (event.type === "call.fields") continue;
    if (event.type === "call.arguments") {
      open.set(id, soFar + event.delta);
      continue;
    }
    closed.add(id);
    if (soFar !== event.arguments) faults.push(`${id}: deltas do not join`);
    if (event.whole && (cut || !isJson(event.arguments))) faults.push(`${id} is not whole`);
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
