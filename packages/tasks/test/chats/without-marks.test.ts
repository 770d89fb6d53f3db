import fc from "fast-check";
import { expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";
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
  ["Fish &amp; chips, 1 &lt; 2 &#124; **&quot;so&quot;**", 'Fish & chips, 1 < 2 | "so"'],
  ["&amp;lt; is decoded once", "&lt; is decoded once"],
  ["&gt; is no quote", "> is no quote"],
  ["| a &amp; b | c &#124; d |", "a & b · c | d"],
  ["`&amp;` in code, \\&amp; escaped", "&amp; in code, \\&amp; escaped"],
  ["```html\n&lt;p&gt;\n```\n&lt;p&gt;", "&lt;p&gt;\n<p>"],
  ["https://a.example/?b=1&amp;c=2 &amp; more", "https://a.example/?b=1&amp;c=2 & more"],
  ["[R&amp;D](https://a.example/?b=1&amp;c)", "R&D"],
])("%j is read as %j", (markdown, words) => {
  expect(withoutMarks(markdown)).toBe(words);
});

test.each([
  "2 * 3 * 4",
  "a < b > c",
  "snake_case_name",
  "5 | 6",
  "-",
  "#hashtag",
  "a ** b",
  "**",
  "AT&T &co;",
])("%j is left as it is", (text) => {
  expect(withoutMarks(text)).toBe(text);
});

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
  "&amp;",
  "&#39;",
];

test("nothing is said that was not there, and a long line of marks takes no time", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...marks)), (parts) => {
      const text = parts.join("");
      const letters = (from: string) => from.replaceAll(/[^ab]/g, "");
      expect(letters(withoutMarks(text)).length).toBeLessThanOrEqual(letters(text).length);
    }),
  );
  for (const mark of [
    "*",
    "**a",
    "`",
    "[",
    "[a](",
    "> ",
    "| ",
    "~~a",
    "- ",
    "&amp;",
    "&",
    "`&amp;",
  ])
    expect(
      workTime(() => withoutMarks(mark.repeat(1000))),
      mark,
    ).toBeLessThan(100);
});
