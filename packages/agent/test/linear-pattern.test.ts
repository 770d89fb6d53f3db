import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureSlowdown, measureCpuTime } from "../../../test/cpu-time.ts";
import {
  compileLinearPattern,
  LinearPattern,
  PatternTooLargeError,
  SearchTooComplexError,
  UnsupportedPatternError,
} from "../src/patterns/linear-pattern.ts";
import { statefulPattern, statefulText } from "./privacy/stateful-pattern.ts";

const atoms = "a b c A 1 é 😀 - \\d \\w \\s \\p{L} . [ab] [^a] [\\]x-] \\x61 \\b \\B ^ $ \\n".split(
  " ",
);
const pattern = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(...atoms),
    fc.tuple(tie("node"), tie("node")).map((parts) => parts.join("")),
    fc.tuple(tie("node"), tie("node")).map((options) => `(?:${options.join("|")})`),
    fc
      .tuple(
        tie("node"),
        fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,3}?"),
      )
      .map(([body, times]) => `(${body})${times}`),
    fc
      .tuple(fc.constantFrom("?=", "?!", "?<=", "?<!", "?s:", "?m:", "?-m:", "?<n>"), tie("node"))
      .map(([kind, body]) => `(${kind}${body})`),
  ),
})).node;
const text = fc.string({
  unit: fc.constantFrom(...Array.from("abcA12 \n\ré😀-x\u2028")),
  maxLength: 16,
});

