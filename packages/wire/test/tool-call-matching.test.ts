import {
  Repairs,
  ToolCallAssembler,
  type CallEvent,
  type ChatToolCallDelta,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk } from "./chat-chunks.ts";
import { createIdCounter, translateToResponses, sampleTools } from "./translate-reply.ts";

interface Fragment {
  index?: number | string;
  id?: string;
  name?: string;
  args?: unknown;
}

const closedCall = (id: string, name: string, args: string) => ({
  id,
  name,
  args,
  isComplete: true,
});

/** Returns the closed calls, and the names of the calls that are open after each fragment. */
function assemble(fragments: Fragment[]) {
  const repairs = new Repairs();
  const newId = createIdCounter();
  const assembler = new ToolCallAssembler({
    choiceIndex: 0,
    repairs,
    newCallId: () => newId("call"),
    toolNames: sampleTools.upstreamNames,
    usedCallIds: new Set(),
  });
  const events: CallEvent[] = [];
  const listOpenNames = () =>
    events.flatMap((event) => (event.type === "call.opened" ? [event.call.name] : []));
  const openNamesByFragment = fragments.map(({ index, id, name, args }) => {
    assembler.push({ index, id, function: { name, arguments: args } } as ChatToolCallDelta, events);
    return listOpenNames();
  });
  assembler.close({ isTruncated: false, upstreamFinished: true }, events);
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
  return { calls, openNamesByFragment, opened: listOpenNames(), repairs };
}

const twoCalls = [
  closedCall("call_minted_1", "get_weather", '{"city":"Paris"}'),
  closedCall("call_minted_2", "get_time", '{"zone":"UTC"}'),
];

test.each(["0", "1"])("parallel calls with the same id %j are distinguished by index", (id) => {
  const { calls, repairs } = assemble([
    { index: 0, id, name: "get_weather", args: '{"city":' },
    { index: 1, id, name: "get_time", args: '{"zone":' },
    { index: 0, args: '"Paris"}' },
    { index: 1, args: '"UTC"}' },
  ]);
  expect(calls).toEqual(twoCalls);
  expect(repairs.list).toEqual([
    { code: "call_id_generated", choice: 0, detail: id },
    { code: "call_id_generated", choice: 0, detail: id },
  ]);
});

test("a valid id that two calls share stays with the first one", () => {
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

test("calls are distinguished if every fragment has both the shared id and its index", () => {
  const { calls } = assemble([
    { index: 0, id: "0", name: "get_weather", args: '{"city":' },
    { index: 1, id: "0", name: "get_time", args: '{"zone":' },
    { index: 0, id: "0", args: '"Paris"}' },
    { index: 1, id: "0", args: '"UTC"}' },
  ]);
  expect(calls).toEqual(twoCalls);
});

test.each(["", "  "])("the blank index %j is treated as missing, not as 0", (index) => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' },
    { index: 1, id: "call_bbb", name: "get_time", args: '{"zone":' },
    { index, args: '"UTC"}' },
  ]);
  expect(calls).toEqual([
    closedCall("call_aaa", "get_weather", '{"city":"Paris"}'),
    closedCall("call_bbb", "get_time", '{"zone":"UTC"}'),
  ]);
});

test("three consecutive calls with the same id are distinguished", () => {
  const { calls } = assemble([
    { index: 0, id: "0", name: "get_weather", args: '{"city":"Paris"}' },
    { index: 1, id: "0", name: "get_time", args: '{"zone":"UTC"}' },
    { index: 2, id: "0", name: "health", args: '{"all":' },
    { index: 2, id: "0", args: "true}" },
  ]);
  expect(calls).toEqual([...twoCalls, closedCall("call_minted_3", "health", '{"all":true}')]);
});

test("a split name is joined even if another call comes in between", () => {
  const { calls, openNamesByFragment } = assemble([
    { index: 0, id: "call_aaa", name: "get_" },
    { index: 1, id: "call_bbb", name: "health", args: "{}" },
    { index: 0, name: "weather", args: '{"city":"Paris"}' },
  ]);
  expect(calls).toEqual([
    closedCall("call_aaa", "get_weather", '{"city":"Paris"}'),
    closedCall("call_bbb", "health", "{}"),
  ]);
  expect(openNamesByFragment[0]).toEqual([]);
  expect(openNamesByFragment[1]).not.toContain("get_");
});

test("a call with a partial name opens at its first arguments", () => {
  const { openNamesByFragment } = assemble([
    { index: 0, id: "call_aaa", name: "get_" },
    { index: 1, id: "call_bbb", name: "health", args: '{"all":true}' },
    { index: 0, args: '{"city":"Paris"}' },
  ]);
  expect(openNamesByFragment).toEqual([[], ["health"], ["health", "get_"]]);
});

test("a call with a partial name and no arguments opens at the end", () => {
  const { events, output } = translateToResponses([
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
    "at the same index, before the arguments end",
    [
      { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
      { index: 0, name: "get_time", args: '"Paris"}' },
    ],
  ],
  [
    "with the same id, before the arguments end",
    [
      { id: "call_aaa", name: "get_weather", args: '{"city":' },
      { id: "call_aaa", name: "get_time", args: '"Paris"}' },
    ],
  ],
  [
    "before the first arguments",
    [
      { index: 0, id: "call_aaa", name: "get_weather" },
      { index: 0, name: "get_time" },
      { index: 0, args: '{"city":"Paris"}' },
    ],
  ],
])(
  "a call that also gets the name of another declared tool is incomplete: %s",
  (_title, fragments) => {
    const { calls, repairs } = assemble(fragments);
    expect(calls).toEqual([
      { id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}', isComplete: false },
    ]);
    expect(repairs.list).toEqual([{ code: "call_name_ignored", choice: 0, detail: "get_time" }]);
  },
);

test("an undeclared second name is ignored", () => {
  const { calls } = assemble([
    { index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' },
    { index: 0, name: "weather_tool", args: '"Paris"}' },
  ]);
  expect(calls).toEqual([closedCall("call_aaa", "get_weather", '{"city":"Paris"}')]);
});

test("a custom call that also gets the name of another tool is incomplete", () => {
  const { output } = translateToResponses([
    chunk(call({ index: 0, id: "call_aaa", name: "write_patch" })),
    chunk(call({ index: 0, name: "health" })),
    chunk(call({ index: 0, args: '{"input":"*** Begin"}' })),
    chunk({}, "tool_calls"),
    "[DONE]",
  ]);
  expect(output).toMatchObject([{ type: "custom_tool_call", status: "incomplete" }]);
});
