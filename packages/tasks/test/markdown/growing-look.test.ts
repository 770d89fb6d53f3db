import { expect, test } from "vitest";
import { GrowingMarkdown, type Block, type Inline } from "@deltawire/tasks/markdown";

/** All words of what is shown while the text stands so. */
function shown(text: string): string {
  const markdown = new GrowingMarkdown();
  markdown.push(text);
  return wordsOf([...markdown.frozen, ...markdown.open]);
}

function wordsOf(blocks: readonly Block[]): string {
  return blocks
    .map((block) => {
      if ("inline" in block) return inlineWords(block.inline);
      if (block.type === "list") return block.items.map((item) => wordsOf(item.blocks)).join(" ");
      return "text" in block ? block.text : block.type;
    })
    .join(" ");
}

function inlineWords(nodes: readonly Inline[]): string {
  return nodes
    .map((node) => {
      if ("inline" in node) return `${node.type}(${inlineWords(node.inline)})`;
      return node.type === "code" ? `code(${node.text})` : "text" in node ? node.text : node.type;
    })
    .join("");
}

const growing: [what: string, text: string, expected: string][] = [
  ["bold", "a **b", "a strong(b)"],
  ["bold that has half closed", "a **b*", "a strong(b)"],
  ["bold that has only begun", "a **", "a "],
  ["italics", "a *b c", "a em(b c)"],
  ["what is struck out", "a ~~b ~", "a del(b )"],
  ["code in a line", "a `b c", "a code(b c)"],
  ["a link's label", "a [b c", "a b c"],
  ["a link's address", "a [b](https://c", "a b"],
  ["no emphasis where none begins", "a * b, f(*c", "a * b, f(em(c)"],
  ["no index for a link", "a[0", "a[0"],
  ["nothing for the beginning of a heading", "a\n\n##", "a"],
  ["nothing for the beginning of an item", "a\n-", "a"],
  ["nothing for the beginning of a number", "a\n\n12.", "a"],
  ["nothing for the beginning of a box", "- a\n- [", "a"],
  ["nothing for the beginning of a fence", "a\n``", "a"],
  ["nothing for a language that is being named", "a\n```type", "a"],
  ["no closing fence as code", "```\na\n``", "a"],
  ["nothing for the head of a table", "a\n\n| b | c |", "a"],
  ["nothing for the dashes of a table", "a\n\n| b | c |\n|--", "a"],
  ["a use before its definition", "a [b] c [d][e] f", "a [b] c [d][e] f"],
  ["a use behind its definition", "[b]: https://c.d\n\na [b] c", "a link(b) c"],
  ["nothing for the beginning of a definition", "a\n\n[b c", "a"],
  ["nothing for a definition that is being written", "a [b]\n\n[b]: https://c", "a [b]"],
  ["nothing for one whose address is to come", "a [b]\n\n[b]:\nhttps://c", "a [b]"],
  ["nothing for a title", 'a [b]\n\n[b]: https://c.d "e', "a [b]"],
  ["nothing for a title on its own line", 'a [b]\n\n[b]: https://c.d\n"e', "a link(b)"],
  ["a use when the line of its definition has ended", "a [b]\n\n[b]: https://c.d\n", "a link(b)"],
  ["what somebody says", "a\n\n[Ann]: Hello", "a [Ann]: Hello"],
  ["what a footnote says", "a\n\n[^1]: b", "a b"],
  ["a mark before its footnote", "a[^1] b", "a[^1] b"],
  ["a mark once its footnote has ended", "a[^1]\n\n[^1]: b\n", "afootnote b"],
  ["nothing for a mark that has only begun", "a[^no", "a"],
  ["what is below the line", "H<sub>2", "Hsub(2)"],
  ["nothing for a tag that has only begun", "H<su", "H"],
  ["nothing for a comment", "a <!-- b", "a "],
  ["nothing for a comment of several lines", "a\n\n<!-- b\n\nc", "a"],
  ["nothing for the beginning of a fold", "a\n\n<deta", "a"],
  ["a fold without its summary until that is whole", "<details>\n<summary>a", "details"],

  ["a table from its dashes on", "| b | c |\n|---|---|\n", "table"],
];
test.each(growing)("while a text grows it shows %s", (_, text, expected) => {
  expect(shown(text).trimEnd()).toBe(expected.trimEnd());
});

test.each(['"', "("])(
  "a title that %s begins and nothing ends holds back no more than a few lines",
  (quote) => {
    const lines = Array.from({ length: 100 }, (_, nth) => `line ${nth}`).join("\n");
    const seen = shown(`[a]: https://b.c ${quote}so\n${lines}`);
    expect(seen).toContain("line 98");
  },
);

test("what was held back is shown when the text has ended", () => {
  for (const text of ["a **b", "a `b", "a\n\n##x", "a\n\n| b |", "a [b", "a\n\n12.", "a\n\n[b]:"]) {
    const markdown = new GrowingMarkdown();
    markdown.push(text);
    markdown.end();
    const words = wordsOf([...markdown.frozen, ...markdown.open]).replaceAll(/\s+/g, " ");
    expect(words).toContain(text.slice(-2));
  }
});

test("the words of a growing text never leave again", () => {
  const text =
    "Some **bold words** and *others* with `words here`, [a label](https://a.b) then\n\n- one **two**\n- three\n\nfour ~~five~~ six.";
  let before = 0;
  for (let end = 1; end <= text.length; end += 1) {
    const words = shown(text.slice(0, end)).match(/\b(?!strong|em|del|code|link)\w+/g) ?? [];
    expect(words.length).toBeGreaterThanOrEqual(before);
    before = words.length;
  }
});
