/** Values of a wrong type, for any field. */
const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  "",
  "x",
  " ",
  "\u0000",
  "\ud800",
  "[DONE]",
  [],
  {},
  [null],
  [[]],
  [{}],
  [1, "x", null, {}],
  { length: 5 },
  { toJSON: 1, toString: 2, valueOf: 3 },
  { "0": "x" },
];

/** JSON that JavaScript cannot hold as a value: put into a text in place of `oddPlace`. */
const oddPlace = "in place of this";

export const oddJsonTexts: readonly string[] = [
  "1e999",
  "-1e999",
  "-0",
  "123456789012345678901234567890",
  '{"__proto__":{"x":1}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"a":1,"a":2}',
  `${"[".repeat(3000)}${"]".repeat(3000)}`,
  `${'{"a":'.repeat(3000)}1${"}".repeat(3000)}`,
  `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
];

/** How many ways there are to write one field wrongly. */
export const oddities = oddValues.length + oddJsonTexts.length;

/** JSON in which the field that `build` is given has the so-manieth odd value. */
export function withOddity(at: number, build: (value: unknown) => unknown): string {
  if (at < oddValues.length) return JSON.stringify(build(oddValues[at]));
  const text = oddJsonTexts[at - oddValues.length] ?? "null";
  return JSON.stringify(build(oddPlace)).replace(JSON.stringify(oddPlace), () => text);
}
