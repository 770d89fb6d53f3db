import fc from "fast-check";
import { expect, test } from "vitest";
import { measureLongestBlock } from "../../../test/cpu-time.ts";
import { htmlToText } from "../src/tool-groups/html-to-text.ts";
import { htmlPages, pageAddress } from "./html-pages.ts";

const convert = async (html: string): Promise<string> => (await htmlToText(html, pageAddress)).text;

test.each(htmlPages)("a page with $name is converted to text", async ({ html, text }) => {
  expect(await convert(html)).toBe(text);
});

test("the title is the first <title> outside of SVG", async () => {
  const getTitle = async (html: string): Promise<string> =>
    (await htmlToText(html, pageAddress)).title;
  expect(await getTitle("<title>a <b>\n &amp; c</title><title>second</title>")).toBe("a <b> & c");
  expect(await getTitle("<svg><title>icon</title></svg><title>Page</title>")).toBe("Page");
  expect(await getTitle(`<title>${"x".repeat(1000)}</title>`)).toHaveLength(300);
});

test("unclosed elements end with the page", async () => {
  expect(await convert("a < b and c<d")).toBe("a < b and c");
  expect(await convert("x<script>never closed")).toBe("x");
  expect(await convert("x<!-- never closed")).toBe("x");
  expect(await convert("x<textarea>never closed")).toBe("x");
  expect(await convert("<pre>never closed")).toBe("```\nnever closed\n```");
  expect(await convert("</p></nav></pre>x")).toBe("x");
});

test("any input is accepted, and in text without markup only whitespace changes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (html) => {
      await htmlToText(html, pageAddress);
      const words = html.replace(/[<&]/g, "").replace(/\s+/g, " ").trim();
      expect(await convert(words)).toBe(words);
    }),
  );
});

test("the result does not depend on where a page is split into slices", async () => {
  for (const { html, text } of htmlPages) {
    // Spaces before the page move it across the boundary of two slices.
    const boundary = 64 * 1024;
    for (let shift = 0; shift < html.length; shift += 7)
      expect(await convert(" ".repeat(boundary - shift) + html)).toBe(text);
  }
});

test("text that is nested deeper than the maximum is included", async () => {
  const deep = `${"<div>".repeat(2_000)}<p>Down <b>here</b></p>${"</div>".repeat(2_000)}<p>Up`;
  expect(await convert(deep)).toBe("Down here\n\nUp");
  const wrapped = `<nav>${"<i>".repeat(600)}<script>if (a < b) {}</script><img alt="x">end`;
  expect(await convert(wrapped)).toBe("[image: x]end");
  const links = `<pre>${"<b>".repeat(510)}<a href="y">one<i>two</i></a></pre><p>three`;
  expect(await convert(links)).toBe(
    "```\n[one](https://pages.example/docs/y)\n```\n\ntwo\n\nthree",
  );
});

const megabyte = 1024 * 1024;

test.each([
  ["spaces", " ".repeat(2 * megabyte)],
  ["preformatted spaces", `<pre>${" ".repeat(megabyte)}x`],
  ["preformatted line breaks", `<pre>${"\n".repeat(megabyte)}x`],
  ["opening brackets", "<".repeat(2 * megabyte)],
  ["open tags", "<a ".repeat(megabyte / 3)],
  ["open quotes", '<a href="'.repeat(megabyte / 9)],
  ["open comments", "<!--".repeat(megabyte / 4)],
  ["open scripts", "<script>".repeat(megabyte / 8)],
  ["nested blocks", "<div>".repeat(megabyte / 5)],
  ["nested closed blocks", `${"<div>".repeat(100_000)}x${"</div>".repeat(100_000)}`],
  ["nested navigation", "<nav>x".repeat(megabyte / 6)],
  ["nested preformatted text", "<pre>x".repeat(megabyte / 6)],
  ["unmatched end tags below open tags", "<b>".repeat(120_000) + "</i>".repeat(170_000)],
  ["paragraph end tags below open tags", "<b>".repeat(120_000) + "</p>".repeat(170_000)],
  ["forms below open tags", "<b>".repeat(120_000) + "<form>".repeat(100_000)],
  ["links", "<a href=x>y".repeat(megabyte / 11)],
  ["closed SVGs", "<svg></svg>".repeat(megabyte / 11)],
  ["nested SVGs", "<svg>".repeat(100_000) + "</foreignobject>".repeat(30_000)],
  ["entities", "&amp;".repeat(megabyte / 5)],
  ["incomplete entities", "&#".repeat(megabyte / 2)],
  ["nested tables", "<table><tr><td>".repeat(megabyte / 15)],
  ["misnested tags", "<b><p></b></p>".repeat(megabyte / 14)],
  ["incomplete end tags", "</".repeat(megabyte / 2)],
  ["spaces within a tag", `<a href=${" ".repeat(megabyte)}>x</a>`],
  ["attribute names", `<a ${"href ".repeat(megabyte / 5)}>x</a>`],
  [
    "different attributes",
    `<a ${Array.from({ length: 100_000 }, (_, n) => `a${n}=1`).join(" ")}>x`,
  ],
])(
  "a page of a megabyte or two with %s does not block the event loop for long",
  async (_, html) => {
    expect(await measureLongestBlock(() => htmlToText(html, pageAddress))).toBeLessThan(200);
  },
);
