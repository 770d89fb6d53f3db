import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMarkdown } from "@deltawire/tasks/markdown";
import { runs } from "../../../../test/runs.ts";
import { anyMarkdown } from "./any-markdown.ts";
import { blocksShown, shown } from "./shown.ts";

const cases: Record<string, [what: string, markdown: string, expected: string][]> = {
  "a use": [
    ["with a label", "[a b][c]\n\n[c]: https://d.e", "p(a<https://d.e>(a b))"],
    ["with empty brackets", "[a][]\n\n[a]: https://d.e", "p(a<https://d.e>(a))"],
    ["with none", "[a], b\n\n[a]: https://d.e", "p(a<https://d.e>(a), b)"],
    ["behind the definition", "[a]: https://d.e\n\n[a]", "p(a<https://d.e>(a))"],
    [
      "with marks in its text",
      "[*a* `b]`][c] [**c**]\n\n[c]: https://d.e",
      "p(a<https://d.e>(em(a) `b]`) [strong(c)])",
    ],
    ["with marks in its label", "[*a*]\n\n[*a*]: https://d.e", "p(a<https://d.e>(em(a)))"],
    [
      "of a picture",
      "![a][b] ![b] ![B][]\n\n[b]: https://d.e",
      "p(image<https://d.e>(a) image<https://d.e>(b) image<https://d.e>(B))",
    ],
    ["of a picture of the gateway", "![a][b]\n\n[b]: /api/blobs/0f", "p(image</api/blobs/0f>(a))"],
    [
      "with a picture in it",
      "[![a][b]][c]\n\n[b]: https://d.e\n[c]: https://f.g",
      "p(a<https://f.g>(noimage<https://d.e>(a)))",
    ],
    ["in a heading", "# [a]\n[a]: https://d.e", "h1(a<https://d.e>(a))"],
    ["in a heading with a line below", "[a]\n===\n\n[a]: https://d.e", "h1(a<https://d.e>(a))"],
    ["in an item", "- b\n- [a]\n\n[a]: https://d.e", "ul(-p(b) -p(a<https://d.e>(a)))"],
    [
      "in a cell",
      "|[a]|b|\n|-|-|\n|c|[b][a]|\n\n[a]: https://d.e",
      "table[--](a<https://d.e>(a)|b / c|a<https://d.e>(b))",
    ],
    [
      "in an item of a quote of an item",
      "- > 1. b\n  > 2. [a]\n- [a]: https://d.e",
      "ul(-quote(ol1(-p(b) -p(a<https://d.e>(a)))) -)",
    ],
    [
      "but not in code or formulas",
      "`[a]` $[a]$\n\n```\n[a]\n```\n[a]: https://d.e",
      "p(`[a]` $[a]$) code:([a])",
    ],
    ["but not with a backslash", "b \\[a] [a\\]\n\n[a]: https://d.e", "p(b [a] [a])"],
    ["whose label nobody defines", "[a][b] [c][] [d]", "p([a][b] [c][] [d])"],
    ["of which only the text is defined", "[a][b]\n\n[a]: https://d.e", "p([a][b])"],
    ["in a row", "[a][b][c]\n\n[c]: https://d.e", "p([a]a<https://d.e>(b))"],
    [
      "in a row of which more is defined",
      "[a][b][c]\n\n[b]: https://d.e\n[c]: https://f.g",
      "p(a<https://d.e>(a)a<https://f.g>(c))",
    ],
    [
      "in a row whose first text is defined",
      "[a][b][c]\n\n[a]: https://d.e\n[c]: https://f.g",
      "p([a]a<https://f.g>(b))",
    ],
    [
      "in another",
      "[a [b] c][d]\n\n[b]: https://d.e\n[d]: https://f.g",
      "p([a a<https://d.e>(b) c]a<https://f.g>(d))",
    ],
    [
      "in brackets",
      "[[a]] [b [a]]\n\n[a]: https://d.e",
      "p([a<https://d.e>(a)] [b a<https://d.e>(a)])",
    ],
    [
      "behind which something stands apart",
      "[a] [b] [a]\n[] [a]: b\n\n[a]: https://d.e",
      "p(a<https://d.e>(a) [b] a<https://d.e>(a)\n[] a<https://d.e>(a): b)",
    ],
    [
      "but an address of its own goes first",
      "[a](https://f.g)\n\n[a]: https://d.e",
      "p(a<https://f.g>(a))",
    ],
    ["before what is no address", "[a](b c)\n\n[a]: https://d.e", "p(a<https://d.e>(a)(b c))"],
    [
      "but not before an address that may not be linked to",
      "[a](javascript:b)\n\n[a]: https://d.e",
      "p(noa<javascript:b>(a))",
    ],
    ["with blanks as a label", "[a][ ]\n\n[a]: https://d.e", "p(a<https://d.e>(a)[ ])"],
  ],
  "a label": [
    [
      "in another case",
      "[Ab][ÄB] [AB]\n\n[äb]: https://d.e\n[aB]: https://f.g",
      "p(a<https://d.e>(Ab) a<https://f.g>(AB))",
    ],
    [
      "that folds to more letters",
      "[ẞ] [ß]\n\n[SS]: https://d.e",
      "p(a<https://d.e>(ẞ) a<https://d.e>(ß))",
    ],
    [
      "with other blanks",
      "[ a\n  b\tc ]\n\n[a b   c]: https://d.e",
      "p(a<https://d.e>( a\nb\tc ))",
    ],
    ["on several lines", "[a b]\n\n[\na\nb\n]: https://d.e", "p(a<https://d.e>(a b))"],
    [
      "with backslashes, as they are",
      "[a\\]] [b!]\n\n[a\\]]: https://d.e\n[b\\!]: https://d.e",
      "p(a<https://d.e>(a]) [b!])",
    ],
    [
      "called as what objects have",
      "[constructor] [__proto__]\n\n[__proto__]: https://d.e",
      "p([constructor] a<https://d.e>(strong(proto)))",
    ],
    [
      "of a footnote is none",
      "a[^b] [^c]\n\n[^b]: https://d.e",
      "p(anoteb [^c]) note<b>(a<https://d.e>(https://d.e))",
    ],
    ["before a footnote", "[a][^1]\n\n[a]: https://d.e", "p(a<https://d.e>(a)[^1])"],
    ["before a cite", "[a]\u{FDD0}1\u{FDD2}\n\n[a]: https://d.e", "p(a<https://d.e>(a)cite1)"],
    [
      "with a cite is none",
      "[a\u{FDD0}1\u{FDD2}]\n\n[a\u{FDD0}1\u{FDD2}]: https://d.e",
      "p([acite1]) p([acite1]: a<https://d.e>(https://d.e))",
    ],
    ["that is empty is none", "[]\n\n[]: https://d.e", "p([]) p([]: a<https://d.e>(https://d.e))"],
    [
      "with a bracket is none",
      "[a[b]: https://d.e\n\n[a[b]",
      "p([a[b]: a<https://d.e>(https://d.e)) p([a[b])",
    ],
    [
      "that is too long is none",
      `[${"a".repeat(1000)}]: https://d.e\n\n[b]`,
      `p([${"a".repeat(1000)}]: a<https://d.e>(https://d.e)) p([b])`,
    ],
  ],
  "a definition": [
    ["alone shows nothing", "[a]: https://d.e", ""],
    ["that came first counts", "[a]\n\n[a]: https://d.e\n[A]: https://f.g", "p(a<https://d.e>(a))"],
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
    ["in angles", "[a]: <https://d.e/f g>\n\n[a]", "p(a<https://d.e/f g>(a))"],
    ["with brackets in its address", "[a]: https://d.e/f_(g)\n\n[a]", "p(a<https://d.e/f_(g)>(a))"],
    ["without a blank", "[a]:https://d.e\n[a]", "p(a<https://d.e>(a))"],
    ["in a quote", "[a]\n\n> [a]: https://d.e", "p(a<https://d.e>(a)) quote()"],
    ["behind a list", "- [a]\n[a]: https://d.e", "ul(-p(a<https://d.e>(a)))"],
    ["behind a table", "|[a]|\n|-|\n[a]: https://d.e", "table[-](a<https://d.e>(a))"],
    [
      "behind a heading and before a quote",
      "# [a]\n[a]: https://d.e\n> b",
      "h1(a<https://d.e>(a)) quote(p(b))",
    ],
    [
      "before a heading with a line below",
      "[a]: https://d.e\nb\n===\n[a]",
      "h1(b) p(a<https://d.e>(a))",
    ],
    ["is no such heading itself", "[a]: https://d.e\n===\n[a]", "p(===\na<https://d.e>(a))"],
    ["before a table", "[a]: https://d.e\n|[a]|\n|-|", "table[-](a<https://d.e>(a))"],
    ["makes an item loose", "- a\n- b\n\n  [c]: https://d.e\n- d", "ul(-p(a) --p(b) -p(d))"],
    [
      "with lines that end as on Windows",
      "[a]: https://d.e\r\n\r\n[a]\r\n",
      "p(a<https://d.e>(a))",
    ],
    [
      "behind which words stand is none",
      `[a]: https://d.e "t" u\n[a]`,
      `p([a]: a<https://d.e>(https://d.e) "t" u\n[a])`,
    ],
    ["before a line that is no title", `[a]: https://d.e\n"t" u [a]`, `p("t" u a<https://d.e>(a))`],
    [
      "before a title that does not end",
      `[a]: https://d.e\n"t [a]\nu\n\n[a]`,
      `p("t a<https://d.e>(a)\nu) p(a<https://d.e>(a))`,
    ],
    [
      "whose own title does not end is none",
      `[a]: https://d.e "t\n\nu" [a]`,
      `p([a]: a<https://d.e>(https://d.e) "t) p(u" [a])`,
    ],
    [
      "with a title right at its address is none",
      "[a]: <https://d.e>(t)\n\n[a]",
      "p([a]: a<https://d.e>(https://d.e)(t)) p([a])",
    ],
    [
      "that a line below it makes a heading is none",
      "[a]:\n---\n\n[0, 1)\n===",
      "h2([a]:) h1([0, 1))",
    ],
    ["that dashes make a table is none", "[0, 1) | b\n---|---\nc | d", "table[--]([0, 1)|b / c|d)"],
    ["without an address is none", "[a]:\n\n[a]", "p([a]:) p([a])"],
    ["in code is none", "```\n[a]: https://d.e\n```\n[a]", "code:([a]: https://d.e) p([a])"],
    [
      "in a paragraph is none",
      "b\n[a]: https://d.e\n\n[a]",
      "p(b\n[a]: a<https://d.e>(https://d.e)) p([a])",
    ],
    [
      "with a backslash is none",
      "\\[a]: https://d.e\n\n[a]",
      "p([a]: a<https://d.e>(https://d.e)) p([a])",
    ],
    [
      "of what would be run makes no link",
      "[a] [b]\n\n[a]: javascript:alert(1)\n\n[b]: <data:text/html,x>",
      "p(noa<javascript:alert(1)>(a) noa<data:text/html,x>(b))",
    ],
    ["of a place of the writer makes no link", "[a]\n\n[a]: ./b\n\n[a]: //d.e", "p(noa<./b>(a))"],
    [
      "is not what somebody says",
      "[Ann]: Hello\n\n[Bob]: Hello, [Ann]",
      "p([Ann]: Hello) p([Bob]: Hello, [Ann])",
    ],
    [
      "with a cite in its address",
      "[a]: https://d.e/\u{FDD0}1\u{FDD2}\n\n[a]",
      "p(a<https://d.e/[^1]>(a))",
    ],
  ],
};

describe.each(Object.entries(cases))("%s", (_, all) => {
  test.each(all)("%s", (_what, markdown, expected) => {
    expect(shown(markdown)).toBe(expected);
  });
});

test("it does not matter whether definitions stand before what uses them or behind it", () => {
  fc.assert(
    fc.property(anyMarkdown, (text) => {
      const found = [...text.matchAll(/\[([^[\]]*)\]/g)].map(([, label = ""]) =>
        label.replaceAll(/\s+/g, " ").trim(),
      );
      const labels = [...new Set(found)].filter((label) =>
        /^[\p{L}\p{N}][\p{L}\p{N} ]*$/u.test(label),
      );
      const uses = parseMarkdown([...labels.map((label) => `[${label}]`), text].join("\n\n"));
      const first = labels.map((label, nth) => {
        const use = uses[nth];
        const link = use?.type === "paragraph" ? use.inline[0] : undefined;
        return link?.type === "link" ? `[${label}]: <${link.url}>\n` : "";
      });
      expect(blocksShown(parseMarkdown(`${first.join("")}\n${text}`))).toBe(shown(text));
    }),
    runs(300),
  );
});
