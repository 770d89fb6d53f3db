import fc from "fast-check";
import { expect, test } from "vitest";
import { GrowingMarkdown, parseMarkdown, type Block } from "@deltawire/tasks/markdown";
import { runs } from "../../../../test/runs.ts";
import { anyMarkdown } from "./any-markdown.ts";
import { blocksShown } from "./shown.ts";

const steps = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 });

/** The growing beginnings of a text, cut where the steps say, over and over. */
function* beginnings(text: string, sizes: readonly number[]): Generator<string> {
  for (let at = 0, nth = 0; at < text.length; nth += 1) {
    at += sizes[nth % sizes.length] ?? 1;
    yield text.slice(0, at);
  }
}

function all(markdown: GrowingMarkdown): Block[] {
  return [...markdown.frozen, ...markdown.open];
}

test("a text that came in pieces has the blocks of the whole, wherever it was cut", () => {
  fc.assert(
    fc.property(anyMarkdown, steps, (text, sizes) => {
      const markdown = new GrowingMarkdown();
      for (const beginning of beginnings(text, sizes)) markdown.push(beginning);
      markdown.end();
      expect(all(markdown)).toEqual(parseMarkdown(text));
    }),
    runs(300),
  );
});

test("what is frozen stays the same object and says the same, unless a label of it is defined", () => {
  fc.assert(
    fc.property(anyMarkdown, steps, (text, sizes) => {
      const markdown = new GrowingMarkdown();
      const seen = new Map<Block, string>();
      let before: readonly Block[] = [];
      for (const beginning of beginnings(text, sizes)) {
        markdown.push(beginning);
        const { kept, remade } = markdown.takeChanges();
        expect(kept).toBe(before.length);
        const others = before.flatMap((block, at) => (markdown.frozen[at] === block ? [] : [at]));
        expect(others).toEqual([...remade].toSorted((one, other) => one - other));
        for (const at of others) expect(markdown.frozen[at]).not.toEqual(before[at]);
        before = [...markdown.frozen];
        for (const block of before) if (!seen.has(block)) seen.set(block, JSON.stringify(block));
      }
      markdown.end();
      for (const [block, json] of seen) expect(JSON.stringify(block)).toBe(json);
    }),
    runs(200),
  );
});

test("every beginning has blocks, each of which is that of the text so far once it has ended", () => {
  fc.assert(
    fc.property(anyMarkdown, steps, (text, sizes) => {
      const markdown = new GrowingMarkdown();
      for (const beginning of beginnings(text, sizes)) {
        markdown.push(beginning);
        markdown.end();
        expect(all(markdown)).toEqual(parseMarkdown(beginning));
      }
    }),
    runs(100),
  );
});

test("a text that turns out to be another is read again from where it differs", () => {
  fc.assert(
    fc.property(anyMarkdown, anyMarkdown, anyMarkdown, (start, one, other) => {
      const markdown = new GrowingMarkdown();
      for (const text of [start + one, start + other, start, start + one + other]) {
        markdown.push(text);
        markdown.end();
        expect(all(markdown)).toEqual(parseMarkdown(text));
      }
    }),
    runs(100),
  );
});

test("a change near the end leaves the blocks before it as they are", () => {
  const text = "# A\n\nb\n\n- c\n- d\n\ne\n\nf [^1] and `g";
  const markdown = new GrowingMarkdown();
  markdown.push(`${text}\n\n`);
  const before = [...markdown.frozen];
  markdown.push(text.replace("[^1]", "\u{FDD0}1\u{FDD2}"));
  expect(before.length).toBe(5);
  expect(markdown.frozen.slice(0, 4).every((block, at) => block === before[at])).toBe(true);
  expect(markdown.open).toMatchObject([{ inline: [{ text: "f " }, { type: "cite" }, {}, {}] }]);
});

test("a definition makes only those parts anew that use its label, however deep they are", () => {
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
  const markdown = new GrowingMarkdown();
  markdown.push(text);
  const before = all(markdown);
  markdown.push(`${text}\n  [A]: https://d.e\n`);
  const after = all(markdown);
  expect(changedIn(before, after)).toEqual([
    "0.inline.0",
    "1.items.1.blocks.0.blocks.0.items.1.blocks.0.inline.0",
    "2.rows.0.0.0",
    "4.items.1.blocks.0.inline.0",
    // It was open, and ended meanwhile.
    "4.items.2.blocks.0.inline.0",
  ]);
  const [a, open] = ["a<https://d.e>(a)", "ul(-p(f) -p(a<https://d.e>(a)) --p([c]))"];
  expect(blocksShown(after)).toBe(
    `p(${a}) ul(-p([b]) -quote(ol1(-p(c) -p(${a} and [b]))) -p(c)) table[--]([c]|d / ${a}|e / f|[c]) p([c]) ${open}`,
  );
});

/** The paths of the innermost things that are other objects now. */
function changedIn(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (before === after || typeof before !== "object" || typeof after !== "object") return [];
  const now = new Map(Object.entries(after ?? {}));
  const inner = Object.entries(before ?? {}).flatMap(([key, value]) =>
    changedIn(value, now.get(key), [...path, key]),
  );
  return inner.length === 0 ? [path.join(".")] : inner;
}

test("a definition at the end of a text that has ended is taken back when the text goes on", () => {
  const markdown = new GrowingMarkdown();
  const start = "[a]\n\nb\n\n> [a]\n\n[a]: https://c.d";
  const seen = [start, `${start}/e`, `${start}/e f`, `${start}/e\n`].map((text) => {
    markdown.push(text);
    markdown.end();
    return blocksShown(all(markdown));
  });
  expect(seen).toEqual([
    "p(a<https://c.d>(a)) p(b) quote(p(a<https://c.d>(a)))",
    "p(a<https://c.d/e>(a)) p(b) quote(p(a<https://c.d/e>(a)))",
    "p([a]) p(b) quote(p([a])) p([a]: a<https://c.d/e>(https://c.d/e) f)",
    "p(a<https://c.d/e>(a)) p(b) quote(p(a<https://c.d/e>(a)))",
  ]);
});

const long: [string, string, string][] = [
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
test.each(long)("a push reads the open end of %s, not the whole text", (_, start, piece) => {
  const markdown = new GrowingMarkdown();
  let text = start;
  let most = 0;
  for (let nth = 0; nth < 1200; nth += 1) {
    text += piece;
    const before = markdown.work;
    markdown.push(text);
    most = Math.max(most, markdown.work - before);
  }
  expect(text.length).toBeGreaterThan(11_000);
  // A line is cut at 4,096 characters and a paragraph at 8,192; each is read as a line and as what it holds.
  expect(most).toBeLessThan(25_000);
});

test.each([
  ["a list", "- an item\n", (block: Block) => (block.type === "list" ? block.items : [])],
  ["a table", "| a |\n", (block: Block) => (block.type === "table" ? block.rows : [])],
  ["a quote", "> a\n>\n", (block: Block) => (block.type === "quote" ? block.blocks : [])],
])("the finished parts of %s that is open stay the same objects", (name, line, parts) => {
  const markdown = new GrowingMarkdown();
  let text = name === "a table" ? "| a |\n|---|\n" : "";
  let seen: readonly unknown[] = [];
  for (let nth = 0; nth < 100; nth += 1) {
    text += line;
    markdown.push(text);
    const [block] = markdown.open;
    const now: readonly unknown[] = block === undefined ? [] : parts(block);
    expect(now.length).toBe(nth + 1);
    // The last one may yet grow.
    for (const [at, one] of seen.slice(0, -1).entries()) expect(now[at]).toBe(one);
    seen = now;
  }
});
