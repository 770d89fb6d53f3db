import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotate, Annotator } from "@deltawire/tasks";
import { workTime } from "../../../test/work-time.ts";
import type { Annotation } from "../src/items.ts";
import { anyMarkdown } from "./markdown/any-markdown.ts";

const all = () => true;

describe("markers", () => {
  test("a marker of a group that exists refers to it, half-open and in UTF-16 units", () => {
    const text = "The weather in Paris is sunny with a temperature of 15C.[^1]";
    expect(annotate(text, (n) => n === 1)).toEqual([
      { type: "reference_to_block", reference_id: 1, start_index: 56, end_index: 60 },
    ]);
    expect(annotate("𝄞 [^12]", all)).toMatchObject([{ start_index: 3, end_index: 8 }]);
  });

  test("a marker of a number that nothing has is marked unresolved", () => {
    expect(annotate("see [^9]", (n) => n < 9)).toEqual([
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
  ])("of %j these are markers: %j", (text, markers) => {
    expect(markersOf(text)).toEqual(markers);
  });
});

describe("code", () => {
  test.each([
    ["inline", "`[^9]` [^1]"],
    ["inline, of two backticks with one inside", "`` ` [^9] `` [^1]"],
    ["inline, over a line's end", "`a\n[^9]` [^1]"],
    ["a backslash does not keep code from ending", "`[^9]\\` [^1]"],
    ["an escaped backtick opens nothing", "\\`[^1]` [^2]"],
    ["a backtick without a partner is a backtick", "` [^1] [^2]"],
    ["a longer run is no partner", "` [^1] `` [^2]"],
    ["behind a lonely backtick there may still be code", "` [^1] ``[^9]`` [^2]"],
    ["a partner in another paragraph is none", "` [^1]\n\n` [^2]"],
    ["a partner in another list item is none", "- ` [^1]\n- ` [^2]\n1. ` [^3]\n2) ` [^4]"],
    ["a partner behind a heading is none", "# ` [^1]\n` [^2]"],
    ["a partner in a quote is none", "` [^1]\n> ` [^2]"],
    ["a partner behind a fence is none", "` [^1]\n~~~\n[^9]\n~~~\n` [^2]"],
    ["a number alone does not begin a list", "`\n1 [^9]` [^1]"],
    ["fenced", "```\n[^9]\n```\n[^1]"],
    ["fenced, with a language", "```js [^9]\n[^9]\n```\n[^1]"],
    ["fenced, with a longer fence at its end", "~~~\n[^9]\n~~~~~  \n[^1]"],
    ["fenced, a shorter fence is code", "````\n[^9]\n```\n[^9]\n````\n[^1]"],
    ["fenced, the other fence is code", "```\n~~~\n[^9]\n```\n[^1]"],
    ["fenced, a fence with words behind it is code", "```\n``` x\n[^9]\n```\n[^1]"],
    ["fenced, a fence four further in is code", "```\n    ```\n[^9]\n```\n[^1]"],
    ["fenced, indented", "1. x\n\n      ```\n      [^9]\n      ```\n      [^1]"],
    ["fenced, in a list item", "- ```\n  [^9]\n  ```\n  [^1]"],
    ["fenced, in a quote, which ends it too", "> ```\n> [^9]\n[^1]"],
    ["fenced, in a quote, which a blank line ends", "> ~~~\n> [^9]\n\n[^1]"],
    ["fenced, with carriage returns", "```\r\n[^9]\r\n```\r\n[^1]"],
    ["fenced, with no end", "[^1]\n```\n[^9]"],
    ["three backticks and more in one line are inline", "```[^9]``` [^1]"],
    ["two tildes are no fence", "~~\n[^1]"],
  ])("%s", (_, text) => {
    expect(markersOf(text).filter((marker) => marker === "[^9]")).toEqual([]);
    expect(markersOf(text)).toEqual(text.match(/\[\^[1-8]\]/g));
  });
});

describe("text in pieces", () => {
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

  test("the annotations and the text do not depend on the cuts", () => {
    fc.assert(
      fc.property(markdown, cuts, (text, places) => {
        const { given, annotations } = run(pieces(text, places));
        expect(given).toBe(text);
        expect(annotations).toEqual(annotate(text, (n) => n === 1));
      }),
      { numRuns: 5_000 },
    );
  });

  test("nor in any other Markdown, however long its lines are", () => {
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
        for (let at = 0; at < text.length; at += parts.at(-1)?.length ?? 1)
          parts.push(text.slice(at, at + (lengths[parts.length % lengths.length] ?? 1)));
        expect(run(parts).annotations).toEqual(annotate(text, (nth) => nth === 1));
      }),
      { numRuns: 200 },
    );
  });

  test("every annotation is true of the text, and they are in order", () => {
    fc.assert(
      fc.property(markdown, (text) => {
        let end = 0;
        for (const annotation of annotate(text, (n) => n === 1)) {
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

  test("an annotation comes after the text of its marker, never before", () => {
    fc.assert(
      fc.property(markdown, cuts, (text, places) => {
        const annotator = new Annotator(all);
        for (const piece of pieces(text, places))
          for (const { end_index } of annotator.push(piece).annotations)
            expect(end_index).toBeLessThanOrEqual(annotator.length);
      }),
    );
  });

  test("no more is held back than the beginning of a marker", () => {
    fc.assert(
      fc.property(markdown, cuts, (text, places) => {
        const annotator = new Annotator(all);
        let pushed = "";
        for (const piece of pieces(text, places)) {
          annotator.push(piece);
          pushed += piece;
          expect(pushed.slice(annotator.length)).toMatch(/^(\[(\^\d{0,9})?)?$/);
        }
      }),
    );
  });

  test("a marker is told with the piece that makes it whole", () => {
    const annotator = new Annotator(all);
    expect(annotator.push("so [^")).toEqual({ text: "so ", annotations: [] });
    expect(annotator.push("12")).toEqual({ text: "", annotations: [] });
    expect(annotator.push("].")).toEqual({
      text: "[^12].",
      annotations: [{ type: "reference_to_block", reference_id: 12, start_index: 3, end_index: 8 }],
    });
  });

  test("a document made of prose and of code has the markers of its prose", () => {
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
        expect(markersOf(text)).toEqual(text.match(/\[\^\d{1,2}\]/g) ?? []);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a text of backticks and brackets alone costs no more than any other", () => {
    const text = "` `` ```` [^1] ".repeat(20_000) + "[".repeat(200_000);
    expect(workTime(() => annotate(text, all))).toBeLessThan(1_000);
  });
});

function markersOf(text: string): string[] {
  return annotate(text, all).map(({ start_index, end_index }) =>
    text.slice(start_index, end_index),
  );
}

function run(parts: readonly string[]): { given: string; annotations: Annotation[] } {
  const annotator = new Annotator((n) => n === 1);
  const out = [...parts.map((part) => annotator.push(part)), annotator.end()];
  return {
    given: out.map(({ text }) => text).join(""),
    annotations: out.flatMap(({ annotations }) => annotations),
  };
}

function pieces(text: string, places: readonly number[]): string[] {
  const at = places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => text.slice(from, at[index] ?? text.length));
}
