import { parseMarkdown, type Block, type Inline } from "@deltawire/tasks/markdown";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { comparedWords } from "../../src/markdown/markdown-words.ts";
import { withMarks, wordDiff } from "../../src/tree/word-diff.ts";

function compared(one: string, other: string): { gone: Block[]; added: Block[] } {
  const [before, after] = [parseMarkdown(one), parseMarkdown(other)];
  const parts = wordDiff(comparedWords(before), comparedWords(after));
  return { gone: withMarks(before, parts, "gone"), added: withMarks(after, parts, "new") };
}

const mark = (text: string): Inline => ({ type: "mark", inline: [{ type: "text", text }] });

test("what is compared are the words as they are read, not the signs of Markdown", () => {
  const blocks = parseMarkdown(
    "# Head\n\n- **one** `two`\n- three\n\n| a | b |\n|---|---|\n| c | d |",
  );
  expect(comparedWords(blocks)).toBe("Head\none two\nthree\na\nb\nc\nd\n");
});

describe("what only one side says is marked", () => {
  test("within emphasis, which both keep", () => {
    const { gone, added } = compared("It is **very cold** now.", "It is **rather cold** now.");
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
    expect(gone).toEqual(paragraph("very"));
    expect(added).toEqual(paragraph("rather"));
  });

  test("not where emphasis alone differs", () => {
    const { gone, added } = compared("It is **cold**", "It *is* cold");
    expect(JSON.stringify([gone, added])).not.toContain('"mark"');
  });

  test("in code, by the places in it", () => {
    const { gone, added } = compared("```js\nlet a = 1;\n```", "```js\nlet b = 1;\n```");
    expect([gone, added].flat()).toMatchObject([
      { type: "code", marks: [[4, 5]] },
      { type: "code", marks: [[4, 5]] },
    ]);
  });

  test("as a whole where it cannot be cut: formulas, and links that lead elsewhere", () => {
    const { added } = compared(
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

  test("of whole blocks that the other lacks, in lists, quotes and tables too", () => {
    const { added } = compared("- one", "- one\n- two\n\n> three\n\n| four |\n|---|\n| five |");
    const marked = JSON.stringify(added).match(/"mark","inline":\[\{"type":"text","text":"\w+"/g);
    expect(marked?.map((each) => /\w+"$/.exec(each)?.[0].slice(0, -1))).toEqual([
      "two",
      "three",
      "four",
      "five",
    ]);
  });
});

test("whatever is compared, the words stay what they were, and a text differs from itself in nothing", () => {
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
    fc.property(markdown, markdown, (one, other) => {
      const { gone, added } = compared(one, other);
      expect(comparedWords(gone)).toBe(comparedWords(parseMarkdown(one)));
      expect(comparedWords(added)).toBe(comparedWords(parseMarkdown(other)));
      expect(compared(one, one).gone).toEqual(parseMarkdown(one));
    }),
    { numRuns: 300 },
  );
});
