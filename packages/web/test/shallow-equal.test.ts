import { expect, test } from "vitest";
import { shallowEqual } from "../src/shallow-equal.ts";

const member = {};

test.each([
  [1, 1],
  [Number.NaN, Number.NaN],
  [
    [member, 1],
    [member, 1],
  ],
  [
    { a: member, b: undefined },
    { b: undefined, a: member },
  ],
])("%o equals %o", (one, other) => {
  expect(shallowEqual(one, other)).toBe(true);
});

test.each([
  [1, 2],
  [undefined, null],
  [null, {}],
  [[], {}],
  [[member], [{}]],
  [[1], [1, 2]],
  [{ a: undefined }, { b: undefined }],
  [{ a: [] }, { a: [] }],
])("%o does not equal %o", (one, other) => {
  expect(shallowEqual(one, other)).toBe(false);
  expect(shallowEqual(other, one)).toBe(false);
});
