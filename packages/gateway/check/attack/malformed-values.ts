/** Values of a wrong type, for any field. */
const malformedValues: readonly unknown[] = [
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

/** JSON that no JavaScript value can represent: inserted into a text in place of `placeholder`. */
const placeholder = "in place of this";

export const malformedJsonTexts: readonly string[] = [
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

/** Number of malformed values for one field. */
export const malformedCount = malformedValues.length + malformedJsonTexts.length;

/** Returns JSON in which the field that `build` sets has the malformed value at `index`. */
export function withMalformed(index: number, build: (value: unknown) => unknown): string {
  if (index < malformedValues.length) return JSON.stringify(build(malformedValues[index]));
  const text = malformedJsonTexts[index - malformedValues.length] ?? "null";
  return JSON.stringify(build(placeholder)).replace(JSON.stringify(placeholder), () => text);
}
