import {
  isComplete,
  mergeDelta,
  type ChatToolCallDelta,
  type GrowingToolCall,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { workTime } from "../../../test/work-time.ts";

const said = (id?: string, name?: string, args?: unknown) =>
  ({ id, function: { name, arguments: args } }) as ChatToolCallDelta;

function merge(deltas: ChatToolCallDelta[], toolNames?: ReadonlySet<string>) {
  let call: GrowingToolCall | undefined;
  for (const delta of deltas) call = mergeDelta(call, delta, toolNames);
  if (call === undefined) throw new Error("no delta");
  const { id, name, type, arguments: args } = call;
  return { id, name, type, args, complete: isComplete(call) };
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
    "increments",
    [
      said("call_1", "get_weather", ""),
      said("", "", '{"city":'),
      said(undefined, undefined, '"Paris"}'),
    ],
  ],
  [
    "the first id and name win",
    [said("call_1", "get_weather", '{"city":'), said("call_2", "get_time", '"Paris"}')],
  ],
  ["also where they come last", [said("", "", '{"city":"Paris"}'), said("call_1", "get_weather")]],
  [
    "snapshots",
    [
      said("call_1", "get_weather", '{"ci'),
      said("", "", '{"city":"Pa'),
      said("", "", '{"city":"Paris"}'),
    ],
  ],
  [
    "the whole once more",
    [said("call_1", "get_weather", '{"city":"Paris"}'), said("", "", '{"city":"Paris"}')],
  ],
  ["a placeholder", [said("call_1", "get_weather", "{}"), said("", "", '{"city":"Paris"}')]],
  ["an object", [said("call_1", "get_weather", { city: "Paris" })]],
  ["a brace too many", [said("call_1", "get_weather", '{"city":"Paris"}}')]],
  ["null for absent", [said("null", "None"), said("call_1", "get_weather", '{"city":"Paris"}')]],
])("%s", (_title, deltas) => {
  expect(merge(deltas)).toEqual(weather);
});

test("an increment that looks like a snapshot is told apart by what follows", () => {
  const deltas = [said("call_1", "x", '{"a":'), said("", "", '{"a":1}')];
  expect(merge(deltas)).toMatchObject({ args: '{"a":1}', complete: true });
  expect(merge([...deltas, said("", "", "}")])).toMatchObject({
    args: '{"a":{"a":1}}',
    complete: true,
  });
});

test("a name in pieces is joined towards a tool that was offered", () => {
  const pieces = [said("call_1", "get_"), said("", "weather", '{"city":"Paris"}')];
  expect(merge(pieces, new Set(["get_weather"]))).toEqual(weather);
  expect(merge(pieces)).toMatchObject({ name: "get_" });
});

test.each([
  ["no id", [said("", "get_weather", "{}")]],
  ["no name", [said("call_1", "", "{}")]],
  ["id and name alone, which document 001 takes for all", [said("call_1", "get_weather", "")]],
  ["half of the arguments", [said("call_1", "get_weather", '{"city":')]],
  ["arguments that are no object", [said("call_1", "get_weather", "[1]")]],
  ["two objects, which are two calls", [said("call_1", "get_weather", '{"a":1}{"a":2}')]],
])("a call is not complete with %s", (_title, deltas) => {
  expect(merge(deltas).complete).toBe(false);
});

test("a custom call is complete with its input", () => {
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

test("asking changes nothing, and wherever arguments are cut they join to the same", () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
  fc.assert(
    fc.property(value, fc.array(fc.nat(20)), (object, lengths) => {
      const text = JSON.stringify(object);
      let call = mergeDelta(undefined, said("call_1", "x"));
      let at = 0;
      for (const length of [...lengths, text.length]) {
        call = mergeDelta(call, said("", "", text.slice(at, (at += length))));
        expect(isComplete(call)).toBe(at >= text.length);
      }
      expect(call.arguments).toBe(text);
    }),
    runs(300),
  );
});

test("a call for which two tools were named is not complete, and a call can be stored as JSON", () => {
  const names = new Set(["f", "g"]);
  const first = mergeDelta(
    undefined,
    { id: "call_1", function: { name: "f", arguments: "{}" } },
    names,
  );
  expect(JSON.parse(JSON.stringify(first))).toEqual({
    id: "call_1",
    type: "function",
    function: { name: "f", arguments: "{}" },
  });
  expect(isComplete(first)).toBe(true);
  expect(isComplete(mergeDelta(first, { function: { name: "g" } }, names))).toBe(false);
});

test("asking after every delta stays cheap as the arguments grow", () => {
  const delta = { function: { arguments: "x".repeat(16) } };
  let call = mergeDelta(undefined, { id: "call_1", function: { name: "f", arguments: '{"a":"' } });
  let complete = 0;
  const took = workTime(() => {
    for (let nth = 0; nth < 16_000; nth += 1) {
      call = mergeDelta(call, delta);
      complete += isComplete(call) ? 1 : 0;
    }
  });
  expect(complete).toBe(0);
  // It took 5 s when every question parsed the whole; now it is a fraction of a second on any machine.
  expect(took).toBeLessThan(2500);
});
