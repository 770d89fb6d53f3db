import fc from "fast-check";

const lines = [
  "# Heading",
  "Some **bold** and *italic* words, `code` and [a link](https://example.com/a_(b)).",
  "- item",
  "- [x] done",
  "  - nested",
  "    deeper text",
  "1. one",
  "2. two",
  "   ```js",
  "   const a = 1;",
  "```ts\u{FDD0}3\u{FDD2}",
  "```ts",
  "```",
  "~~~~",
  "> quoted",
  "> > twice",
  "| a | b |",
  "|---|:-:|",
  "| `x|y` | 2 |",
  "---",
  "===",
  "$$",
  "x^2 + y^2",
  String.raw`\[ a = b \]`,
  "",
  "",
  "",
  "  ",
  "\t- tabbed",
  "hard  ",
  "你好，**世界。**再见",
  "\u{FDD0}3\u{FDD2} cited \u{FDD1}4\u{FDD2}",
  "word ".repeat(1500),
  "x".repeat(5000),
];

const pieces = [
  ..."` * _ ~ [ ] ( ) < > ! | # - + = $ \\ & : \n \t \r".split(" "),
  " ",
  "a",
  "bc ",
  "\n\n",
  "**",
  "~~",
  "```",
  "$$",
  "](https://",
  "[^1]",
  "1. ",
  "\n- ",
  "\n> ",
  "\n|",
  "|-|",
  "\u{FDD0}",
  "\u{1F600}",
];

/** What people and models write, and what nobody would. */
export const anyMarkdown: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...lines), { maxLength: 40 }).map((all) => all.join("\n")),
  fc.array(fc.constantFrom(...pieces), { maxLength: 120 }).map((all) => all.join("")),
  fc
    .array(fc.oneof(fc.constantFrom(...lines), fc.constantFrom(...pieces)), { maxLength: 60 })
    .map((all) => all.join("\n")),
);
