import { expect, test } from "vitest";
import { isSame } from "../src/same.ts";

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
])("%o is the same as %o", (one, other) => {
  expect(isSame(one, other)).toBe(true);
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
])("%o is not the same as %o", (one, other) => {
  expect(isSame(one, other)).toBe(false);
  expect(isSame(other, one)).toBe(false);
});
