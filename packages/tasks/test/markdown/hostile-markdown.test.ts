import { expect, test } from "vitest";
import { StreamingMarkdown, parseMarkdown } from "@deltawire/tasks/markdown";
import { longTimeout } from "../../../../test/property-runs.ts";
import { measureSlowdown } from "../../../../test/cpu-time.ts";
import { createHostileMarkdown } from "./hostile-markdown.ts";

const small = createHostileMarkdown(20_000);
const large = createHostileMarkdown(160_000);
const names = Object.keys(small);

test.each(names)("parsing takes linear time: %s", longTimeout, (name) => {
  const slowdown = measureSlowdown(
    () => parseMarkdown(small[name] ?? ""),
    () => parseMarkdown(large[name] ?? ""),
  );
  expect(slowdown).toBeLessThan(3);
});

function measureDepth(value: unknown): number {
  let depth = 0;
  for (let level: unknown[] = [value]; level.length > 0; depth += 1)
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
  return depth;
}

test.each(names)("the result is not nested too deeply for rendering: %s", (name) => {
  expect(measureDepth(parseMarkdown(small[name] ?? ""))).toBeLessThan(100);
});

test.each(names)("streaming parses the text only a few times: %s", longTimeout, (name) => {
  const text = small[name] ?? "";
  const markdown = new StreamingMarkdown();
  let pushes = 0;
  for (let end = 500; end < text.length + 500; end += 500) {
    markdown.push(text.slice(0, end));
    pushes += 1;
  }
  expect(markdown.parsedCharacters).toBeLessThan(4 * text.length + pushes * 25_000);
});

test(
  "ten thousand definitions that follow a hundred thousand links are applied in small steps",
  longTimeout,
  () => {
    const labels = Array.from({ length: 10_000 }, (_, index) => `l${index}`);
    const uses = labels.map((label) => `[${label}] `.repeat(10));
    const start = `${uses.join("").replaceAll(/(?:\S+ ){500}/g, "$&\n\n")}\n\n`;
    const markdown = new StreamingMarkdown();
    markdown.push(start);
    let text = start;
    let maxRead = 0;
    for (let index = 0; index < labels.length; index += 20) {
      for (const label of labels.slice(index, index + 20))
        text += `[${label}]: https://b.c/${label}\n`;
      const before = markdown.parsedCharacters;
      markdown.push(text);
      maxRead = Math.max(maxRead, markdown.parsedCharacters - before);
    }
    expect(maxRead).toBeLessThan(25_000);
    markdown.end();
    // Each text is parsed as a line and as inline content, and each of the 200 blocks is parsed again in at most four
    // pushes, which define its 50 labels.
    expect(markdown.parsedCharacters).toBeLessThan(10 * text.length);
    const links = markdown.frozenBlocks.flatMap((block) =>
      block.type === "paragraph" ? block.inline.filter(({ type }) => type === "link") : [],
    );
    expect(links.length).toBe(100_000);
  },
);

test("a long paragraph is split without losing words", () => {
  const words = Array.from({ length: 20_000 }, (_, index) => `w${index}`);
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
