import { expect, test } from "vitest";
import { GrowingMarkdown, parseMarkdown } from "@deltawire/tasks/markdown";
import { patience } from "../runs.ts";
import { hostileMarkdown } from "./hostile-markdown.ts";

const small = hostileMarkdown(20_000);
const large = hostileMarkdown(160_000);
const names = Object.keys(small);

function fastest(work: () => void): number {
  const times = [0, 1, 2].map(() => {
    const started = performance.now();
    work();
    return performance.now() - started;
  });
  return Math.min(...times);
}

test.each(names)("eight times as much of %s takes about eight times as long", patience, (name) => {
  const one = fastest(() => parseMarkdown(small[name] ?? ""));
  const eight = fastest(() => parseMarkdown(large[name] ?? ""));
  // Quadratic work would take 64 times as long. A fast one is mostly noise.
  expect(eight).toBeLessThan(Math.max(one * 24, 60));
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
  const blocks = parseMarkdown(small[name] ?? "");
  expect(depthOf(blocks)).toBeLessThan(100);
  expect(() => JSON.stringify(blocks)).not.toThrow();
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
