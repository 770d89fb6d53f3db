import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { GrowingMarkdown, parseMarkdown } from "@deltawire/tasks/markdown";
import { patience } from "../../../../test/runs.ts";
import { commonMarkExamples, deviations } from "./spec-examples.ts";
import { specHtml } from "./spec-html.ts";

const deviating = new Set(deviations.flatMap(({ examples }) => examples));
const sections = Map.groupBy(commonMarkExamples, ({ section }) => section);

describe.each([...sections])("%s", (_, examples) => {
  test.each(examples)("example $number", ({ number, markdown, html }) => {
    const made = comparable(specHtml(parseMarkdown(markdown)));
    const expected = comparable(html);
    // One that starts to pass is no deviation any more.
    const deviation = deviating.has(number) && made !== expected ? made : expected;
    expect({ made, isDeviation: made !== expected }).toEqual({
      made: deviation,
      isDeviation: deviating.has(number),
    });
  });
});

test("at least 95 % of the examples pass, and every deviation is of one", () => {
  expect(commonMarkExamples.length).toBe(652);
  const numbers = commonMarkExamples.map(({ number }) => number);
  expect([...deviating].filter((number) => !numbers.includes(number))).toEqual([]);
  expect(deviating.size).toBeLessThan(652 * 0.05);
});

test("docs/markdown.md has the number of examples that pass, and of each deviation", () => {
  const page = readFileSync(new URL("../../../../docs/markdown.md", import.meta.url), "utf8");
  expect(page).toContain(` ${652 - deviating.size} examples pass `);
  const counts = [...page.matchAll(/^\|.*\| +(\d+) \|.*\|$/gm)].map(([, count]) => Number(count));
  const descending = (one: number, other: number) => other - one;
  const expected = deviations.map(({ examples }) => examples.length);
  expect(counts.toSorted(descending)).toEqual(expected.toSorted(descending));
});

/** How many line breaks stand between two blocks says nothing. */
function comparable(html: string): string {
  return html
    .replaceAll(/<(li|\/li|ul|\/ul|ol|\/ol|blockquote|\/blockquote)>\n/g, "<$1>")
    .replaceAll(/\n+/g, "\n")
    .trim();
}

test("an example that comes character by character has the blocks of the whole", patience, () => {
  for (const { number, markdown } of commonMarkExamples) {
    const markdowns = new GrowingMarkdown();
    for (let end = 1; end <= markdown.length; end += 1) markdowns.push(markdown.slice(0, end));
    markdowns.end();
    expect({ number, blocks: [...markdowns.frozen, ...markdowns.open] }).toEqual({
      number,
      blocks: parseMarkdown(markdown),
    });
  }
});

test("every beginning of an example has its own blocks once it has ended", patience, () => {
  for (const { number, markdown } of commonMarkExamples) {
    const growing = new GrowingMarkdown();
    for (let end = 1; end <= markdown.length; end += 1) {
      const beginning = markdown.slice(0, end);
      growing.push(beginning);
      growing.end();
      expect({ number, end, blocks: [...growing.frozen, ...growing.open] }).toEqual({
        number,
        end,
        blocks: parseMarkdown(beginning),
      });
    }
  }
});
