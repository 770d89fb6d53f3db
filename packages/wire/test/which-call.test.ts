import {
  Repairs,
  ToolCallAssembler,
  type CallEvent,
  type ChatToolCallDelta,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk } from "./chat-stream.ts";
import { newIds, toResponses, tools } from "./reply-translations.ts";

interface Fragment {
  index?: number;
  id?: string;
  name?: string;
  args?: unknown;
}

const closedCall = (id: string, name: string, args: string) => ({ id, name, args, whole: true });

/** The calls as they closed, and what had opened after each fragment. */
function assemble(fragments: Fragment[]) {
  const repairs = new Repairs();
  const newId = newIds();
  const assembler = new ToolCallAssembler({
    choice: 0,
    repairs,
    newCallId: () => newId("call"),
    toolNames: tools.upstreamNames,
    usedCallIds: new Set(),
  });
  const events: CallEvent[] = [];
  const names = () =>
    events.flatMap((event) => (event.type === "call.opened" ? [event.call.name] : []));
  const openAfter = fragments.map(({ index, id, name, args }) => {
    assembler.push({ index, id, function: { name, arguments: args } } as ChatToolCallDelta, events);
    return names();
  });
  assembler.close({ cut: false, finished: true }, events);
  const calls = events.flatMap((event) =>
    event.type === "call.closed"
      ? [{ id: event.call.id, name: event.call.name, args: event.arguments, whole: event.whole }]
      : [],
  );
  return { calls, openAfter, opened: names(), repairs };
}

const two = [
  closedCall("call_minted_1", "get_weather", '{"city":"Paris"}'),
  closedCall("call_minted_2", "get_time", '{"zone":"UTC"}'),
];

test.each(["0", "1"])(
  "parallel calls that share the id %j are told apart, their arguments going by index",
  (id) => {
    const { calls, repairs } = assemble([
      { index: 0, id, name: "get_weather", args: '{"city":' },
      { index: 1, id, name: "get_time", args: '{"zone":' },
      { index: 0, args: '"Paris"}' },
      { index: 1, args: '"UTC"}' },
    ]);
    expect(calls).toEqual(two);
    expect(repairs.list).toEqual([
      { code: "call_id_minted", choice: 0, detail: id },
      { code: "call_id_minted", choice: 0, detail: id },
    ]);
  },
);

test("a shared id that could be one stays with the first call", () => {
  const { calls } = assemble([
    { index: 0, id: "functions", name: "get_weather", args: '{"city":' },
    { index: 1, id: "functions", name: "get_time", args: '{"zone":' },
    { index: 0, args: '"Paris"}' },
    { index: 1, args: '"UTC"}' },
  ]);
  expect(calls).toEqual([
    closedCall("functions", "get_weather", '{"city":"Paris"}'),
    closedCall("call_minted_1", "get_time", '{"zone":"UTC"}'),
  ]);
});

test("also where every fragment carries both the shared id and its index", () => {
  const { calls } = assemble([
    { index: 0, id: "0", name: "get_weather", args: '{"city":' },
    { index: 1, id: "0", name: "get_time", args: '{"zone":' },
    { index: 0, id: "0", args: '"Paris"}' },
    { index: 1, id: "0", args: '"UTC"}' },
  ]);
  expect(calls).toEqual(two);
});

test("also where the calls come one after the other, and where a third shares the id", () => {
  const { calls } = assemble([
    { index: 0, id: "0", name: "get_weather", args: '{"city":"Paris"}' },
    { index: 1, id: "0", name: "get_time", args: '{"zone":"UTC"}' },
    { index: 2, id: "0", name: "health", args: '{"all":' },
    { index: 2, id: "0", args: "true}" },
  ]);
  expect(calls).toEqual([...two, closedCall("call_minted_3", "health", '{"all":true}')]);
});

test("a name split in two is joined, also where another call comes between its halves", () => {
  const { calls, openAfter } = assemble([
    { index: 0, id: "call_aaa", name: "get_" },
    { index: 1, id: "call_bbb", name: "health", args: "{}" },
    { index: 0, name: "weather", args: '{"city":"Paris"}' },
  ]);
  expect(calls).toEqual([
    closedCall("call_aaa", "get_weather", '{"city":"Paris"}'),
    closedCall("call_bbb", "health", "{}"),
  ]);
  expect(openAfter[0]).toEqual([]);
  expect(openAfter[1]).not.toContain("get_");
});

test("half a name waits for its own first argument", () => {
  const { openAfter } = assemble([
    { index: 0, id: "call_aaa", name: "get_" },
    { index: 1, id: "call_bbb", name: "health", args: '{"all":true}' },
    { index: 0, args: '{"city":"Paris"}' },
  ]);
  expect(openAfter).toEqual([[], ["health"], ["health", "get_"]]);
});

test("half a name that nothing follows opens at the end, and not at the words between", () => {
  const { events, output } = toResponses([
    chunk(call({ index: 0, id: "call_aaa", name: "get_" })),
    chunk({ content: "Hi" }),
    chunk({}, "tool_calls"),
    "[DONE]",
  ]);
  expect(output).toMatchObject([
    { type: "message", content: [{ text: "Hi" }] },
    { type: "function_call", name: "get_", arguments: "{}" },
  ]);
  const added = events.flatMap((event) =>
    event.type === "response.output_item.added" ? [event.item.type] : [],
  );
  expect(added).toEqual(["message", "function_call"]);
});

test.each<[string, Fragment[]]>([
  [
    "at its index, before its arguments end",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
      { index: 0, name: "get_time", args: '"Paris"}' },
    ],
  ],
  [
    "by its id, before its arguments end",
    [
      { id: "call_aaa", name: "get_weather", args: '{"city":' },
      { id: "call_aaa", name: "get_time", args: '"Paris"}' },
    ],
  ],
  [
    "before its first argument",
    [
      { index: 0, id: "call_aaa", name: "get_weather" },
      { index: 0, name: "get_time" },
      { index: 0, args: '{"city":"Paris"}' },
    ],
  ],
])("a call for which another declared tool is named is never whole: %s", (_when, fragments) => {
  const { calls, repairs } = assemble(fragments);
  expect(calls).toEqual([
    { id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}', whole: false },
  ]);
  expect(repairs.list).toEqual([{ code: "call_name_ignored", choice: 0, detail: "get_time" }]);
});

test("a name that nobody declared casts no doubt", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
    { index: 0, name: "weather_tool", args: '"Paris"}' },
  ]);
  expect(calls).toEqual([closedCall("call_aaa", "get_weather", '{"city":"Paris"}')]);
});

test("nor is a custom call for which another tool is named", () => {
  const { output } = toResponses([
    chunk(call({ index: 0, id: "call_aaa", name: "write_patch" })),
    chunk(call({ index: 0, name: "health" })),
    chunk(call({ index: 0, args: '{"input":"*** Begin"}' })),
    chunk({}, "tool_calls"),
    "[DONE]",
  ]);
  expect(output).toMatchObject([{ type: "custom_tool_call", status: "incomplete" }]);
});
