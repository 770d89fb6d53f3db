import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slowdown, workTime } from "../../../test/work-time.ts";
import {
  compileLinear,
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

/** V8 tries `\B` and lookarounds in the middle of a pair of surrogates, which the specification does not. */
const seesHalves = /\\B|\(\?<?[=!]/;

test("it finds what RegExp finds, for every pattern and text", () => {
  let compared = 0;
  fc.assert(
    fc.property(
      pattern,
      fc.constantFrom("", "u", "m", "mu", "i", "iu", "su"),
      text,
      (source, flags, any) => {
        let native: RegExp;
        try {
          native = new RegExp(source, `${flags}g`);
        } catch {
          return; // two groups of one name, for one
        }
        let linear: LinearPattern;
        try {
          linear = new LinearPattern(source, flags);
        } catch (error) {
          if (error instanceof PatternTooLargeError) return;
          throw error;
        }
        const words = seesHalves.test(source) ? any.replaceAll("😀", "") : any;
        expect(linear.test(words)).toBe(new RegExp(source, flags).test(words));
        if (linear.canBeEmpty) return;
        const expected = Array.from(words.matchAll(native), ({ 0: found, index }) => [
          index,
          index + found.length,
        ]);
        expect(linear.findAll(words)).toEqual(expected.flat());
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
])("%s in %j", (source, words, expected) => {
  const spans = compileLinear(source, "m").findAll(words);
  const found = spans.flatMap((start, at) =>
    at % 2 === 0 ? [words.slice(start, spans[at + 1])] : [],
  );
  expect(found).toEqual(expected);
});

describe("the time of a search", () => {
  test.each([
    ["a.*b|a", "a"],
    ["(?:a|b|ab)*c", "ab"],
    ["(?<=a+)b|(?=a*c)a", "a"],
    ["\\b(\\w+\\s?)+$", "a "],
  ])("grows with the length of the text: %s", (source, unit) => {
    const linear = compileLinear(source, "m");
    const whole = unit.repeat(400_000 / unit.length);
    const eighth = whole.slice(0, whole.length / 8);
    expect(
      slowdown(
        () => linear.findAll(eighth),
        () => linear.findAll(whole),
      ),
    ).toBeLessThan(4);
  });

  test("has a limit that depends on pattern and text alone", () => {
    const linear = compileLinear(statefulPattern, "m");
    const attempt = (): void => {
      expect(() => linear.findAll(statefulText)).toThrow(SearchTooComplexError);
    };
    expect(workTime(attempt)).toBeLessThan(600);
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
])("%s is refused", (source, kind) => {
  expect(workTime(() => expect(() => compileLinear(source, "m")).toThrow(kind))).toBeLessThan(200);
});

test("escapes that need the flag u are not taken for letters where the pattern is valid without it only", () => {
  for (const source of ["\\p{Lu}{2}\\-\\d", "\\P{L}]", "\\u{1F600}]"])
    expect(() => compileLinear(source, "m")).toThrow(SyntaxError);
  expect(compileLinear("\\\\p\\{1}]", "m").findAll("\\p{1}]")).toEqual([0, 6]);
  expect(compileLinear("\\d\\-\\d", "m").findAll("1-2")).toEqual([0, 3]);
});

test("flags that would change what is found are refused", () => {
  for (const flags of ["y", "v", "gm", "d"])
    expect(() => new LinearPattern("a", flags)).toThrow(UnsupportedPatternError);
});

test("a search has a limit of memory", () => {
  // Many states, each with a transition for every class and every combination of six assertions.
  const classes = Array.from({ length: 60 }, (_, at) => String.fromCodePoint(0x4e00 + at));
  const source = `(?:[ab]{14}a[ab${classes.join("")}]*|${classes.join("|")}|\\bq|q\\B|^q|q$|(?=q)q|(?<=q)q)x`;
  const letters = Array.from({ length: 400_000 }, (_, at) =>
    Math.sin(at * at) > 0 ? "a" : Math.sin(at) > 0.95 ? (classes[at % 60] ?? "b") : "b",
  )
    .join("")
    .concat("x");
  const before = process.memoryUsage().arrayBuffers;
  const linear = compileLinear(source, "m");
  expect(() => linear.findAll(letters)).toThrow(SearchTooComplexError);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
});
