import type { UpstreamChatEvent } from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk } from "./chat-chunks.ts";
import {
  getChoices,
  getRepairDetails,
  translateToChat,
  translateToResponses,
} from "./translate-reply.ts";

/** Creates the chunks of one `get_weather` call with these argument fragments. */
function createChunks(args: readonly unknown[], finish: string) {
  const [first, ...rest] = args;
  return [
    chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: first })),
    ...rest.map((fragment) => chunk(call({ index: 0, args: fragment }))),
    chunk({}, finish),
    "[DONE]" as const,
  ];
}

function translateCalls(args: readonly unknown[], finish = "tool_calls") {
  const { output, repairs } = translateToResponses(createChunks(args, finish));
  const calls = output.flatMap((item) =>
    item.type === "function_call" ? [{ status: item.status, arguments: item.arguments }] : [],
  );
  return { calls, codes: [...repairs.counts.keys()], repairs };
}

/** Returns the joined argument deltas that a Chat client receives. */
function joinChatDeltas(args: readonly unknown[], finish: string): string {
  const deltas = getChoices(translateToChat(createChunks(args, finish)).out).flatMap(
    (choice) => choice.delta?.tool_calls ?? [],
  );
  const texts = deltas.map((delta) => delta.function?.arguments);
  return texts.filter((text) => typeof text === "string").join("");
}

test.each([
  [['{"city":"Paris"}', '{"city":"To']],
  [['{"city":"Paris"}', " and so on"]],
  [['{"city":"Paris"}{"city":"Tokyo"}']],
  [['{"city":', '{"city":"Paris"}', "}"]],
  [['{"city":"Pa']],
  [["{"]],
])("a truncated call keeps all received text: %j", (args) => {
  const received = args.join("");
  const { calls } = translateCalls(args, "length");
  expect(calls).toEqual([{ status: "incomplete", arguments: received }]);
  expect(joinChatDeltas(args, "length")).toBe(received);
});

test("a call keeps all received text if the connection breaks", () => {
  const [opening, continuation] = createChunks(['{"city":"Paris"}', '{"city":"To'], "length");
  const { output } = translateToResponses([opening, continuation] as UpstreamChatEvent[]);
  expect(output).toMatchObject([
    { status: "incomplete", arguments: '{"city":"Paris"}{"city":"To' },
  ]);
});

test("arguments are incomplete if a fragment looked like a snapshot and more follows", () => {
  // An extra closing brace is usually dropped. Here it shows that the previous fragment was not a snapshot.
  const { calls } = translateCalls(['{"a":', '{"a":1}', '{"a":1}}']);
  expect(calls.map(({ status }) => status)).toEqual(["incomplete"]);
});

test("null before an object is dropped", () => {
  const { calls, codes } = translateCalls(["null", '{"city":"Paris"}']);
  expect(calls).toEqual([{ status: "completed", arguments: '{"city":"Paris"}' }]);
  expect(codes).toEqual(["arguments_placeholder"]);
});

test("objects that grow from fragment to fragment are one call with the last object", () => {
  const { calls, repairs } = translateCalls([
    { city: "Paris" },
    { city: "Paris", unit: "C" },
    { city: "Paris", unit: "C", days: 3 },
  ]);
  expect(calls).toEqual([
    { status: "completed", arguments: '{"city":"Paris","unit":"C","days":3}' },
  ]);
  expect(getRepairDetails(repairs, "arguments_object")[0]).toBe('{"city":"Paris"}');
});

test("objects with different keys are two calls", () => {
  const { calls } = translateCalls([{ city: "Paris" }, { zone: "UTC" }]);
  expect(calls).toEqual([
    { status: "completed", arguments: '{"city":"Paris"}' },
    { status: "completed", arguments: '{"zone":"UTC"}' },
  ]);
});

test("arguments that are a number are sent as text", () => {
  const { calls, repairs } = translateCalls([5]);
  expect(calls.map((entry) => entry.arguments)).toEqual(["5"]);
  expect(getRepairDetails(repairs, "arguments_object")).toEqual(["5"]);
  expect(joinChatDeltas([5], "tool_calls")).toBe("5");
});
