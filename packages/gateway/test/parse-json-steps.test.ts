import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { parseJsonSteps } from "../src/http/parse-json-steps.ts";

function parse(text: string): unknown {
  const steps = parseJsonSteps(text);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

test("the value is the one that JSON.parse gives, however the text is spaced", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom(undefined, 1, "\t"), (json, space) => {
      const text = JSON.stringify(JSON.parse(json), undefined, space);
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
    runs(300),
  );
});

test.each([
  '{"__proto__": {"a": 1}, "b": "\\"\\\\", "c": [], "d": {}}',
  ' [1, -2.5e3, true, false, null, "", "a\\\\\\"]"] ',
  '[[[[[[[["deep, {and} [more]"]]]]]]]]',
  '"text"',
  "0",
])("%s is read", (text) => {
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
])("%j is no JSON", (text) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  expect(() => parse(text)).toThrow(SyntaxError);
});

test("steps are short, and a piece with too many values is refused", () => {
  const many = `{"a":[${Array.from({ length: 20_000 }, (_, nth) => `{"k${nth}":"v"}`).join(",")}]}`;
  expect([...parseJsonSteps(many)].length).toBeGreaterThan(3);
  const deep = `[[[[[${many.repeat(40).replaceAll("}{", "},{")}]]]]]`;
  expect(() => parse(deep.replace('{"a"', '[{"a"').replace(/\]\]\]\]\]$/, "]]]]]]"))).toThrow(
    "has more than 250000 JSON values",
  );
});
