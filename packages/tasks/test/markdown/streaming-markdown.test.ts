import fc from "fast-check";
import { expect, test } from "vitest";
import { StreamingMarkdown, parseMarkdown, type MarkdownBlock } from "@deltawire/tasks/markdown";
import { propertyRuns } from "../../../../test/property-runs.ts";
import { anyMarkdown } from "./arbitrary-markdown.ts";
import { formatBlocks } from "./format-blocks.ts";

const steps = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 });

/** Yields growing prefixes of a text. The step sizes repeat. */
function* iteratePrefixes(text: string, sizes: readonly number[]): Generator<string> {
  for (let position = 0, index = 0; position < text.length; index += 1) {
    position += sizes[index % sizes.length] ?? 1;
    yield text.slice(0, position);
  }
}

function getAllBlocks(markdown: StreamingMarkdown): MarkdownBlock[] {
  return [...markdown.frozenBlocks, ...markdown.openBlocks];
}

test("streamed text has the same blocks as the complete text for any deltas", () => {
  fc.assert(
    fc.property(anyMarkdown, steps, (text, sizes) => {
      const markdown = new StreamingMarkdown();
      for (const prefix of iteratePrefixes(text, sizes)) markdown.push(prefix);
      markdown.end();
      expect(getAllBlocks(markdown)).toEqual(parseMarkdown(text));
    }),
    propertyRuns(300),
  );
});

test("frozen blocks stay the same objects unless one of their labels is defined", () => {
  fc.assert(
    fc.property(anyMarkdown, steps, (text, sizes) => {
      const markdown = new StreamingMarkdown();
      const frozenTexts = new Map<MarkdownBlock, string>();
      let before: readonly MarkdownBlock[] = [];
      for (const prefix of iteratePrefixes(text, sizes)) {
        markdown.push(prefix);
        const { unchangedCount, changedIndexes } = markdown.takeChanges();
        expect(unchangedCount).toBe(before.length);
        const unchangedBlocks = before.flatMap((block, index) =>
          markdown.frozenBlocks[index] === block ? [] : [index],
        );
        expect(unchangedBlocks).toEqual([...changedIndexes].toSorted((a, b) => a - b));
        for (const position of unchangedBlocks)
          expect(markdown.frozenBlocks[position]).not.toEqual(before[position]);
        before = [...markdown.frozenBlocks];
        for (const block of before)
          if (!frozenTexts.has(block)) frozenTexts.set(block, JSON.stringify(block));
      }
      markdown.end();
      for (const [block, json] of frozenTexts) expect(JSON.stringify(block)).toBe(json);
    }),
    propertyRuns(200),
  );
});

test("every prefix of the text can be ended and continued, and has the blocks of the text so far", () => {
  fc.assert(
    fc.property(anyMarkdown, steps, (text, sizes) => {
      const markdown = new StreamingMarkdown();
      for (const prefix of iteratePrefixes(text, sizes)) {
        markdown.push(prefix);
        markdown.end();
        expect(getAllBlocks(markdown)).toEqual(parseMarkdown(prefix));
      }
    }),
    propertyRuns(100),
  );
});

test("text that changes in an earlier part is parsed again from there", () => {
  fc.assert(
    fc.property(anyMarkdown, anyMarkdown, anyMarkdown, (start, one, other) => {
      const markdown = new StreamingMarkdown();
      for (const text of [start + one, start + other, start, start + one + other]) {
        markdown.push(text);
        markdown.end();
        expect(getAllBlocks(markdown)).toEqual(parseMarkdown(text));
      }
    }),
    propertyRuns(100),
  );
});

test("a change near the end of the text keeps the earlier block objects", () => {
  const text = "# A\n\nb\n\n- c\n- d\n\ne\n\nf [^1] and `g";
  const markdown = new StreamingMarkdown();
  markdown.push(`${text}\n\n`);
  const before = [...markdown.frozenBlocks];
  markdown.push(text.replace("[^1]", "\u{FDD0}1\u{FDD2}"));
  expect(before.length).toBe(5);
  expect(markdown.frozenBlocks.slice(0, 4).every((block, index) => block === before[index])).toBe(
    true,
  );
  expect(markdown.openBlocks).toMatchObject([
    { inline: [{ text: "f " }, { type: "cite" }, {}, {}] },
  ]);
});

