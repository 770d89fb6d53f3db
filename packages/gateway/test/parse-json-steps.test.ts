import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { parseJsonSteps } from "../src/http/parse-json-steps.ts";

function parse(text: string): unknown {
  const steps = parseJsonSteps(text);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

test("parsing in steps returns the same as JSON.parse, with any whitespace", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom(undefined, 1, "\t"), (json, space) => {
      const text = JSON.stringify(JSON.parse(json), undefined, space);
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
    propertyRuns(300),
  );
});

test.each([
  '{"__proto__": {"a": 1}, "b": "\\"\\\\", "c": [], "d": {}}',
  ' [1, -2.5e3, true, false, null, "", "a\\\\\\"]"] ',
  '[[[[[[[["deep, {and} [more]"]]]]]]]]',
  '"text"',
  "0",
])("%s is parsed in steps", (text) => {
  expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
});

test.each([
  "",
  " ",
  "{",
  "[",
  "[1,]",
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  "{a:1}",
  "[1 2]",
  "[1]]",
  '["a',
  "[01]",
  "[nul]",
  '{"a":1 "b":2}',
  "[\u00a01]",
])("%j is not valid JSON", (text) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  expect(() => parse(text)).toThrow(SyntaxError);
});

test("each step is short, and a deep value with too many values is rejected", () => {
  const many = `{"a":[${Array.from({ length: 20_000 }, (_, nth) => `{"k${nth}":"v"}`).join(",")}]}`;
  expect([...parseJsonSteps(many)].length).toBeGreaterThan(3);
  const deep = `[[[[[${many.repeat(40).replaceAll("}{", "},{")}]]]]]`;
  expect(() => parse(deep.replace('{"a"', '[{"a"').replace(/\]\]\]\]\]$/, "]]]]]]"))).toThrow(
    "has more than 250000 JSON values",
  );
});
