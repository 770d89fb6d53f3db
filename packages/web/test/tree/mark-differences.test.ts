import { parseMarkdown, type MarkdownBlock, type MarkdownInline } from "@deltawire/tasks/markdown";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blocksToComparableText } from "../../src/markdown/markdown-text.ts";
import { markDifferences, diffWords } from "../../src/tree/word-diff.ts";

function compareMarkdown(
  left: string,
  right: string,
): { removed: MarkdownBlock[]; added: MarkdownBlock[] } {
  const [before, after] = [parseMarkdown(left), parseMarkdown(right)];
  const parts = diffWords(blocksToComparableText(before), blocksToComparableText(after));
  return {
    removed: markDifferences(before, parts, "removed"),
    added: markDifferences(after, parts, "added"),
  };
}

const mark = (text: string): MarkdownInline => ({ type: "mark", inline: [{ type: "text", text }] });

test("the rendered text is compared, not the Markdown syntax", () => {
  const blocks = parseMarkdown(
    "# Head\n\n- **one** `two`\n- three\n\n| a | b |\n|---|---|\n| c | d |",
  );
  expect(blocksToComparableText(blocks)).toBe("Head\none two\nthree\na\nb\nc\nd\n");
});

describe("differences are marked", () => {
  test("inside emphasis", () => {
    const { removed, added } = compareMarkdown(
      "It is **very cold** now.",
      "It is **rather cold** now.",
    );
    const paragraph = (word: string) => [
      {
        type: "paragraph",
        inline: [
          { type: "text", text: "It is " },
          { type: "strong", inline: [mark(word), { type: "text", text: " cold" }] },
          { type: "text", text: " now." },
        ],
      },
    ];
    expect(removed).toEqual(paragraph("very"));
    expect(added).toEqual(paragraph("rather"));
  });

  test("but not if only the emphasis differs", () => {
    const { removed, added } = compareMarkdown("It is **cold**", "It *is* cold");
    expect(JSON.stringify([removed, added])).not.toContain('"mark"');
  });

  test("in code, as ranges", () => {
    const { removed, added } = compareMarkdown("```js\nlet a = 1;\n```", "```js\nlet b = 1;\n```");
    expect([removed, added].flat()).toMatchObject([
      { type: "code", marks: [[4, 5]] },
      { type: "code", marks: [[4, 5]] },
    ]);
  });

  test("on complete formulas, and on complete links if the URL differs", () => {
    const { added } = compareMarkdown(
      "$a$ [here](https://a.example/)",
      "$b$ [here](https://b.example/)\n\n$$c$$",
    );
    expect(added).toMatchObject([
      {
        inline: [
          { type: "mark", inline: [{ type: "math", text: "b" }] },
          { type: "text" },
          { type: "mark", inline: [{ type: "link", url: "https://b.example/" }] },
        ],
      },
      { type: "paragraph", inline: [{ type: "mark", inline: [{ type: "math" }] }] },
    ]);
  });

  test("in added blocks, including lists, quotes and tables", () => {
    const { added } = compareMarkdown(
      "- one",
      "- one\n- two\n\n> three\n\n| four |\n|---|\n| five |",
    );
    const marked = JSON.stringify(added).match(/"mark","inline":\[\{"type":"text","text":"\w+"/g);
    expect(marked?.map((each) => /\w+"$/.exec(each)?.[0].slice(0, -1))).toEqual([
      "two",
      "three",
      "four",
      "five",
    ]);
  });
});

test("for any Markdown, marking changes no text, and identical texts get no marks", () => {
  const piece = fc.constantFrom(
    "a",
    "b ",
    "**",
    "*",
    "`",
    "\n",
    "- ",
    "> ",
    "| x |",
    "$y$",
    "[z](https://z.example/)",
  );
  const markdown = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(markdown, markdown, (left, right) => {
      const { removed, added } = compareMarkdown(left, right);
      expect(blocksToComparableText(removed)).toBe(blocksToComparableText(parseMarkdown(left)));
      expect(blocksToComparableText(added)).toBe(blocksToComparableText(parseMarkdown(right)));
      expect(compareMarkdown(left, left).removed).toEqual(parseMarkdown(left));
    }),
    { numRuns: 300 },
  );
});