test("a definition replaces only the parts that use its label, at any depth", () => {
  const text = `[a]

- [b]
- > 1. c
  > 2. [a] and [b]
- c

|[c]|d|
|-|-|
|[a]|e|
|f|[c]|

[c]

- f
- [a]
- [c]
`;
  const markdown = new StreamingMarkdown();
  markdown.push(text);
  const before = getAllBlocks(markdown);
  markdown.push(`${text}\n  [A]: https://d.e\n`);
  const after = getAllBlocks(markdown);
  expect(findReplaced(before, after)).toEqual([
    "0.inline.0",
    "1.items.1.blocks.0.blocks.0.items.1.blocks.0.inline.0",
    "2.rows.0.0.0",
    "4.items.1.blocks.0.inline.0",
    // This item was open and has now ended.
    "4.items.2.blocks.0.inline.0",
  ]);
  const [a, open] = ["a<https://d.e>(a)", "ul(-p(f) -p(a<https://d.e>(a)) --p([c]))"];
  expect(formatBlocks(after)).toBe(
    `p(${a}) ul(-p([b]) -quote(ol1(-p(c) -p(${a} and [b]))) -p(c)) table[--]([c]|d / ${a}|e / f|[c]) p([c]) ${open}`,
  );
});

/** Returns the paths of the innermost objects that differ in identity. */
function findReplaced(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (before === after || typeof before !== "object" || typeof after !== "object") return [];
  const now = new Map(Object.entries(after ?? {}));
  const inner = Object.entries(before ?? {}).flatMap(([key, value]) =>
    findReplaced(value, now.get(key), [...path, key]),
  );
  return inner.length === 0 ? [path.join(".")] : inner;
}

test("a definition at the end of ended text no longer applies if the text continues otherwise", () => {
  const markdown = new StreamingMarkdown();
  const start = "[a]\n\nb\n\n> [a]\n\n[a]: https://c.d";
  const results = [start, `${start}/e`, `${start}/e f`, `${start}/e\n`].map((text) => {
    markdown.push(text);
    markdown.end();
    return formatBlocks(getAllBlocks(markdown));
  });
  expect(results).toEqual([
    "p(a<https://c.d>(a)) p(b) quote(p(a<https://c.d>(a)))",
    "p(a<https://c.d/e>(a)) p(b) quote(p(a<https://c.d/e>(a)))",
    "p([a]) p(b) quote(p([a])) p([a]: a<https://c.d/e>(https://c.d/e) f)",
    "p(a<https://c.d/e>(a)) p(b) quote(p(a<https://c.d/e>(a)))",
  ]);
});

const longTexts: [string, string, string][] = [
  ["code", "```ts\n", "const value = compute(first, second);\n"],
  ["a list", "", "- an item with some **bold** words\n"],
  ["a loose list", "", "- an item\n\n  and its second paragraph\n\n"],
  ["a nested list", "- outer\n", "  - an item of the inner list\n"],
  ["a table", "| a | b |\n|---|---|\n", "| one **bold** | two `code` |\n"],
  ["a quote", "", "> words of somebody else\n>\n"],
  ["paragraphs", "", "Some words, and more of them.\n\n"],
  ["one paragraph", "", "Some words in a paragraph without an end "],
  ["one line of code", "```\n", "const a=1;"],
  ["a formula", "$$\n", "x^2 + y^2 = z^2 "],
];
test.each(longTexts)(
  "a push parses only the end of %s, not the complete text",
  (_, start, piece) => {
    const markdown = new StreamingMarkdown();
    let text = start;
    let maxRead = 0;
    for (let index = 0; index < 1200; index += 1) {
      text += piece;
      const before = markdown.parsedCharacters;
      markdown.push(text);
      maxRead = Math.max(maxRead, markdown.parsedCharacters - before);
    }
    expect(text.length).toBeGreaterThan(11_000);
    // Lines are split at 4,096 characters and paragraphs at 8,192; each is parsed as a line and as inline content.
    expect(maxRead).toBeLessThan(25_000);
  },
);

test.each([
  ["a list", "- an item\n", (block: MarkdownBlock) => (block.type === "list" ? block.items : [])],
  ["a table", "| a |\n", (block: MarkdownBlock) => (block.type === "table" ? block.rows : [])],
  ["a quote", "> a\n>\n", (block: MarkdownBlock) => (block.type === "quote" ? block.blocks : [])],
])("the finished parts of %s stay the same objects while it is open", (name, line, parts) => {
  const markdown = new StreamingMarkdown();
  let text = name === "a table" ? "| a |\n|---|\n" : "";
  let partsBefore: readonly unknown[] = [];
  for (let index = 0; index < 100; index += 1) {
    text += line;
    markdown.push(text);
    const [block] = markdown.openBlocks;
    const partsNow: readonly unknown[] = block === undefined ? [] : parts(block);
    expect(partsNow.length).toBe(index + 1);
    // The last part may still grow.
    for (const [at, one] of partsBefore.slice(0, -1).entries()) expect(partsNow[at]).toBe(one);
    partsBefore = partsNow;
  }
});
