import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotateCitations, CitationAnnotator } from "@deltawire/tasks";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import type { Annotation } from "../../src/items.ts";
import { anyMarkdown } from "./arbitrary-markdown.ts";

const isKnown = () => true;

describe("a marker", () => {
  test("with a known number becomes a reference with half-open indexes in UTF-16 units", () => {
    const text = "The weather in Paris is sunny with a temperature of 15C.[^1]";
    expect(annotateCitations(text, (n) => n === 1)).toEqual([
      { type: "reference_to_block", reference_id: 1, start_index: 56, end_index: 60 },
    ]);
    expect(annotateCitations("𝄞 [^12]", isKnown)).toMatchObject([{ start_index: 3, end_index: 8 }]);
  });

  test("with an unknown number becomes an unresolved reference", () => {
    expect(annotateCitations("see [^9]", (n) => n < 9)).toEqual([
      { type: "unresolved_reference", reference_id: 9, start_index: 4, end_index: 8 },
    ]);
  });

  test.each([
    ["[[^1]]", ["[^1]"]],
    ["[^1][^2]", ["[^1]", "[^2]"]],
    ["[^[^3]", ["[^3]"]],
    ["[^123456789]", ["[^123456789]"]],
    ["[^1234567890]", []],
    ["[^01]", []],
    ["[^]", []],
    ["[^a]", []],
    ["[^1", []],
    ["[^1\n]", []],
    [String.raw`\[^1]`, []],
    [String.raw`\\[^1]`, ["[^1]"]],
  ])("in %j is found as %j", (text, markers) => {
    expect(findMarkers(text)).toEqual(markers);
  });
});

describe("a marker in code is not annotated, but those after it are:", () => {
  test.each([
    ["inline", "`[^9]` [^1]"],
    ["inline, with two backticks and one inside", "`` ` [^9] `` [^1]"],
    ["inline, over two lines", "`a\n[^9]` [^1]"],
    ["a backslash does not escape the end of code", "`[^9]\\` [^1]"],
    ["an escaped backtick does not open code", "\\`[^1]` [^2]"],
    ["a backtick without a partner is text", "` [^1] [^2]"],
    ["a longer run is not a partner", "` [^1] `` [^2]"],
    ["code can follow a backtick without a partner", "` [^1] ``[^9]`` [^2]"],
    ["a backtick in another paragraph is not a partner", "` [^1]\n\n` [^2]"],
    [
      "a backtick in another list item is not a partner",
      "- ` [^1]\n- ` [^2]\n1. ` [^3]\n2) ` [^4]",
    ],
    ["a backtick after a heading is not a partner", "# ` [^1]\n` [^2]"],
    ["a backtick in a quote is not a partner", "` [^1]\n> ` [^2]"],
    ["a backtick after a fence is not a partner", "` [^1]\n~~~\n[^9]\n~~~\n` [^2]"],
    ["a number alone does not start a list", "`\n1 [^9]` [^1]"],
    ["fenced", "```\n[^9]\n```\n[^1]"],
    ["fenced, with a language", "```js [^9]\n[^9]\n```\n[^1]"],
    ["fenced, with a longer closing fence", "~~~\n[^9]\n~~~~~  \n[^1]"],
    ["fenced, a shorter fence is code", "````\n[^9]\n```\n[^9]\n````\n[^1]"],
    ["fenced, the other fence is code", "```\n~~~\n[^9]\n```\n[^1]"],
    ["fenced, a fence with an info string is code", "```\n``` x\n[^9]\n```\n[^1]"],
    ["fenced, a fence indented by four is code", "```\n    ```\n[^9]\n```\n[^1]"],
    ["fenced, indented", "1. x\n\n      ```\n      [^9]\n      ```\n      [^1]"],
    ["fenced, in a list item", "- ```\n  [^9]\n  ```\n  [^1]"],
    ["fenced, ended by its quote", "> ```\n> [^9]\n[^1]"],
    ["fenced, in a quote that a blank line ends", "> ~~~\n> [^9]\n\n[^1]"],
    ["fenced, with carriage returns", "```\r\n[^9]\r\n```\r\n[^1]"],
    ["fenced, unclosed", "[^1]\n```\n[^9]"],
    ["three backticks in one line are inline code", "```[^9]``` [^1]"],
    ["two tildes are not a fence", "~~\n[^1]"],
  ])("%s", (_, text) => {
    expect(findMarkers(text).filter((marker) => marker === "[^9]")).toEqual([]);
    expect(findMarkers(text)).toEqual(text.match(/\[\^[1-8]\]/g));
  });
});

