import { expect, test } from "vitest";
import { getHeadingRanks, MarkdownSections } from "../../src/markdown/markdown-sections.ts";

test("a section that is full stays the same object while the text grows", () => {
  const sections = new MarkdownSections();
  const text = Array.from({ length: 100 }, (_, nth) => `# h${nth}\n\nparagraph ${nth}\n\n`).join(
    "",
  );
  let before = sections.update("", true);
  for (let end = 50; end < text.length; end += 50) {
    const now = sections.update(text.slice(0, end), true);
    for (const [at, section] of before.slice(0, -1).entries()) expect(now[at]).toBe(section);
    before = now;
  }
  const ended = sections.update(text, false);
  expect(ended.length).toBe(9);
  expect(ended.slice(0, 8).every(({ blocks }) => blocks.length === 24)).toBe(true);
  expect(ended.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
  expect(ended.flatMap(({ blocks }) => blocks).length).toBe(200);
});

test("rewritten text gets new sections from the first change on", () => {
  const sections = new MarkdownSections();
  const paragraphs = Array.from({ length: 60 }, (_, nth) => `p${nth}`);
  const [first] = sections.update(paragraphs.join("\n\n"), true);
  const now = sections.update(paragraphs.with(30, "other").join("\n\n"), true);
  expect(now[0]).toBe(first);
  expect(now[1]?.blocks[6]).toMatchObject({ inline: [{ text: "other" }] });
  expect(sections.update("p0", false)).toMatchObject([{ blocks: [{ inline: [{ text: "p0" }] }] }]);
});

test("a late link definition changes only the sections that use it", () => {
  const sections = new MarkdownSections();
  const paragraphs = Array.from({ length: 100 }, (_, nth) => (nth === 47 ? "see [a]" : `p${nth}`));
  const text = `${paragraphs.join("\n\n")}\n\n`;
  const before = sections.update(text, true);
  const after = sections.update(`${text}[a]: https://b.c\n`, true);
  expect(before[1]?.blocks[23]).toMatchObject({ inline: [{ text: "see [a]" }] });
  expect(after[1]?.blocks[23]).toMatchObject({
    inline: [{ text: "see " }, { url: "https://b.c" }],
  });
  expect([0, 1, 2, 3].map((index) => after[index] === before[index])).toEqual([
    true,
    false,
    true,
    true,
  ]);
  expect(after[1]?.blocks.filter((block, index) => block !== before[1]?.blocks[index]).length).toBe(
    1,
  );
});

test("rewritten text with a new link definition gets the same sections as when parsed at once", () => {
  const paragraphs = Array.from({ length: 100 }, (_, nth) => `p${nth} [a]`);
  const rewritten = `${paragraphs.with(10, "other [a]").join("\n\n")}\n\n[a]: https://b.c\n\n`;
  const sections = new MarkdownSections();
  sections.update(`${paragraphs.join("\n\n")}\n\n`, true);
  expect(sections.update(rewritten, false)).toEqual(
    new MarkdownSections().update(rewritten, false),
  );
});

test("the rank of a heading depends on the headings of the previous section", () => {
  const sections = new MarkdownSections();
  const all = sections.update(`## a\n\n### b\n\n${"x\n\n".repeat(22)}###### c`, false);
  expect(all.map(({ previousRank }) => previousRank)).toEqual([2, 4]);
  expect(all.map((one) => getHeadingRanks(one).filter((rank) => rank !== undefined))).toEqual([
    [3, 4],
    [5],
  ]);
});
