import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutMarks } from "../../src/chats/without-marks.ts";

test.each([
  ["I am a **demo**: *really* `short` and ***loud***.", "I am a demo: really short and loud."],
  ["See [the page](https://example.com/a) and ![a cat](cat.png).", "See the page and a cat."],
  ["It is sunny [^1][^2].", "It is sunny."],
  ["# Title\n\n> quoted\n\n- one\n- [x] two", "Title\n\nquoted\n\none\ntwo"],
  ["| a | b |\n| --- | :-: |\n| 1 | **2** |", "a · b\n1 · 2"],
  ["```ts\nconst one = 1;\n```", "const one = 1;"],
  ["One\n\n---\n\nTwo", "One\n\n\nTwo"],
  ["~~old~~ new", "old new"],
])("%j is read as %j", (markdown, words) => {
  expect(withoutMarks(markdown)).toBe(words);
});

test.each(["2 * 3 * 4", "a < b > c", "snake_case_name", "5 | 6", "-", "#hashtag", "a ** b", "**"])(
  "%j is left as it is",
  (text) => {
    expect(withoutMarks(text)).toBe(text);
  },
);

const marks = [
  "a",
  "b",
  " ",
  "*",
  "`",
  "|",
  ">",
  "#",
  "-",
  "[",
  "]",
  "(",
  ")",
  "^",
  "1",
  "~",
  "\n",
];

test("nothing is said that was not there, and a long line of marks takes no time", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...marks)), (parts) => {
      const text = parts.join("");
      const letters = (from: string) => from.replaceAll(/[^ab]/g, "");
      expect(letters(withoutMarks(text)).length).toBeLessThanOrEqual(letters(text).length);
    }),
  );
  const before = performance.now();
  for (const mark of ["*", "**a", "`", "[", "[a](", "> ", "| ", "~~a", "- "])
    withoutMarks(mark.repeat(1000));
  expect(performance.now() - before).toBeLessThan(500);
});
