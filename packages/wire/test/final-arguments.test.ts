import type { ChatInput } from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk } from "./chat-stream.ts";
import { choicesIn, detailsOf, toChat, toResponses } from "./reply-translations.ts";

/** One call of `get_weather`, its arguments in these fragments. */
function chunksOf(args: readonly unknown[], finish: string) {
  const [first, ...rest] = args;
  return [
    chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: first })),
    ...rest.map((more) => chunk(call({ index: 0, args: more }))),
    chunk({}, finish),
    "[DONE]" as const,
  ];
}

function callsOf(args: readonly unknown[], finish = "tool_calls") {
  const { output, repairs } = toResponses(chunksOf(args, finish));
  const calls = output.flatMap((item) =>
    item.type === "function_call" ? [{ status: item.status, arguments: item.arguments }] : [],
  );
  return { calls, codes: [...repairs.counts.keys()], repairs };
}

/** The same call as a Chat client gets it, its deltas joined. */
function streamedTo(args: readonly unknown[], finish: string): string {
  const deltas = choicesIn(toChat(chunksOf(args, finish)).out).flatMap(
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
])("a call that was cut keeps all its words: %j", (args) => {
  const said = args.join("");
  const { calls } = callsOf(args, "length");
  expect(calls).toEqual([{ status: "incomplete", arguments: said }]);
  expect(streamedTo(args, "length")).toBe(said);
});

test("also where the connection broke", () => {
  const [opening, further] = chunksOf(['{"city":"Paris"}', '{"city":"To'], "length");
  const { output } = toResponses([opening, further] as ChatInput[]);
  expect(output).toMatchObject([
    { status: "incomplete", arguments: '{"city":"Paris"}{"city":"To' },
  ]);
});

test("what was taken for a snapshot, and has a tail, is not whole", () => {
  // A brace too many is dropped elsewhere; behind a guess it says that the guess was wrong.
  const { calls } = callsOf(['{"a":', '{"a":1}', '{"a":1}}']);
  expect(calls.map(({ status }) => status)).toEqual(["incomplete"]);
});

test("null and then an object is the object", () => {
  const { calls, codes } = callsOf(["null", '{"city":"Paris"}']);
  expect(calls).toEqual([{ status: "completed", arguments: '{"city":"Paris"}' }]);
  expect(codes).toEqual(["arguments_placeholder"]);
});

test("objects that grow are one call, with the last of them", () => {
  const { calls, repairs } = callsOf([
    { city: "Paris" },
    { city: "Paris", unit: "C" },
    { city: "Paris", unit: "C", days: 3 },
  ]);
  expect(calls).toEqual([
    { status: "completed", arguments: '{"city":"Paris","unit":"C","days":3}' },
  ]);
  expect(detailsOf(repairs, "arguments_object")[0]).toBe('{"city":"Paris"}');
});

test("objects that do not contain each other are two calls", () => {
  const { calls } = callsOf([{ city: "Paris" }, { zone: "UTC" }]);
  expect(calls).toEqual([
    { status: "completed", arguments: '{"city":"Paris"}' },
    { status: "completed", arguments: '{"zone":"UTC"}' },
  ]);
});

test("a number as arguments is kept as words", () => {
  const { calls, repairs } = callsOf([5]);
  expect(calls.map((each) => each.arguments)).toEqual(["5"]);
  expect(detailsOf(repairs, "arguments_object")).toEqual(["5"]);
  expect(streamedTo([5], "tool_calls")).toBe("5");
});