describe("streamed text", () => {
  const markdown = fc
    .array(
      fc.constantFrom(
        ..."`[^1] [^23] [ ^ ] ``` ~~~ \n \n\n > - 1. # \\ \t 7 a 𝄞 \r\n ` [^ [^0".split(" "),
        " ",
        "    ",
        "\n```\n",
      ),
      { maxLength: 40 },
    )
    .map((pieces) => pieces.join(""));
  const cuts = fc.array(fc.nat(), { maxLength: 12 });

  test("has the same annotations and the same text for any deltas", () => {
    fc.assert(
      fc.property(markdown, cuts, (text, positions) => {
        const { text: output, annotations } = annotateDeltas(splitAt(text, positions));
        expect(output).toBe(text);
        expect(annotations).toEqual(annotateCitations(text, (n) => n === 1));
      }),
      { numRuns: 5_000 },
    );
  });

  test("has the same annotations for any deltas of any Markdown, even with long lines", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(anyMarkdown, sizes, (any, lengths) => {
        let n = 0;
        const text = any
          .replaceAll(/[\uFDD0-\uFDD2]/g, "")
          .replaceAll(
            /word word|bold|quoted|nested|a title|bc /g,
            (words) => `${words} [^${(n += 1)}] `,
          );
        const parts: string[] = [];
        for (let index = 0; index < text.length; index += parts.at(-1)?.length ?? 1)
          parts.push(text.slice(index, index + (lengths[parts.length % lengths.length] ?? 1)));
        expect(annotateDeltas(parts).annotations).toEqual(
          annotateCitations(text, (nth) => nth === 1),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("has annotations in order that match their markers", () => {
    fc.assert(
      fc.property(markdown, (text) => {
        let end = 0;
        for (const annotation of annotateCitations(text, (n) => n === 1)) {
          const { reference_id: n, start_index, end_index } = annotation;
          expect(text.slice(start_index, end_index)).toBe(`[^${n}]`);
          expect(annotation.type).toBe(n === 1 ? "reference_to_block" : "unresolved_reference");
          expect(start_index).toBeGreaterThanOrEqual(end);
          end = end_index;
        }
      }),
      { numRuns: 5_000 },
    );
  });

  test("has each annotation after the text of its marker", () => {
    fc.assert(
      fc.property(markdown, cuts, (text, positions) => {
        const annotator = new CitationAnnotator(isKnown);
        for (const piece of splitAt(text, positions))
          for (const { end_index } of annotator.push(piece).annotations)
            expect(end_index).toBeLessThanOrEqual(annotator.length);
      }),
    );
  });

  test("is held back only if it may be the start of a marker", () => {
    fc.assert(
      fc.property(markdown, cuts, (text, positions) => {
        const annotator = new CitationAnnotator(isKnown);
        let pushed = "";
        for (const piece of splitAt(text, positions)) {
          annotator.push(piece);
          pushed += piece;
          expect(pushed.slice(annotator.length)).toMatch(/^(\[(\^\d{0,9})?)?$/);
        }
      }),
    );
  });

  test("has the annotation of a marker together with the delta that completes it", () => {
    const annotator = new CitationAnnotator(isKnown);
    expect(annotator.push("so [^")).toEqual({ text: "so ", annotations: [] });
    expect(annotator.push("12")).toEqual({ text: "", annotations: [] });
    expect(annotator.push("].")).toEqual({
      text: "[^12].",
      annotations: [{ type: "reference_to_block", reference_id: 12, start_index: 3, end_index: 8 }],
    });
  });

  test("has annotations of all markers in prose and of none in code", () => {
    const marker = fc.integer({ min: 1, max: 99 }).map((n) => `[^${n}]`);
    const inCode = fc.integer({ min: 100, max: 999 }).map((n) => `[^${n}]`);
    const words = (of: fc.Arbitrary<string>) =>
      fc.array(fc.oneof(of, fc.constantFrom("word", "[x]", "é", "2^3")), { maxLength: 6 });
    const prose = words(marker).map((list) => list.join(" "));
    const code = words(inCode).map((list) => list.join(" "));
    const span = fc.tuple(fc.constantFrom("`", "``", "```"), code);
    const paragraph = fc
      .array(
        fc.oneof(
          prose,
          span.map(([ticks, text]) => `${ticks}x${text}${ticks}`),
        ),
      )
      .map((list) => `So ${list.join(" ")}`);
    const fence = fc
      .tuple(fc.constantFrom("```", "~~~~", "   ```"), fc.array(code))
      .map(([mark, lines]) => [mark, ...lines, mark].join("\n"));
    fc.assert(
      fc.property(fc.array(fc.oneof(paragraph, fence)), (blocks) => {
        const text = blocks.join("\n\n");
        expect(findMarkers(text)).toEqual(text.match(/\[\^\d{1,2}\]/g) ?? []);
      }),
      { numRuns: 1_000 },
    );
  });

  test("with many backticks and brackets is annotated in linear time", () => {
    const text = "` `` ```` [^1] ".repeat(20_000) + "[".repeat(200_000);
    expect(measureCpuTime(() => annotateCitations(text, isKnown))).toBeLessThan(1_000);
  });
});

function findMarkers(text: string): string[] {
  return annotateCitations(text, isKnown).map(({ start_index, end_index }) =>
    text.slice(start_index, end_index),
  );
}

function annotateDeltas(parts: readonly string[]): { text: string; annotations: Annotation[] } {
  const annotator = new CitationAnnotator((n) => n === 1);
  const out = [...parts.map((part) => annotator.push(part)), annotator.end()];
  return {
    text: out.map(({ text }) => text).join(""),
    annotations: out.flatMap(({ annotations }) => annotations),
  };
}

function splitAt(text: string, positions: readonly number[]): string[] {
  const at = positions.map((position) => position % (text.length + 1)).toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => text.slice(from, at[index] ?? text.length));
}
