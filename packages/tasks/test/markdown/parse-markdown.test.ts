import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMarkdown } from "@deltawire/tasks/markdown";
import { propertyRuns } from "../../../../test/property-runs.ts";
import { anyMarkdown } from "./arbitrary-markdown.ts";
import { formatMarkdown } from "./format-blocks.ts";

const cases: Record<string, [what: string, markdown: string, expected: string][]> = {
  headings: [
    ["of every level", "# a\n###### b\n####### c", "h1(a) h6(b) p(####### c)"],
    ["closed by hashes", "## a ##\n# C#", "h2(a) h1(C#)"],
    ["underlined", "a\n===\n\nb\n---", "h1(a) h2(b)"],
    ["underlined by one character", "a\n-\nb\n=", "h2(a) h1(b)"],
    ["of several lines", "a\nb\n---", "h2(a\nb)"],
    ["but not indented code", "    # a\n\nb\n    # c", "code:(# a) p(b\n# c)"],
    ["but not hashtags", "#a", "p(#a)"],
  ],
  lists: [
    ["nested", "- a\n  - b\n    - c\n- d", "ul(-p(a) ul(-p(b) ul(-p(c))) -p(d))"],
    [
      "nested in numbered lists, indented by two",
      "1. a\n  - b\n2. c",
      "ol1(-p(a) ul(-p(b)) -p(c))",
    ],
    ["indented by tabs", "- a\n\t- b", "ul(-p(a) ul(-p(b)))"],
    ["with blank lines", "- a\n\n- b\n- c", "ul(--p(a) --p(b) -p(c))"],
    ["with several paragraphs", "- a\n\n  b\n- c", "ul(--p(a) p(b) -p(c))"],
    ["with code", "1. a\n   ```js\n   b\n     c\n   ```\n2. d", "ol1(-p(a) code:js(b\n  c) -p(d))"],
    [
      "with fenced code that is not indented",
      "- a\n  ```\nb\n- c\n  ```\n- d",
      "ul(-p(a) code:(b\n- c) -p(d))",
    ],
    ["with any start number", "7) a\n8) b", "ol7(-p(a) -p(b))"],
    ["followed by another kind", "- a\n1. b", "ul(-p(a)) ol1(-p(b))"],
    ["directly after text", "a:\n- b\n\nc:\n1. d", "p(a:) ul(-p(b)) p(c:) ol1(-p(d))"],
    ["but not dates at the start of a line", "on\n14. July", "p(on\n14. July)"],
    [
      "separated by another delimiter",
      "1) a\n2. b\n\n- c\n+ d",
      "ol1(-p(a)) ol2(-p(b)) ul(-p(c)) ul(-p(d))",
    ],
    [
      "nested in two-digit numbers, indented by three",
      "10. a\n   - b\n\n   c\n11. d",
      "ol10(--p(a) ul(-p(b)) p(c) -p(d))",
    ],
    ["that unindented text ends", "- a\n**b**\n- c", "ul(-p(a)) p(strong(b)) ul(-p(c))"],
    ["with indented continuation lines", "- a\n  b\n c", "ul(-p(a\nb\nc))"],
    ["of checkboxes", "- [ ] a\n- [x] b\n- [y] c", "ul(-[ ]p(a) -[x]p(b) -p([y] c))"],
    ["but not a number alone", "42.", "p(42.)"],
    ["with empty items", "-\n- a\n-", "ul(- -p(a) -)"],
    ["with quotes", "- > a\n  > b", "ul(-quote(p(a\nb)))"],
  ],
  code: [
    ["with a language", "```c++ title=x\na\n```", "code:c++(a)"],
    ["that is unclosed", "```\na", "code…:(a)"],
    ["in more backticks", "````md\n```js\na\n```\n````", "code:md(```js\na\n```)"],
    ["between tildes", "~~~\n```\n~~~", "code:(```)"],
    ["that ends with its quote", "> ```\n> a\nb", "quote(code…:(a)) p(b)"],
    ["with blank lines at both ends", "```\n\na\n\n```", "code:(\na\n)"],
    ["that is empty", "```\n```", "code:()"],
    ["with tabs", "```\n\ta\n```", "code:(\ta)"],
    ["that is indented", "    a\n\n      b\n\nc\n    d", "code:(a\n\n  b) p(c\nd)"],
    ["that is indented in an item", "- a\n\n      b\n\n  c", "ul(--p(a) code:(b) p(c))"],
    ["but not three backticks in one line", "``` a ``` b", "p(`a` b)"],
  ],
  quotes: [
    ["nested", "> a\n>> b\n> c", "quote(p(a) quote(p(b)) p(c))"],
    ["of lists", "> - a\n> - b", "quote(ul(-p(a) -p(b)))"],
    ["with blank lines", "> a\n>\n> b", "quote(p(a) p(b))"],
    ["that text without a marker ends", "> a\nb", "quote(p(a)) p(b)"],
  ],
  tables: [
    ["with alignment", "|a|b|c|d|\n|:-|:-:|-:|-|\n|1|2|3|4|", "table[lcr-](a|b|c|d / 1|2|3|4)"],
    ["without outer bars", "a | b\n--- | ---\n1 | 2", "table[--](a|b / 1|2)"],
    ["with bars in code", "|a|b|\n|-|-|\n|`x|y`|z|", "table[--](a|b / `x|y`|z)"],
    ["with rows of any length", "|a|b|\n|-|-|\n|1|\n|1|2|3|", "table[--](a|b / 1| / 1|2)"],
    ["with line breaks", "|a|\n|-|\n|b<br>c|", "table[-](a / b⏎c)"],
    ["in items", "- a\n\n  |b|\n  |-|\n  |c|", "ul(--p(a) table[-](b / c))"],
  ],
  mathematics: [
    ["in a line", String.raw`$a+b$ and \(c\) and $$d$$`, "p($a+b$ and $c$ and $d$)"],
    ["as blocks", "$$\na\nb\n$$\n\\[\nc\n\\]", "math(a\nb) math(c)"],
    ["as blocks on one line", "$$ a $$\n\\[ b \\]", "math(a) math(b)"],
    ["in an item", "1. a\n   $$\n   b\n   $$", "ol1(-p(a) math(b))"],
    ["next to Chinese text", "设$x$为数，$y$。", "p(设$x$为数，$y$。)"],
    ["but not prices", "$5 and $6, 5$ or 6$, US$7-$8", "p($5 and $6, 5$ or 6$, US$7-$8)"],
    ["but not prices per month", "$5/month, or 50$/year", "p($5/month, or 50$/year)"],
    ["but not shell variables", "$HOME and $PATH, $A/$B", "p($HOME and $PATH, $A/$B)"],
    ["but not escaped dollars", String.raw`\$a\$ and $b`, "p($a$ and $b)"],
    ["but not escaped brackets", String.raw`as in \[1\] and \[a\]`, "p(as in [1] and [a])"],
    ["but nothing with a blank line", "$$ a\n\nb", "p($$ a) p(b)"],
    ["with asterisks that are not emphasis", "$a*b$ *c* $d*e$", "p($a*b$ em(c) $d*e$)"],
  ],
  emphasis: [
    [
      "nested",
      "***a*** **b *c* d** *e **f** g*",
      "p(em(strong(a)) strong(b em(c) d) em(e strong(f) g))",
    ],
    [
      "next to Chinese punctuation",
      "**注意：**这里 是**“他”**的",
      "p(strong(注意：)这里 是strong(“他”)的)",
    ],
    ["directly before a word", "**Note:**text", "p(strong(Note:)text)"],
    ["by underscores", "_a_ __b__ (_c_)", "p(em(a) strong(b) (em(c)))"],
    ["but not identifiers", "snake_case_name a_b_ _c_d", "p(snake_case_name a_b_ _c_d)"],
    ["but not products", "2*3*4 and 2 * 3 * 4", "p(2*3*4 and 2 * 3 * 4)"],
    ["as strikethrough", "~~a~~ ~b~ ~~c~ ~~~d~~~", "p(del(a) del(b) ~~c~ ~~~d~~~)"],
    ["with unmatched delimiters inside", "*foo**bar* *a __b c__", "p(em(foo**bar) *a strong(b c))"],
    ["that is unclosed", "**a *b", "p(**a *b)"],
    ["over lines", "**a\nb**", "p(strong(a\nb))"],
    ["that is empty", "**** a ** b", "p(**** a ** b)"],
  ],
  links: [
    ["with parentheses", "[a](https://b.c/d_(e))", "p(a<https://b.c/d_(e)>(a))"],
    [
      "with a title",
      `[a](https://b.c "t") [d](<https://e.f/g h>)`,
      "p(a<https://b.c>(a) a<https://e.f/g h>(d))",
    ],
    ["with code in the label", "[`a[0]`](https://b.c)", "p(a<https://b.c>(`a[0]`))"],
    [
      "with an image in the label",
      "[![a](https://b.c/d)](https://e.f)",
      "p(a<https://e.f>(noimage<https://b.c/d>(a)))",
    ],
    ["with a URL as the label", "[https://b.c](https://b.c)", "p(a<https://b.c>(https://b.c))"],
    ["without a label", "[](https://b.c)", "p(a<https://b.c>(https://b.c))"],
    ["in bold", "**[a](https://b.c)**", "p(strong(a<https://b.c>(a)))"],
    [
      "bare",
      "(https://a.b/c_(d)), https://e.f.",
      "p((a<https://a.b/c_(d)>(https://a.b/c_(d))), a<https://e.f>(https://e.f).)",
    ],
    ["bare in Chinese", "看https://a.b/c，好。", "p(看a<https://a.b/c>(https://a.b/c)，好。)"],
    ["bare in bold", "**https://a.b**", "p(strong(a<https://a.b>(https://a.b)))"],
    [
      "in angle brackets",
      "<https://a.b> <mailto:a@b.c>",
      "p(a<https://a.b>(https://a.b) a<mailto:a@b.c>(mailto:a@b.c))",
    ],
    ["to email addresses", "[a](mailto:b@c.d)", "p(a<mailto:b@c.d>(a))"],
    [
      "with executable URLs",
      "[a](javascript:b) [c](data:text/html,d) [e](JaVaScRiPt:f)",
      "p(noa<javascript:b>(a) noa<data:text/html,d>(c) noa<JaVaScRiPt:f>(e))",
    ],
    [
      "with local destinations",
      "[a](./b) [c](//d.e) [f](#g) [h](/api/chats)",
      "p(noa<./b>(a) noa<//d.e>(c) noa<#g>(f) noa</api/chats>(h))",
    ],
    ["to files", "[guide](docs/x.md) ![](a.png)", "p(noa<docs/x.md>(guide) noimage<a.png>(a.png))"],
    [
      "as images",
      "![a](https://b.c) ![d](/api/blobs/0f)",
      "p(image<https://b.c>(a) image</api/blobs/0f>(d))",
    ],
    [
      "in links",
      "[a [b](https://c.d) e](https://f.g)",
      "p([a a<https://c.d>(b) e](a<https://f.g>(https://f.g)))",
    ],
  ],
  comments: [
    ["on a line of their own", "a\n<!-- b -->\nc", "p(a) p(c)"],
    [
      "over several lines, including blank ones",
      "a\n\n<!-- b\n\n# c\n- d --> e\n\nf",
      "p(a) p(e) p(f)",
    ],
    [
      "in items and quotes",
      "- a\n  <!-- b -->\n- c\n\n> <!-- d\n> e -->\n> f",
      "ul(-p(a) -p(c)) quote(p(f))",
    ],
    ["that are unclosed are text", "<!-- a\n\nb", "p(<!-- a\n\nb)"],
    ["in code are code", "```\n<!-- a -->\n```", "code:(<!-- a -->)"],
  ],
  "details elements": [
    [
      "with a summary",
      "<details>\n<summary>**A** b</summary>\n\n- c\n\n</details>\n\nd",
      "details<strong(A) b>(ul(-p(c))) p(d)",
    ],
    [
      "on one line",
      "<details open><summary>a</summary>b</details> c",
      "details+<a>(p(b</details> c))",
    ],
    [
      "closed at the end of a line",
      "<details><summary>a</summary>b</details>\nc",
      "details<a>(p(b)) p(c)",
    ],
    ["without a summary and a closing tag", "<details>\na\n\nb", "details<>(p(a) p(b))"],
    [
      "nested",
      "<details>\n<details>\na\n</details>\nb\n</details>\nc",
      "details<>(details<>(p(a)) p(b)) p(c)",
    ],
    [
      "that end with their list item",
      "- <details>\n  <summary>a</summary>\n  b\n\nc",
      "ul(-details<a>(p(b))) p(c)",
    ],
    [
      "with a closing tag in code",
      "<details>\n```\n</details>\n```\n</details>",
      "details<>(code:(</details>))",
    ],
    [
      "with other attributes, which are text",
      "<details onclick=a>\nb",
      "html(<details onclick=a>\nb)",
    ],
    [
      "closing tags alone, which are text",
      "</details>\n<summary>a</summary>",
      "html(</details>\n<summary>a</summary>)",
    ],
  ],
  footnotes: [
    [
      "by number and by name",
      "a[^1] b[^note].\n\n[^1]: **c**\n[^Note]: d\ne",
      "p(anote1 bnotenote.) note<1>(strong(c)) note<Note>(d\ne)",
    ],
    ["that are not defined", "a[^1] [^b c]", "p(a[^1] [^b c])"],
    [
      "that are encoded as citations",
      "a\u{FDD1}1\u{FDD2}\u{FDD0}2\u{FDD2}\n\n\u{FDD1}1\u{FDD2}: b",
      "p(anote1cite2) note<1>(b)",
    ],
    ["in code are code", "`[^1]`\n\n[^1]: a", "p(`[^1]`) note<1>(a)"],
    [
      "in emphasis and in tables",
      "*a[^x]*\n\n|b[^x]|\n|-|\n\n[^x]: c",
      "p(em(anotex)) table[-](bnotex) note<x>(c)",
    ],
    [
      "followed by a destination",
      "[^x](https://a.b)\n\n[^x]: c",
      "p(notex(a<https://a.b>(https://a.b))) note<x>(c)",
    ],
  ],
  "inline syntax": [
    ["code", "``a ` b`` `` ` `` `c\nd`", "p(`a ` b` ``` `c d`)"],
    ["escapes", String.raw`\*a\* \[b\](c) \\`, String.raw`p(*a* [b](c) \)`],
    ["hard breaks", "a  \nb\\\nc", "p(a⏎b⏎c)"],
    ["lines", "a\nb", "p(a\nb)"],
    [
      "named entities",
      "a &lt;b&gt; &amp; &copy; &Eacute;&szlig;&alpha;&Omega; &hellip; &rarr; &nosuch; &sub;",
      "p(a <b> & © Éßα… → &nosuch; ⊂)".replace("α…", "αΩ …"),
    ],
    [
      "numeric entities",
      "&#65;&#x1F600;&#X41; &#128; &#xD800;&#0;&#9999999;",
      "p(A😀A \u0080 \uFFFD\uFFFD\uFFFD)",
    ],
    ["entities of special characters", "&#42;a&#42; &lt;sub&gt; &#xFDD0;1", "p(*a* <sub> 1)"],
    ["entities in code", "`&amp; &#65;`", "p(`&amp; &#65;`)"],
    [
      "HTML, which is text",
      "<b>a</b> <sub class='x'>b</sub> <u>c</u>",
      "p(<b>a</b> <sub class='x'>b</sub> <u>c</u>)",
    ],
    [
      "subscript, superscript and keys",
      "H<sub>2</sub>O x<SUP>**2**</SUP> <kbd>Ctrl</kbd>",
      "p(Hsub(2)O xsup(strong(2)) kbd(Ctrl))",
    ],
    ["nested tags", "a<sup>b<sub>c</sub></sup>", "p(asup(bsub(c)))"],
    ["tags without a partner", "a<sub>b </sup> **c</sub>**", "p(asub(b </sup> **c)**)"],
    ["tags in code", "`<sub>a</sub>`", "p(`<sub>a</sub>`)"],
    ["comments in a line", "a<!-- b -->c `<!-- d -->` <!-- e", "p(ac `<!-- d -->` <!-- e)"],
    [
      "HTML blocks, which are text",
      "<script>\nalert(1)\n\n*a*</script>\n<div>\n*b*\n\n*c*",
      "html(<script>\nalert(1)\n\n*a*</script>) html(<div>\n*b*) p(em(c))",
    ],
    [
      "unknown tags",
      "<answer>\n**a**\n</answer>\n\n<span class='b'>\n*c*",
      "p(<answer>\nstrong(a)\n</answer>) html(<span class='b'>\n*c*)",
    ],
    ["markers without annotations", "a [^1]", "p(a [^1])"],
    ["CRLF line endings", "a\r\n\r\n- b\r\n", "p(a) ul(-p(b))"],
  ],
};

describe.each(Object.entries(cases))("%s", (_, examples) => {
  test.each(examples)("%s", (_description, markdown, expected) => {
    expect(formatMarkdown(markdown)).toBe(expected);
  });
});

function listStrings(value: unknown, key: string): { key: string; text: string }[] {
  if (typeof value === "string") return [{ key, text: value }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => listStrings(one, name));
}

test("links of any Markdown have no executable URLs, and text has no citation marks", () => {
  fc.assert(
    fc.property(anyMarkdown, (markdown) => {
      const strings = listStrings(parseMarkdown(markdown), "");
      const urls = strings.filter(({ key }) => key === "url").map(({ text }) => text);
      expect(urls.filter((url) => !/^(?:https?:\/\/|mailto:|\/api\/blobs\/)/i.test(url))).toEqual(
        [],
      );
      expect(strings.filter(({ text }) => /[\u{FDD0}-\u{FDD2}]/u.test(text))).toEqual([]);
    }),
    propertyRuns(300),
  );
});
