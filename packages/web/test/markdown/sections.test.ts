import { expect, test } from "vitest";
import { ranksOf, Sections } from "../../src/markdown/sections.ts";

test("a full section stays the same object while the text grows, and when it ends", () => {
  const sections = new Sections();
  const text = Array.from({ length: 100 }, (_, nth) => `# h${nth}\n\nparagraph ${nth}\n\n`).join(
    "",
  );
  let before = sections.of("", true);
  for (let end = 50; end < text.length; end += 50) {
    const now = sections.of(text.slice(0, end), true);
    for (const [at, section] of before.slice(0, -1).entries()) expect(now[at]).toBe(section);
    before = now;
  }
  const ended = sections.of(text, false);
  expect(ended.length).toBe(9);
  expect(ended.slice(0, 8).every(({ blocks }) => blocks.length === 24)).toBe(true);
  expect(ended.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
  expect(ended.flatMap(({ blocks }) => blocks).length).toBe(200);
});

test("a text that was rewritten has new sections from there on", () => {
  const sections = new Sections();
  const paragraphs = Array.from({ length: 60 }, (_, nth) => `p${nth}`);
  const [first] = sections.of(paragraphs.join("\n\n"), true);
  const now = sections.of(paragraphs.with(30, "other").join("\n\n"), true);
  expect(now[0]).toBe(first);
  expect(now[1]?.blocks[6]).toMatchObject({ inline: [{ text: "other" }] });
  expect(sections.of("p0", false)).toMatchObject([{ blocks: [{ inline: [{ text: "p0" }] }] }]);
});

test("a definition that comes late changes the sections that use it, and no other", () => {
  const sections = new Sections();
  const paragraphs = Array.from({ length: 100 }, (_, nth) => (nth === 47 ? "see [a]" : `p${nth}`));
  const text = `${paragraphs.join("\n\n")}\n\n`;
  const before = sections.of(text, true);
  const after = sections.of(`${text}[a]: https://b.c\n`, true);
  expect(before[1]?.blocks[23]).toMatchObject({ inline: [{ text: "see [a]" }] });
  expect(after[1]?.blocks[23]).toMatchObject({
    inline: [{ text: "see " }, { url: "https://b.c" }],
  });
  expect([0, 1, 2, 3].map((at) => after[at] === before[at])).toEqual([true, false, true, true]);
  expect(after[1]?.blocks.filter((block, at) => block !== before[1]?.blocks[at]).length).toBe(1);
});

test("a text that is rewritten and defines a label at once has the sections of the new one", () => {
  const paragraphs = Array.from({ length: 100 }, (_, nth) => `p${nth} [a]`);
  const rewritten = `${paragraphs.with(10, "other [a]").join("\n\n")}\n\n[a]: https://b.c\n\n`;
  const sections = new Sections();
  sections.of(`${paragraphs.join("\n\n")}\n\n`, true);
  expect(sections.of(rewritten, false)).toEqual(new Sections().of(rewritten, false));
});

test("a heading's rank goes on from the section before", () => {
  const sections = new Sections();
  const all = sections.of(`## a\n\n### b\n\n${"x\n\n".repeat(22)}###### c`, false);
  expect(all.map(({ above }) => above)).toEqual([2, 4]);
  expect(all.map((one) => ranksOf(one).filter((rank) => rank !== undefined))).toEqual([
    [3, 4],
    [5],
  ]);
});
