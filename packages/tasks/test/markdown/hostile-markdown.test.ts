import { expect, test } from "vitest";
import { GrowingMarkdown, parseMarkdown } from "@deltawire/tasks/markdown";
import { patience } from "../../../../test/runs.ts";
import { slowdown } from "../../../../test/work-time.ts";
import { hostileMarkdown } from "./hostile-markdown.ts";

const small = hostileMarkdown(20_000);
const large = hostileMarkdown(160_000);
const names = Object.keys(small);

test.each(names)("eight times as much of %s takes about eight times as long", patience, (name) => {
  const slower = slowdown(
    () => parseMarkdown(small[name] ?? ""),
    () => parseMarkdown(large[name] ?? ""),
  );
  expect(slower).toBeLessThan(3);
});

function depthOf(value: unknown): number {
  let depth = 0;
  for (let level: unknown[] = [value]; level.length > 0; depth += 1)
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  return depth;
}

test.each(names)("%s makes nothing that is deeper than a page can draw", (name) => {
  expect(depthOf(parseMarkdown(small[name] ?? ""))).toBeLessThan(100);
});

test.each(names)("%s that grows is read a few times at the most", patience, (name) => {
  const text = small[name] ?? "";
  const markdown = new GrowingMarkdown();
  let pushes = 0;
  for (let end = 500; end < text.length + 500; end += 500) {
    markdown.push(text.slice(0, end));
    pushes += 1;
  }
  expect(markdown.work).toBeLessThan(4 * text.length + pushes * 25_000);
});

test(
  "ten thousand definitions that come late are put into a hundred thousand brackets bit by bit",
  patience,
  () => {
    const labels = Array.from({ length: 10_000 }, (_, nth) => `l${nth}`);
    const uses = labels.map((label) => `[${label}] `.repeat(10));
    const start = `${uses.join("").replaceAll(/(?:\S+ ){500}/g, "$&\n\n")}\n\n`;
    const markdown = new GrowingMarkdown();
    markdown.push(start);
    let text = start;
    let most = 0;
    for (let nth = 0; nth < labels.length; nth += 20) {
      for (const label of labels.slice(nth, nth + 20)) text += `[${label}]: https://b.c/${label}\n`;
      const before = markdown.work;
      markdown.push(text);
      most = Math.max(most, markdown.work - before);
    }
    expect(most).toBeLessThan(25_000);
    markdown.end();
    // Twice at the most as a line and as what it holds, and in each of the 200 blocks 50 labels come in at most four pushes.
    expect(markdown.work).toBeLessThan(10 * text.length);
    const links = markdown.frozen.flatMap((block) =>
      block.type === "paragraph" ? block.inline.filter(({ type }) => type === "link") : [],
    );
    expect(links.length).toBe(100_000);
  },
);

test("a long paragraph goes on in another one, and no word is lost", () => {
  const words = Array.from({ length: 20_000 }, (_, nth) => `w${nth}`);
  const blocks = parseMarkdown(words.join(" "));
  expect(blocks.length).toBeGreaterThan(10);
  const text = blocks.map((block) =>
    block.type === "paragraph"
      ? block.inline.map((one) => (one.type === "text" ? one.text : "")).join("")
      : "",
  );
  expect(Math.max(...text.map(({ length }) => length))).toBeLessThanOrEqual(8192);
  expect(text.join(" ").split(/\s+/)).toEqual(words);
});
