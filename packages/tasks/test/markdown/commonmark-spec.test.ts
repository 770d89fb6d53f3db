import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { StreamingMarkdown, parseMarkdown } from "@deltawire/tasks/markdown";
import { longTimeout } from "../../../../test/property-runs.ts";
import { commonMarkExamples, deviations } from "./spec-examples.ts";
import { toSpecHtml } from "./spec-html.ts";

const deviatingNumbers = new Set(deviations.flatMap(({ examples }) => examples));
const sections = Map.groupBy(commonMarkExamples, ({ section }) => section);

describe.each([...sections])("%s", (_, examples) => {
  test.each(examples)("example $number", ({ number, markdown, html }) => {
    const actual = normalizeHtml(toSpecHtml(parseMarkdown(markdown)));
    const expected = normalizeHtml(html);
    // An example that is listed as a deviation fails if it passes.
    const deviation = deviatingNumbers.has(number) && actual !== expected ? actual : expected;
    expect({ actual, isDeviation: actual !== expected }).toEqual({
      actual: deviation,
      isDeviation: deviatingNumbers.has(number),
    });
  });
});

test("at least 95% of the examples pass, and every deviation refers to an example", () => {
  expect(commonMarkExamples.length).toBe(652);
  const numbers = commonMarkExamples.map(({ number }) => number);
  expect([...deviatingNumbers].filter((number) => !numbers.includes(number))).toEqual([]);
  expect(deviatingNumbers.size).toBeLessThan(652 * 0.05);
});

test("the README has the number of passing examples and of the examples of each deviation", () => {
  const page = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  expect(page).toContain(`${652 - deviatingNumbers.size} of the 652 CommonMark examples pass `);
  const counts = [...page.matchAll(/^\|.*\| +(\d+) \|.*\|$/gm)].map(([, count]) => Number(count));
  const descending = (one: number, other: number) => other - one;
  const expected = deviations.map(({ examples }) => examples.length);
  expect(counts.toSorted(descending)).toEqual(expected.toSorted(descending));
});

/** Removes differences in the number of line breaks between blocks. */
function normalizeHtml(html: string): string {
  return html
    .replaceAll(/<(li|\/li|ul|\/ul|ol|\/ol|blockquote|\/blockquote)>\n/g, "<$1>")
    .replaceAll(/\n+/g, "\n")
    .trim();
}

test("examples that are streamed character by character have the same blocks", longTimeout, () => {
  for (const { number, markdown } of commonMarkExamples) {
    const streaming = new StreamingMarkdown();
    for (let end = 1; end <= markdown.length; end += 1) streaming.push(markdown.slice(0, end));
    streaming.end();
    expect({ number, blocks: [...streaming.frozenBlocks, ...streaming.openBlocks] }).toEqual({
      number,
      blocks: parseMarkdown(markdown),
    });
  }
});

test("every prefix of the examples can be ended and continued", longTimeout, () => {
  for (const { number, markdown } of commonMarkExamples) {
    const streaming = new StreamingMarkdown();
    for (let end = 1; end <= markdown.length; end += 1) {
      const prefix = markdown.slice(0, end);
      streaming.push(prefix);
      streaming.end();
      expect({ number, end, blocks: [...streaming.frozenBlocks, ...streaming.openBlocks] }).toEqual(
        {
          number,
          end,
          blocks: parseMarkdown(prefix),
        },
      );
    }
  }
});
