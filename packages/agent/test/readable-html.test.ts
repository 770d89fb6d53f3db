import fc from "fast-check";
import { expect, test } from "vitest";
import { longestTurn } from "../../../test/work-time.ts";
import { readableHtml } from "../src/groups/readable-html.ts";
import { htmlPages, pageAddress } from "./html-pages.ts";

const textOf = async (html: string): Promise<string> =>
  (await readableHtml(html, pageAddress)).text;

test.each(htmlPages)("text of a page with $name", async ({ html, text }) => {
  expect(await textOf(html)).toBe(text);
});

test("the title is the first one outside of drawings", async () => {
  const titleOf = async (html: string): Promise<string> =>
    (await readableHtml(html, pageAddress)).title;
  expect(await titleOf("<title>a <b>\n &amp; c</title><title>second</title>")).toBe("a <b> & c");
  expect(await titleOf("<svg><title>icon</title></svg><title>Page</title>")).toBe("Page");
  expect(await titleOf(`<title>${"x".repeat(1000)}</title>`)).toHaveLength(300);
});

test("what is never closed ends with the page", async () => {
  expect(await textOf("a < b and c<d")).toBe("a < b and c");
  expect(await textOf("x<script>never closed")).toBe("x");
  expect(await textOf("x<!-- never closed")).toBe("x");
  expect(await textOf("x<textarea>never closed")).toBe("x");
  expect(await textOf("<pre>never closed")).toBe("```\nnever closed\n```");
  expect(await textOf("</p></nav></pre>x")).toBe("x");
});

test("any text at all is read, and text without markup only loses its blanks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (html) => {
      await readableHtml(html, pageAddress);
      const words = html.replace(/[<&]/g, "").replace(/\s+/g, " ").trim();
      expect(await textOf(words)).toBe(words);
    }),
  );
});

test("where a page is cut into slices changes nothing", async () => {
  for (const { html, text } of htmlPages) {
    // Blanks before the page move it over the border between two slices.
    const border = 64 * 1024;
    for (let shift = 0; shift < html.length; shift += 7)
      expect(await textOf(" ".repeat(border - shift) + html)).toBe(text);
  }
});

test("text below the deepest nesting is read", async () => {
  const deep = `${"<div>".repeat(2_000)}<p>Down <b>here</b></p>${"</div>".repeat(2_000)}<p>Up`;
  expect(await textOf(deep)).toBe("Down here\n\nUp");
  const wrapped = `<nav>${"<i>".repeat(600)}<script>if (a < b) {}</script><img alt="x">end`;
  expect(await textOf(wrapped)).toBe("[image: x]end");
  const links = `<pre>${"<b>".repeat(510)}<a href="y">one<i>two</i></a></pre><p>three`;
  expect(await textOf(links)).toBe("```\n[one](https://pages.example/docs/y)\n```\n\ntwo\n\nthree");
});

const mega = 1024 * 1024;

test.each([
  ["blanks", " ".repeat(2 * mega)],
  ["preformatted blanks", `<pre>${" ".repeat(mega)}x`],
  ["preformatted line ends", `<pre>${"\n".repeat(mega)}x`],
  ["opening brackets", "<".repeat(2 * mega)],
  ["open tags", "<a ".repeat(mega / 3)],
  ["open quotes", '<a href="'.repeat(mega / 9)],
  ["open comments", "<!--".repeat(mega / 4)],
  ["open scripts", "<script>".repeat(mega / 8)],
  ["nested blocks", "<div>".repeat(mega / 5)],
  ["nested blocks with their ends", `${"<div>".repeat(100_000)}x${"</div>".repeat(100_000)}`],
  ["nested navigation", "<nav>x".repeat(mega / 6)],
  ["nested preformatted text", "<pre>x".repeat(mega / 6)],
  ["end tags of nothing below open tags", "<b>".repeat(120_000) + "</i>".repeat(170_000)],
  ["ends of paragraphs below open tags", "<b>".repeat(120_000) + "</p>".repeat(170_000)],
  ["forms below open tags", "<b>".repeat(120_000) + "<form>".repeat(100_000)],
  ["links", "<a href=x>y".repeat(mega / 11)],
  ["closed drawings", "<svg></svg>".repeat(mega / 11)],
  ["drawings in drawings", "<svg>".repeat(100_000) + "</foreignobject>".repeat(30_000)],
  ["entities", "&amp;".repeat(mega / 5)],
  ["halves of entities", "&#".repeat(mega / 2)],
  ["tables in tables", "<table><tr><td>".repeat(mega / 15)],
  ["misnested tags", "<b><p></b></p>".repeat(mega / 14)],
  ["brackets that close nothing", "</".repeat(mega / 2)],
  ["blanks within a tag", `<a href=${" ".repeat(mega)}>x</a>`],
  ["names of attributes", `<a ${"href ".repeat(mega / 5)}>x</a>`],
  [
    "different attributes",
    `<a ${Array.from({ length: 100_000 }, (_, n) => `a${n}=1`).join(" ")}>x`,
  ],
])("a megabyte or two of %s never holds up the event loop", async (_, html) => {
  expect(await longestTurn(() => readableHtml(html, pageAddress))).toBeLessThan(200);
});
