import { describe, expect, test } from "vitest";
import { parseMarkdown } from "@deltawire/tasks/markdown";
import { toSpecHtml } from "./spec-html.ts";

/*
 * The extensions of GitHub Flavored Markdown, rule by rule. The expected HTML is that of the specification
 * (https://github.github.com/gfm/). The descriptions are our own.
 */

function table(head: string, ...rows: string[]): string {
  const row = (cells: string, tag: string) =>
    `<tr>\n${cells
      .split("|")
      .map((cell) => `<${tag}>${cell}</${tag}>\n`)
      .join("")}</tr>\n`;
  const body = rows.map((cells) => row(cells, "td")).join("");
  return `<table>\n<thead>\n${row(head, "th")}</thead>\n${body && `<tbody>\n${body}</tbody>\n`}</table>`;
}

const box = (checked: boolean) =>
  `<input ${checked ? 'checked="" ' : ""}disabled="" type="checkbox">`;

const link = (url: string, text = url) => `<a href="${url}">${text}</a>`;

const cases: Record<string, [rule: string, markdown: string, html: string][]> = {
  tables: [
    [
      "have a head and rows",
      "| foo | bar |\n| --- | --- |\n| baz | bim |",
      table("foo|bar", "baz|bim"),
    ],
    [
      "align columns by colons, and do not need outer bars",
      "| abc | defghi |\n:-: | -----------:\nbar | baz",
      table("abc|defghi", "bar|baz")
        .replaceAll(/<(t[hd])>(abc|bar)/g, '<$1 align="center">$2')
        .replaceAll(/<(t[hd])>(defghi|baz)/g, '<$1 align="right">$2'),
    ],
    [
      "have escaped bars in cells, even in code",
      "| f\\|oo |\n| ------ |\n| b `\\|` az |\n| b **\\|** im |",
      table("f|oo", "b <code>|</code> az", "b <strong>|</strong> im")
        .replace("<th>f</th>\n<th>oo</th>", "<th>f|oo</th>")
        .replace("<td>b <code></td>\n<td></code> az</td>", "<td>b <code>|</code> az</td>")
        .replace("<td>b <strong></td>\n<td></strong> im</td>", "<td>b <strong>|</strong> im</td>"),
    ],
    [
      "end at the start of another block",
      "| abc | def |\n| --- | --- |\n| bar | baz |\n> bar",
      `${table("abc|def", "bar|baz")}\n<blockquote>\n<p>bar</p>\n</blockquote>`,
    ],
    [
      "continue to a blank line, with any line as a row",
      "| abc | def |\n| --- | --- |\n| bar | baz |\nbar\n\nbar",
      `${table("abc|def", "bar|baz", "bar|")}\n<p>bar</p>`,
    ],
    [
      "need a delimiter row with as many cells as the head",
      "| abc | def |\n| --- |\n| bar |",
      "<p>| abc | def |\n| --- |\n| bar |</p>",
    ],
    [
      "drop additional cells of a row, and add missing ones",
      "| abc | def |\n| --- | --- |\n| bar |\n| bar | baz | boo |",
      table("abc|def", "bar|", "bar|baz"),
    ],
    [
      "add missing cells with the alignment of the column",
      "| a | b | c |\n|:--|:-:|--:|\n| short |",
      table("a|b|c", "short||").replaceAll(
        /<(t[dh])>(.*)\n<\1>(.*)\n<\1>/g,
        '<$1 align="left">$2\n<$1 align="center">$3\n<$1 align="right">',
      ),
    ],
    ["need no rows", "| abc | def |\n| --- | --- |", table("abc|def")],
    ["may follow a paragraph", "words\n| abc |\n| --- |", `<p>words</p>\n${table("abc")}`],
    [
      "have inline syntax within each cell",
      "| *a | b* |\n| --- | --- |\n| ~~c~~ | `d` |",
      table("*a|b*", "<del>c</del>|<code>d</code>"),
    ],
    ["need a dash in each column", "| a |\n| :: |", "<p>| a |\n| :: |</p>"],
  ],
  "task lists": [
    [
      "have checkboxes",
      "- [ ] foo\n- [x] bar\n- [X] baz",
      `<ul>\n<li>${box(false)} foo</li>\n<li>${box(true)} bar</li>\n<li>${box(true)} baz</li>\n</ul>`,
    ],
    [
      "can be nested",
      "- [x] foo\n  - [ ] bar\n  - [x] baz\n- [ ] bim",
      `<ul>\n<li>${box(true)} foo\n<ul>\n<li>${box(false)} bar</li>\n<li>${box(true)} baz</li>\n</ul>\n</li>\n<li>${box(false)} bim</li>\n</ul>`,
    ],
    [
      "can be numbered",
      "1. [ ] foo\n2. [x] bar",
      `<ol>\n<li>${box(false)} foo</li>\n<li>${box(true)} bar</li>\n</ol>`,
    ],
    [
      "need a space after the checkbox",
      "- [x]foo\n- [y] bar\n- [] baz",
      "<ul>\n<li>[x]foo</li>\n<li>[y] bar</li>\n<li>[] baz</li>\n</ul>",
    ],
  ],
  strikethrough: [
    ["uses two tildes", "~~Hi~~ Hello", "<p><del>Hi</del> Hello</p>"],
    ["uses one tilde", "~Hi~ Hello", "<p><del>Hi</del> Hello</p>"],
    ["does not mix one and two tildes", "~~Hi~ Hello", "<p>~~Hi~ Hello</p>"],
    ["does not use three tildes", "a ~~~Hi~~~ Hello", "<p>a ~~~Hi~~~ Hello</p>"],
    [
      "does not span paragraphs",
      "This ~~has a\n\nnew paragraph~~.",
      "<p>This ~~has a</p>\n<p>new paragraph~~.</p>",
    ],
    [
      "contains other inline syntax",
      "~~a *b* `c`~~",
      "<p><del>a <em>b</em> <code>c</code></del></p>",
    ],
  ],
  autolinks: [
    [
      "start with www.",
      "www.commonmark.org",
      `<p>${link("http://www.commonmark.org", "www.commonmark.org")}</p>`,
    ],
    [
      "can have a path",
      "Visit www.commonmark.org/help for more.",
      `<p>Visit ${link("http://www.commonmark.org/help", "www.commonmark.org/help")} for more.</p>`,
    ],
    [
      "end before punctuation",
      "Visit www.commonmark.org.\n\nVisit www.commonmark.org/a.b.",
      `<p>Visit ${link("http://www.commonmark.org", "www.commonmark.org")}.</p>\n<p>Visit ${link("http://www.commonmark.org/a.b", "www.commonmark.org/a.b")}.</p>`,
    ],
    [
      "end before an unbalanced parenthesis",
      "(www.a.bc/q=(d)) www.a.bc/q=(d))) (www.a.bc/q",
      `<p>(${link("http://www.a.bc/q=(d)", "www.a.bc/q=(d)")}) ${link("http://www.a.bc/q=(d)", "www.a.bc/q=(d)")})) (${link("http://www.a.bc/q", "www.a.bc/q")}</p>`,
    ],
    [
      "include a parenthesis if text follows",
      "www.a.bc/q=(d))+ok",
      `<p>${link("http://www.a.bc/q=(d))+ok", "www.a.bc/q=(d))+ok")}</p>`,
    ],
    [
      "end before a trailing entity",
      "www.a.bc/q=d&hl=en www.a.bc/q=d&hl;",
      `<p>${link("http://www.a.bc/q=d&amp;hl=en", "www.a.bc/q=d&amp;hl=en")} ${link("http://www.a.bc/q=d", "www.a.bc/q=d")}&amp;hl;</p>`,
    ],
    [
      "end at a <",
      "www.commonmark.org/he<lp",
      `<p>${link("http://www.commonmark.org/he", "www.commonmark.org/he")}&lt;lp</p>`,
    ],
    [
      "can have a scheme",
      "http://commonmark.org (see https://a.bc/d+(e)) ftp://foo.bar.baz.",
      `<p>${link("http://commonmark.org")} (see ${link("https://a.bc/d+(e)")}) ${link("ftp://foo.bar.baz")}.</p>`,
    ],
    [
      "start after punctuation, but not within a word",
      "*www.a.bc*, (www.a.bc) xwww.a.bc xhttp://a.bc",
      `<p><em>${link("http://www.a.bc", "www.a.bc")}</em>, (${link("http://www.a.bc", "www.a.bc")}) xwww.a.bc xhttp://a.bc</p>`,
    ],
    [
      "must not have underscores in the last two labels of the host",
      "http://a_b.c.d http://a.b_c.d http://a.b.c_d",
      `<p>${link("http://a_b.c.d")} http://a.b_c.d http://a.b.c_d</p>`,
    ],
    [
      "can be email addresses",
      "foo@bar.baz",
      `<p>${link("mailto:foo@bar.baz", "foo@bar.baz")}</p>`,
    ],
    [
      "for email have a plus only before the @",
      "hello@mail+xyz.example is not, hello+xyz@mail.example is.",
      `<p>hello@mail+xyz.example is not, ${link("mailto:hello+xyz@mail.example", "hello+xyz@mail.example")} is.</p>`,
    ],
    [
      "for email must not end with a dash or underscore, and end before a dot",
      "a.b-c_d@a.b a.b-c_d@a.b. a.b-c_d@a.b- a.b-c_d@a.b_",
      `<p>${link("mailto:a.b-c_d@a.b", "a.b-c_d@a.b")} ${link("mailto:a.b-c_d@a.b", "a.b-c_d@a.b")}. a.b-c_d@a.b- a.b-c_d@a.b_</p>`,
    ],
    [
      "for email can have a scheme",
      "mailto:foo@bar.baz mailto:a.b-c_d@a.b_ mailto:a.b-c_d@a.b/ xmpp:foo@bar.baz xmpp:foo@bar.baz/txt@bin xmpp:foo@bar.baz/txt/bin",
      `<p>${link("mailto:foo@bar.baz")} mailto:a.b-c_d@a.b_ ${link("mailto:a.b-c_d@a.b")}/ ${link("xmpp:foo@bar.baz")} ${link("xmpp:foo@bar.baz/txt@bin")} ${link("xmpp:foo@bar.baz/txt")}/bin</p>`,
    ],
    [
      "are not found in code and links",
      "`www.a.bc` [foo@bar.baz](/a)",
      `<p><code>www.a.bc</code> ${link("/a", "foo@bar.baz")}</p>`,
    ],
  ],
};

describe.each(Object.entries(cases))("%s", (_, examples) => {
  test.each(examples)("%s", (_rule, markdown, html) => {
    expect(toSpecHtml(parseMarkdown(markdown)).trim()).toBe(html);
  });
});
