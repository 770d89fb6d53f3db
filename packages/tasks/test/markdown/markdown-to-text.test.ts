import fc from "fast-check";
import { expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import { markdownToText } from "@deltawire/tasks/markdown";

test.each([
  ["I am a **demo**: *really* `short` and ***loud***.", "I am a demo: really short and loud."],
  ["See [the page](https://example.com/a) and ![a cat](cat.png).", "See the page and a cat."],
  ["It is sunny [^1][^2].", "It is sunny."],
  ["# Title\n\n> quoted\n\n- one\n- [x] two", "Title\nquoted\none\ntwo"],
  ["| a | b |\n| --- | :-: |\n| 1 | **2** |", "a · b\n1 · 2"],
  ["| a | b | c |\n|---|---|---|\n| 1 |\n|  | 2 |", "a · b · c\n1\n · 2"],
  ["```ts\nconst one = 1;\n```", "const one = 1;"],
  ["One\n\n---\n\nTwo", "One\nTwo"],
  ["~~old~~ new", "old new"],
  ["1. one\n2. **two**\n   - three\n\n1984. A novel", "1. one\n2. two\nthree\n3. A novel"],
  ["Fish &amp; chips, 1 &lt; 2 &#124; **&quot;so&quot;**", 'Fish & chips, 1 < 2 | "so"'],
  ["H<sub>2</sub>O &copy; <!-- a --> &#x41; <b> `<sub>`", "H2O ©  A <b> <sub>"],
  ["<details>\n<summary>More</summary>\nwords\n</details>", "More\nwords"],
  ["&amp;lt; is decoded once", "&lt; is decoded once"],
  ["&gt; is no quote", "> is no quote"],
  ["| a &amp; b | c | d |\n| e | f | g |", "a & b · c · d\ne · f · g"],
  ["`&amp;` in code, \\&amp; escaped", "&amp; in code, &amp; escaped"],
  ["```html\n&lt;p&gt;\n```\n&lt;p&gt;", "&lt;p&gt;\n<p>"],
  ["https://a.example/?b=1&amp;c=2 &amp; more", "https://a.example/?b=1&amp;c=2 & more"],
  ["[R&amp;D](https://a.example/?b=1&amp;c)", "R&D"],
  ["See [the **page**][1] and ![a cat][Cats].", "See the page and a cat."],
  ["Read [the book][], [`code`][x].", "Read the book, code."],
  ["[![a picture][p]](https://a.example)", "a picture"],
  ["[a \\] b][1]", "a ] b"],
  ["One\n\n[1]: https://a.example 'title'\n[2]: <https://b.example>\n\nTwo", "One\nTwo"],
  ["[a]: https://a.example\r\n  (its title)\r\nb", "b"],
  ["> [a]: https://a.example\n- [b]: mailto:b@b.example\nc", "c"],
  ["[A b], [c], ![a  B], x[a b]\n\n[a b]: https://a.example", "A b, [c], a  B, xa b"],
  ["[1][2] [3][4]\n\n[2]: https://a.example", "1 [3][4]"],
  ["x[i][j]\n\n[j]: https://a.example", "xi"],
  ["[a](https://b.example)\n\n[a]: https://a.example", "a"],
  ["`[a]` \\[a] [a]\n\n[a]: https://a.example", "[a] [a] a"],
  ["```\n[a]: https://a.example\n[b][a]\n```", "[a]: https://a.example\n[b][a]"],
  ["`[a][b]`, \\[a][b]", "[a][b], [a][b]"],
  ["[R&amp;D][1]", "R&D"],
  ["[text][^1], [text][2][^3]", "[text], text"],
  ["[^1]: https://a.example", "https://a.example"],
  ["[1][source](https://a.example)", "[1]source"],
  ["# [a]: https://a.example", "[a]: https://a.example"],
])("markdownToText turns %j into %j", (markdown, text) => {
  expect(markdownToText(markdown)).toBe(text);
});

test.each([
  "2 * 3 * 4",
  "a < b > c",
  "snake_case_name",
  "5 | 6",
  "#hashtag",
  "a ** b",
  "**",
  "AT&T &co;",
  "[label]",
  "It is sunny [1][2].",
  "grid[x][0] = row[y][]",
  "string[][] and [][]",
  "[^note][^other]",
  "[a] [b]",
  "[a][ ]",
  "[Ann]: Hello",
  '[a]: https://a.example "a title" and more',
])("markdownToText does not change %j", (text) => {
  expect(markdownToText(text)).toBe(text);
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
  "\\",
  "[a][b]",
  "\n[a]: https://1.2",
  ' "',
];

test("markdownToText adds no letters, and takes little time for long runs of syntax", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...marks)), (parts) => {
      const text = parts.join("");
      const extractLetters = (from: string) => from.replaceAll(/[^ab]/g, "");
      expect(extractLetters(markdownToText(text)).length).toBeLessThanOrEqual(
        extractLetters(text).length,
      );
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
      measureCpuTime(() => markdownToText(mark.repeat(1000))),
      mark,
    ).toBeLessThan(100);
});

test.each([
  "[",
  "![",
  "]",
  "][",
  "[a",
  "[a][",
  "[a][b]",
  "[a]",
  "[a](",
  '[a](b "',
  "[a](<",
  "[a\n",
  "[a]:\n",
  '[a]: https://a.example "\n',
  "[a]: https://a.example\n",
  "\\",
  "[\\]",
  "\\[",
  "`[",
  "``[` ",
])("markdownToText takes linear time for many %j, with and without a definition", (mark) => {
  // Quadratic time would take seconds.
  const text = `${mark.repeat(20_000)}]`;
  expect(measureCpuTime(() => markdownToText(text))).toBeLessThan(500);
  expect(measureCpuTime(() => markdownToText(`[a]: https://a.example\n${text}`))).toBeLessThan(500);
});
