import { expect, test } from "vitest";
import {
  StreamingMarkdown,
  type MarkdownBlock,
  type MarkdownInline,
} from "@deltawire/tasks/markdown";

/** Returns the visible text of an unfinished stream. */
function renderStreaming(text: string): string {
  const markdown = new StreamingMarkdown();
  markdown.push(text);
  return blocksToText([...markdown.frozenBlocks, ...markdown.openBlocks]);
}

function blocksToText(blocks: readonly MarkdownBlock[]): string {
  return blocks
    .map((block) => {
      if ("inline" in block) return inlineToText(block.inline);
      if (block.type === "list")
        return block.items.map((item) => blocksToText(item.blocks)).join(" ");
      return "text" in block ? block.text : block.type;
    })
    .join(" ");
}

function inlineToText(nodes: readonly MarkdownInline[]): string {
  return nodes
    .map((node) => {
      if ("inline" in node) return `${node.type}(${inlineToText(node.inline)})`;
      return node.type === "code" ? `code(${node.text})` : "text" in node ? node.text : node.type;
    })
    .join("");
}

const cases: [what: string, text: string, expected: string][] = [
  ["bold", "a **b", "a strong(b)"],
  ["bold with half of its end", "a **b*", "a strong(b)"],
  ["nothing for the start of bold", "a **", "a "],
  ["italic", "a *b c", "a em(b c)"],
  ["strikethrough", "a ~~b ~", "a del(b )"],
  ["inline code", "a `b c", "a code(b c)"],
  ["the label of a link", "a [b c", "a b c"],
  ["only the label of a link with an unfinished URL", "a [b](https://c", "a b"],
  ["text for asterisks that are not emphasis", "a * b, f(*c", "a * b, f(em(c)"],
  ["text for an index", "a[0", "a[0"],
  ["nothing for the start of a heading", "a\n\n##", "a"],
  ["nothing for the start of an item", "a\n-", "a"],
  ["nothing for the start of a number", "a\n\n12.", "a"],
  ["nothing for the start of a checkbox", "- a\n- [", "a"],
  ["nothing for the start of a fence", "a\n``", "a"],
  ["nothing for an unfinished info string", "a\n```type", "a"],
  ["nothing for an unfinished closing fence", "```\na\n``", "a"],
  ["nothing for the head of a table", "a\n\n| b | c |", "a"],
  ["nothing for an unfinished delimiter row", "a\n\n| b | c |\n|--", "a"],
  ["text for an undefined label", "a [b] c [d][e] f", "a [b] c [d][e] f"],
  ["a link after its definition", "[b]: https://c.d\n\na [b] c", "a link(b) c"],
  ["nothing for the start of a definition", "a\n\n[b c", "a"],
  ["nothing for an unfinished definition", "a [b]\n\n[b]: https://c", "a [b]"],
  ["nothing for a definition without its destination", "a [b]\n\n[b]:\nhttps://c", "a [b]"],
  ["nothing for a title", 'a [b]\n\n[b]: https://c.d "e', "a [b]"],
  ["nothing for a title on the next line", 'a [b]\n\n[b]: https://c.d\n"e', "a link(b)"],
  ["a link when the line of its definition has ended", "a [b]\n\n[b]: https://c.d\n", "a link(b)"],
  ["dialogue", "a\n\n[Ann]: Hello", "a [Ann]: Hello"],
  ["the text of a footnote", "a\n\n[^1]: b", "a b"],
  ["text for an undefined footnote", "a[^1] b", "a[^1] b"],
  ["a footnote reference after its definition", "a[^1]\n\n[^1]: b\n", "afootnote b"],
  ["nothing for an unfinished footnote reference", "a[^no", "a"],
  ["an unclosed subscript", "H<sub>2", "Hsub(2)"],
  ["nothing for an unfinished tag", "H<su", "H"],
  ["nothing for a comment", "a <!-- b", "a "],
  ["nothing for a multi-line comment", "a\n\n<!-- b\n\nc", "a"],
  ["nothing for an unfinished details tag", "a\n\n<deta", "a"],
  ["a details element without an unfinished summary", "<details>\n<summary>a", "details"],

  ["a table after its delimiter row", "| b | c |\n|---|---|\n", "table"],
];
test.each(cases)("streaming text shows %s", (_, text, expected) => {
  expect(renderStreaming(text).trimEnd()).toBe(expected.trimEnd());
});

test.each(['"', "("])(
  "an unclosed title of a definition that starts with %s hides at most a few lines",
  (quote) => {
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
    const text = renderStreaming(`[a]: https://b.c ${quote}so\n${lines}`);
    expect(text).toContain("line 98");
  },
);

test("hidden syntax is shown when the text has ended", () => {
  for (const text of ["a **b", "a `b", "a\n\n##x", "a\n\n| b |", "a [b", "a\n\n12.", "a\n\n[b]:"]) {
    const markdown = new StreamingMarkdown();
    markdown.push(text);
    markdown.end();
    const shownText = blocksToText([...markdown.frozenBlocks, ...markdown.openBlocks]).replaceAll(
      /\s+/g,
      " ",
    );
    expect(shownText).toContain(text.slice(-2));
  }
});

test("words of streaming text never disappear", () => {
  const text =
    "Some **bold words** and *others* with `words here`, [a label](https://a.b) then\n\n- one **two**\n- three\n\nfour ~~five~~ six.";
  let before = 0;
  for (let end = 1; end <= text.length; end += 1) {
    const words =
      renderStreaming(text.slice(0, end)).match(/\b(?!strong|em|del|code|link)\w+/g) ?? [];
    expect(words.length).toBeGreaterThanOrEqual(before);
    before = words.length;
  }
});
