import {
  isToolCallComplete,
  mergeToolCallDelta,
  type ChatToolCallDelta,
  type ToolCallAccumulator,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { measureCpuTime } from "../../../test/cpu-time.ts";

const delta = (id?: string, name?: string, args?: unknown) =>
  ({ id, function: { name, arguments: args } }) as ChatToolCallDelta;

function merge(deltas: ChatToolCallDelta[], toolNames?: ReadonlySet<string>) {
  let call: ToolCallAccumulator | undefined;
  for (const each of deltas) call = mergeToolCallDelta(call, each, toolNames);
  if (call === undefined) throw new Error("no delta");
  const { id, name, type, arguments: args } = call;
  return { id, name, type, args, complete: isToolCallComplete(call) };
}

const weather = {
  id: "call_1",
  name: "get_weather",
  type: "function",
  args: '{"city":"Paris"}',
  complete: true,
};

test.each([
  [
    "increments are joined",
    [
      delta("call_1", "get_weather", ""),
      delta("", "", '{"city":'),
      delta(undefined, undefined, '"Paris"}'),
    ],
  ],
  [
    "the first id and name are used",
    [delta("call_1", "get_weather", '{"city":'), delta("call_2", "get_time", '"Paris"}')],
  ],
  [
    "the id and name may arrive after the arguments",
    [delta("", "", '{"city":"Paris"}'), delta("call_1", "get_weather")],
  ],
  [
    "the last of several snapshots is used",
    [
      delta("call_1", "get_weather", '{"ci'),
      delta("", "", '{"city":"Pa'),
      delta("", "", '{"city":"Paris"}'),
    ],
  ],
  [
    "complete arguments that are repeated count once",
    [delta("call_1", "get_weather", '{"city":"Paris"}'), delta("", "", '{"city":"Paris"}')],
  ],
  [
    "a {} before the arguments is dropped",
    [delta("call_1", "get_weather", "{}"), delta("", "", '{"city":"Paris"}')],
  ],
  [
    "arguments that are an object are converted to JSON",
    [delta("call_1", "get_weather", { city: "Paris" })],
  ],
  ["an extra closing brace is dropped", [delta("call_1", "get_weather", '{"city":"Paris"}}')]],
  [
    "the words null and None count as absent",
    [delta("null", "None"), delta("call_1", "get_weather", '{"city":"Paris"}')],
  ],
])("%s", (_title, deltas) => {
  expect(merge(deltas)).toEqual(weather);
});

test("a fragment that could be an increment or a snapshot is resolved by the next fragment", () => {
  const deltas = [delta("call_1", "x", '{"a":'), delta("", "", '{"a":1}')];
  expect(merge(deltas)).toMatchObject({ args: '{"a":1}', complete: true });
  expect(merge([...deltas, delta("", "", "}")])).toMatchObject({
    args: '{"a":{"a":1}}',
    complete: true,
  });
});

test("a split name is joined to the name of a declared tool", () => {
  const pieces = [delta("call_1", "get_"), delta("", "weather", '{"city":"Paris"}')];
  expect(merge(pieces, new Set(["get_weather"]))).toEqual(weather);
  expect(merge(pieces)).toMatchObject({ name: "get_" });
});

test.each([
  ["without an id", [delta("", "get_weather", "{}")]],
  ["without a name", [delta("call_1", "", "{}")]],
  ["with only id and name", [delta("call_1", "get_weather", "")]],
  ["with truncated arguments", [delta("call_1", "get_weather", '{"city":')]],
  ["with arguments that are not an object", [delta("call_1", "get_weather", "[1]")]],
  [
    "with two objects as arguments, which are two calls",
    [delta("call_1", "get_weather", '{"a":1}{"a":2}')],
  ],
])("a call is not complete %s", (_title, deltas) => {
  expect(merge(deltas).complete).toBe(false);
});

test("a custom call is complete if it has input", () => {
  const custom = (input: string) => ({ id: "call_1", custom: { name: "sh", input } });
  expect(merge([custom("l"), custom("s")])).toEqual({
    id: "call_1",
    name: "sh",
    type: "custom",
    args: "ls",
    complete: true,
  });
  expect(merge([custom("")]).complete).toBe(false);
});

test("checking for completeness does not change a call, and its arguments do not depend on splits", () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
  fc.assert(
    fc.property(value, fc.array(fc.nat(20)), (object, lengths) => {
      const text = JSON.stringify(object);
      let call = mergeToolCallDelta(undefined, delta("call_1", "x"));
      let at = 0;
      for (const length of [...lengths, text.length]) {
        call = mergeToolCallDelta(call, delta("", "", text.slice(at, (at += length))));
        expect(isToolCallComplete(call)).toBe(at >= text.length);
      }
      expect(call.arguments).toBe(text);
    }),
    propertyRuns(300),
  );
});

test("a call with two tool names is incomplete, and a call can be converted to JSON and back", () => {
  const names = new Set(["f", "g"]);
  const first = mergeToolCallDelta(
    undefined,
    { id: "call_1", function: { name: "f", arguments: "{}" } },
    names,
  );
  expect(JSON.parse(JSON.stringify(first))).toEqual({
    id: "call_1",
    type: "function",
    function: { name: "f", arguments: "{}" },
  });
  expect(isToolCallComplete(first)).toBe(true);
  expect(isToolCallComplete(mergeToolCallDelta(first, { function: { name: "g" } }, names))).toBe(
    false,
  );
});

test("checking for completeness after every delta is fast for long arguments", () => {
  const fragment = { function: { arguments: "x".repeat(16) } };
  let call = mergeToolCallDelta(undefined, {
    id: "call_1",
    function: { name: "f", arguments: '{"a":"' },
  });
  let complete = 0;
  const milliseconds = measureCpuTime(() => {
    for (let index = 0; index < 16_000; index += 1) {
      call = mergeToolCallDelta(call, fragment);
      complete += isToolCallComplete(call) ? 1 : 0;
    }
  });
  expect(complete).toBe(0);
  // 5 s if every check parsed all arguments; now a fraction of a second.
  expect(milliseconds).toBeLessThan(2500);
});
