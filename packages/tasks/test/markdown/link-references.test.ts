import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMarkdown } from "@deltawire/tasks/markdown";
import { propertyRuns } from "../../../../test/property-runs.ts";
import { anyMarkdown } from "./arbitrary-markdown.ts";
import { formatBlocks, formatMarkdown } from "./format-blocks.ts";

const cases: Record<string, [what: string, markdown: string, expected: string][]> = {
  "a link by label": [
    ["with a label", "[a b][c]\n\n[c]: https://d.e", "p(a<https://d.e>(a b))"],
    ["with empty brackets", "[a][]\n\n[a]: https://d.e", "p(a<https://d.e>(a))"],
    ["without brackets", "[a], b\n\n[a]: https://d.e", "p(a<https://d.e>(a), b)"],
    ["after the definition", "[a]: https://d.e\n\n[a]", "p(a<https://d.e>(a))"],
    [
      "with inline syntax in its text",
      "[*a* `b]`][c] [**c**]\n\n[c]: https://d.e",
      "p(a<https://d.e>(em(a) `b]`) [strong(c)])",
    ],
    ["with inline syntax in its label", "[*a*]\n\n[*a*]: https://d.e", "p(a<https://d.e>(em(a)))"],
    [
      "as an image",
      "![a][b] ![b] ![B][]\n\n[b]: https://d.e",
      "p(image<https://d.e>(a) image<https://d.e>(b) image<https://d.e>(B))",
    ],
    ["as an image of the gateway", "![a][b]\n\n[b]: /api/blobs/0f", "p(image</api/blobs/0f>(a))"],
    [
      "with an image in it",
      "[![a][b]][c]\n\n[b]: https://d.e\n[c]: https://f.g",
      "p(a<https://f.g>(noimage<https://d.e>(a)))",
    ],
    ["in a heading", "# [a]\n[a]: https://d.e", "h1(a<https://d.e>(a))"],
    ["in an underlined heading", "[a]\n===\n\n[a]: https://d.e", "h1(a<https://d.e>(a))"],
    ["in a list item", "- b\n- [a]\n\n[a]: https://d.e", "ul(-p(b) -p(a<https://d.e>(a)))"],
    [
      "in a table cell",
      "|[a]|b|\n|-|-|\n|c|[b][a]|\n\n[a]: https://d.e",
      "table[--](a<https://d.e>(a)|b / c|a<https://d.e>(b))",
    ],
    [
      "in nested lists and quotes",
      "- > 1. b\n  > 2. [a]\n- [a]: https://d.e",
      "ul(-quote(ol1(-p(b) -p(a<https://d.e>(a)))) -)",
    ],
    [
      "is text in code and formulas",
      "`[a]` $[a]$\n\n```\n[a]\n```\n[a]: https://d.e",
      "p(`[a]` $[a]$) code:([a])",
    ],
    ["is text with a backslash", "b \\[a] [a\\]\n\n[a]: https://d.e", "p(b [a] [a])"],
    ["with an undefined label", "[a][b] [c][] [d]", "p([a][b] [c][] [d])"],
    ["with a label only as its text", "[a][b]\n\n[a]: https://d.e", "p([a][b])"],
    ["after another bracket", "[a][b][c]\n\n[c]: https://d.e", "p([a]a<https://d.e>(b))"],
    [
      "with several defined labels in a row",
      "[a][b][c]\n\n[b]: https://d.e\n[c]: https://f.g",
      "p(a<https://d.e>(a)a<https://f.g>(c))",
    ],
    [
      "with the first label in a row defined",
      "[a][b][c]\n\n[a]: https://d.e\n[c]: https://f.g",
      "p([a]a<https://f.g>(b))",
    ],
    [
      "in another link",
      "[a [b] c][d]\n\n[b]: https://d.e\n[d]: https://f.g",
      "p([a a<https://d.e>(b) c]a<https://f.g>(d))",
    ],
    [
      "in brackets",
      "[[a]] [b [a]]\n\n[a]: https://d.e",
      "p([a<https://d.e>(a)] [b a<https://d.e>(a)])",
    ],
    [
      "followed by separate brackets",
      "[a] [b] [a]\n[] [a]: b\n\n[a]: https://d.e",
      "p(a<https://d.e>(a) [b] a<https://d.e>(a)\n[] a<https://d.e>(a): b)",
    ],
    [
      "with its own destination, which takes precedence",
      "[a](https://f.g)\n\n[a]: https://d.e",
      "p(a<https://f.g>(a))",
    ],
    [
      "before parentheses that are not a destination",
      "[a](b c)\n\n[a]: https://d.e",
      "p(a<https://d.e>(a)(b c))",
    ],
    [
      "before a destination that must not be linked",
      "[a](javascript:b)\n\n[a]: https://d.e",
      "p(noa<javascript:b>(a))",
    ],
    ["with a blank label", "[a][ ]\n\n[a]: https://d.e", "p(a<https://d.e>(a)[ ])"],
  ],
  "a label": [
    [
      "in another case",
      "[Ab][ÄB] [AB]\n\n[äb]: https://d.e\n[aB]: https://f.g",
      "p(a<https://d.e>(Ab) a<https://f.g>(AB))",
    ],
    ["with sharp S", "[ẞ] [ß]\n\n[SS]: https://d.e", "p(a<https://d.e>(ẞ) a<https://d.e>(ß))"],
    [
      "with other whitespace",
      "[ a\n  b\tc ]\n\n[a b   c]: https://d.e",
      "p(a<https://d.e>( a\nb\tc ))",
    ],
    ["on several lines", "[a b]\n\n[\na\nb\n]: https://d.e", "p(a<https://d.e>(a b))"],
    [
      "with backslashes, which are compared literally",
      "[a\\]] [b!]\n\n[a\\]]: https://d.e\n[b\\!]: https://d.e",
      "p(a<https://d.e>(a]) [b!])",
    ],
    [
      "with a name of Object.prototype",
      "[constructor] [__proto__]\n\n[__proto__]: https://d.e",
      "p([constructor] a<https://d.e>(strong(proto)))",
    ],
    [
      "of a footnote is not a link label",
      "a[^b] [^c]\n\n[^b]: https://d.e",
      "p(anoteb [^c]) note<b>(a<https://d.e>(https://d.e))",
    ],
    ["before a footnote", "[a][^1]\n\n[a]: https://d.e", "p(a<https://d.e>(a)[^1])"],
    ["before a citation", "[a]\u{FDD0}1\u{FDD2}\n\n[a]: https://d.e", "p(a<https://d.e>(a)cite1)"],
    [
      "with a citation is not a label",
      "[a\u{FDD0}1\u{FDD2}]\n\n[a\u{FDD0}1\u{FDD2}]: https://d.e",
      "p([acite1]) p([acite1]: a<https://d.e>(https://d.e))",
    ],
    ["must not be empty", "[]\n\n[]: https://d.e", "p([]) p([]: a<https://d.e>(https://d.e))"],
    [
      "must not have a bracket",
      "[a[b]: https://d.e\n\n[a[b]",
      "p([a[b]: a<https://d.e>(https://d.e)) p([a[b])",
    ],
    [
      "must not be too long",
      `[${"a".repeat(1000)}]: https://d.e\n\n[b]`,
      `p([${"a".repeat(1000)}]: a<https://d.e>(https://d.e)) p([b])`,
    ],
  ],
  "a definition": [
    ["alone is not rendered", "[a]: https://d.e", ""],
    [
      "is effective only if it is the first",
      "[a]\n\n[a]: https://d.e\n[A]: https://f.g",
      "p(a<https://d.e>(a))",
    ],
    [
      "with titles",
      `[a]: https://d.e "t"\n[b]: https://d.e 't "u" v'\n[c]: https://d.e (t)\n[a] [b] [c]`,
      "p(a<https://d.e>(a) a<https://d.e>(b) a<https://d.e>(c))",
    ],
    ["with a title on the next line", `[a]: https://d.e\n  "t"  \n[a]`, "p(a<https://d.e>(a))"],
    ["with a title on several lines", "[a]: https://d.e 't\nu\nv'\n[a]", "p(a<https://d.e>(a))"],
    [
      "with a quote in its title",
      String.raw`[a]: https://d.e "t \" u"` + "\n[a]",
      "p(a<https://d.e>(a))",
    ],
    ["on three lines", "  [a]: \n   https://d.e  \n 't'\n\n[a]", "p(a<https://d.e>(a))"],
    ["in angle brackets", "[a]: <https://d.e/f g>\n\n[a]", "p(a<https://d.e/f g>(a))"],
    [
      "with parentheses in its destination",
      "[a]: https://d.e/f_(g)\n\n[a]",
      "p(a<https://d.e/f_(g)>(a))",
    ],
    ["without a space", "[a]:https://d.e\n[a]", "p(a<https://d.e>(a))"],
    ["in a quote", "[a]\n\n> [a]: https://d.e", "p(a<https://d.e>(a)) quote()"],
    ["after a list", "- [a]\n[a]: https://d.e", "ul(-p(a<https://d.e>(a)))"],
    ["after a table", "|[a]|\n|-|\n[a]: https://d.e", "table[-](a<https://d.e>(a))"],
    [
      "between a heading and a quote",
      "# [a]\n[a]: https://d.e\n> b",
      "h1(a<https://d.e>(a)) quote(p(b))",
    ],
    ["before an underlined heading", "[a]: https://d.e\nb\n===\n[a]", "h1(b) p(a<https://d.e>(a))"],
    ["is not an underlined heading", "[a]: https://d.e\n===\n[a]", "p(===\na<https://d.e>(a))"],
    ["before a table", "[a]: https://d.e\n|[a]|\n|-|", "table[-](a<https://d.e>(a))"],
    ["makes an item loose", "- a\n- b\n\n  [c]: https://d.e\n- d", "ul(-p(a) --p(b) -p(d))"],
    ["with CRLF line endings", "[a]: https://d.e\r\n\r\n[a]\r\n", "p(a<https://d.e>(a))"],
    [
      "must not be followed by text",
      `[a]: https://d.e "t" u\n[a]`,
      `p([a]: a<https://d.e>(https://d.e) "t" u\n[a])`,
    ],
    [
      "before a line that is not a title",
      `[a]: https://d.e\n"t" u [a]`,
      `p("t" u a<https://d.e>(a))`,
    ],
    [
      "before an unclosed title",
      `[a]: https://d.e\n"t [a]\nu\n\n[a]`,
      `p("t a<https://d.e>(a)\nu) p(a<https://d.e>(a))`,
    ],
    [
      "must not have an unclosed title on its line",
      `[a]: https://d.e "t\n\nu" [a]`,
      `p([a]: a<https://d.e>(https://d.e) "t) p(u" [a])`,
    ],
    [
      "must have a space before its title",
      "[a]: <https://d.e>(t)\n\n[a]",
      "p([a]: a<https://d.e>(https://d.e)(t)) p([a])",
    ],
    ["that is underlined is a heading", "[a]:\n---\n\n[0, 1)\n===", "h2([a]:) h1([0, 1))"],
    [
      "followed by a delimiter row is a table",
      "[0, 1) | b\n---|---\nc | d",
      "table[--]([0, 1)|b / c|d)",
    ],
    ["must have a destination", "[a]:\n\n[a]", "p([a]:) p([a])"],
    ["is text in code", "```\n[a]: https://d.e\n```\n[a]", "code:([a]: https://d.e) p([a])"],
    [
      "is text in a paragraph",
      "b\n[a]: https://d.e\n\n[a]",
      "p(b\n[a]: a<https://d.e>(https://d.e)) p([a])",
    ],
    [
      "is text with a backslash",
      "\\[a]: https://d.e\n\n[a]",
      "p([a]: a<https://d.e>(https://d.e)) p([a])",
    ],
    [
      "with an executable URL creates no link",
      "[a] [b]\n\n[a]: javascript:alert(1)\n\n[b]: <data:text/html,x>",
      "p(noa<javascript:alert(1)>(a) noa<data:text/html,x>(b))",
    ],
    ["with a local destination creates no link", "[a]\n\n[a]: ./b\n\n[a]: //d.e", "p(noa<./b>(a))"],
    [
      "is not dialogue",
      "[Ann]: Hello\n\n[Bob]: Hello, [Ann]",
      "p([Ann]: Hello) p([Bob]: Hello, [Ann])",
    ],
    [
      "with a citation in its destination",
      "[a]: https://d.e/\u{FDD0}1\u{FDD2}\n\n[a]",
      "p(a<https://d.e/[^1]>(a))",
    ],
  ],
};

describe.each(Object.entries(cases))("%s", (_, examples) => {
  test.each(examples)("%s", (_description, markdown, expected) => {
    expect(formatMarkdown(markdown)).toBe(expected);
  });
});

test("definitions have the same effect before and after their uses", () => {
  fc.assert(
    fc.property(anyMarkdown, (text) => {
      const candidates = [...text.matchAll(/\[([^[\]]*)\]/g)].map(([, label = ""]) =>
        label.replaceAll(/\s+/g, " ").trim(),
      );
      const labels = [...new Set(candidates)].filter((label) =>
        /^[\p{L}\p{N}][\p{L}\p{N} ]*$/u.test(label),
      );
      const uses = parseMarkdown([...labels.map((label) => `[${label}]`), text].join("\n\n"));
      const definitions = labels.map((label, index) => {
        const use = uses[index];
        const link = use?.type === "paragraph" ? use.inline[0] : undefined;
        return link?.type === "link" ? `[${label}]: <${link.url}>\n` : "";
      });
      expect(formatBlocks(parseMarkdown(`${definitions.join("")}\n${text}`))).toBe(
        formatMarkdown(text),
      );
    }),
    propertyRuns(300),
  );
});