/** Unlike the specification, V8 tries `\B` and lookarounds in the middle of a surrogate pair. */
const matchesInSurrogatePairs = /\\B|\(\?<?[=!]/;

test("a linear search finds the same matches as RegExp, for every pattern and text", () => {
  let compared = 0;
  fc.assert(
    fc.property(
      pattern,
      fc.constantFrom("", "u", "m", "mu", "i", "iu", "su"),
      text,
      (source, flags, generatedText) => {
        let native: RegExp;
        try {
          native = new RegExp(source, `${flags}g`);
        } catch {
          return; // an invalid pattern, for example with two groups of the same name
        }
        let linear: LinearPattern;
        try {
          linear = new LinearPattern(source, flags);
        } catch (error) {
          if (error instanceof PatternTooLargeError) return;
          throw error;
        }
        const searchedText = matchesInSurrogatePairs.test(source)
          ? generatedText.replaceAll("😀", "")
          : generatedText;
        expect(linear.test(searchedText)).toBe(new RegExp(source, flags).test(searchedText));
        if (linear.matchesEmpty) return;
        const expected = Array.from(searchedText.matchAll(native), ({ 0: found, index }) => [
          index,
          index + found.length,
        ]);
        expect(linear.findAll(searchedText)).toEqual(expected.flat());
        compared += 1;
      },
    ),
    { numRuns: 5000 },
  );
  expect(compared).toBeGreaterThan(500);
});

test.each([
  ["(?<=user=)\\w+", "user=ada, user=bob", ["ada", "bob"]],
  ["(?i:acme) corp", "ACME corp, acme Corp", ["ACME corp"]],
  ["a.*?b|a", "a-b-b a", ["a-b", "a"]],
  ["^Name: .+$", "x\nName: Ada\ny", ["Name: Ada"]],
  ["a]b{c}", "a]b{c}", ["a]b{c}"]],
  ["[^]b", "ab\nb", ["ab", "\nb"]],
  ["\\u{1F600}+|\\uD83D\\uDE01", "x😀😀😁", ["😀😀", "😁"]],
  ["(?:|a)+b", "aab", ["aab"]],
])("%s matches in %j: %j", (source, searchedText, expected) => {
  const spans = compileLinearPattern(source, "m").findAll(searchedText);
  const found = spans.flatMap((start, index) =>
    index % 2 === 0 ? [searchedText.slice(start, spans[index + 1])] : [],
  );
  expect(found).toEqual(expected);
});

describe("the time of a search", () => {
  test.each([
    ["a.*b|a", "a"],
    ["(?:a|b|ab)*c", "ab"],
    ["(?<=a+)b|(?=a*c)a", "a"],
    ["\\b(\\w+\\s?)+$", "a "],
  ])("is linear in the length of the text: %s", (source, unit) => {
    const linear = compileLinearPattern(source, "m");
    const complete = unit.repeat(400_000 / unit.length);
    const eighth = complete.slice(0, complete.length / 8);
    expect(
      measureSlowdown(
        () => linear.findAll(eighth),
        () => linear.findAll(complete),
      ),
    ).toBeLessThan(4);
  });

  test("is limited, and an earlier failure does not affect the next search", () => {
    const linear = compileLinearPattern(statefulPattern, "m");
    const attempt = (): void => {
      expect(() => linear.findAll(statefulText)).toThrow(SearchTooComplexError);
    };
    expect(measureCpuTime(attempt)).toBeLessThan(600);
    attempt();
    expect(linear.findAll(`${"ab".repeat(300)}x!`)).toEqual([0, 602]);
  });
});

test.each([
  ["((a{60}){60}){2}", PatternTooLargeError],
  [`(?:${"a?".repeat(120)}){8}`, PatternTooLargeError],
  ["\\ba|b\\B|^c|d$|(?=e)e|(?<=f)f|(?!g)h", PatternTooLargeError],
  ["((a{1000}){1000}){1000}", PatternTooLargeError],
  ["((a?){1000}){1000}", PatternTooLargeError],
  ["((){1000}){1000}(((\\b){1000}){1000}){1000}a{5001}", PatternTooLargeError],
  [`${"(".repeat(24)}\\b${")+".repeat(24)}a`, PatternTooLargeError],
  [`${"(".repeat(24)}^${"){1,2}?".repeat(24)}a`, PatternTooLargeError],
  [`(?:a(?:${"|".repeat(400)})){4000}`, PatternTooLargeError],
  [`${"(?=a{2000}".repeat(3)}${")".repeat(3)}a`, PatternTooLargeError],
  [`${"(?=a".repeat(7)}${")".repeat(7)}a`, PatternTooLargeError],
  ["(.)\\1", UnsupportedPatternError],
  ["(", SyntaxError],
])("%s is rejected", (source, kind) => {
  expect(
    measureCpuTime(() => expect(() => compileLinearPattern(source, "m")).toThrow(kind)),
  ).toBeLessThan(200);
});

test("escapes that need the flag u are rejected without it", () => {
  for (const source of ["\\p{Lu}{2}\\-\\d", "\\P{L}]", "\\u{1F600}]"])
    expect(() => compileLinearPattern(source, "m")).toThrow(SyntaxError);
  expect(compileLinearPattern("\\\\p\\{1}]", "m").findAll("\\p{1}]")).toEqual([0, 6]);
  expect(compileLinearPattern("\\d\\-\\d", "m").findAll("1-2")).toEqual([0, 3]);
});

test("unsupported flags are rejected", () => {
  for (const flags of ["y", "v", "gm", "d"])
    expect(() => new LinearPattern("a", flags)).toThrow(UnsupportedPatternError);
});

test("a search has a memory limit", () => {
  // Many states, each with a transition for every class and every combination of six assertions.
  const classes = Array.from({ length: 60 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  const source = `(?:[ab]{14}a[ab${classes.join("")}]*|${classes.join("|")}|\\bq|q\\B|^q|q$|(?=q)q|(?<=q)q)x`;
  const searchedText = Array.from({ length: 400_000 }, (_, index) =>
    Math.sin(index * index) > 0 ? "a" : Math.sin(index) > 0.95 ? (classes[index % 60] ?? "b") : "b",
  )
    .join("")
    .concat("x");
  const before = process.memoryUsage().arrayBuffers;
  const linear = compileLinearPattern(source, "m");
  expect(() => linear.findAll(searchedText)).toThrow(SearchTooComplexError);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
});
