import fc from "fast-check";
import { expect, test } from "vitest";
import { annotate } from "@deltawire/tasks";
import { GrowingMarkdown, parseMarkdown, withCites } from "@deltawire/tasks/markdown";
import { runs } from "../../../../test/runs.ts";

const isKnown = (n: number) => n < 5;

test("markers at the protocol's ranges are cites, resolved or not", () => {
  const text = "A [^1], **b [^7]** and [^2][^3].";
  expect(parseMarkdown(withCites(text, annotate(text, isKnown)))).toEqual([
    {
      type: "paragraph",
      inline: [
        { type: "text", text: "A " },
        { type: "cite", reference: 1, resolved: true },
        { type: "text", text: ", " },
        {
          type: "strong",
          inline: [
            { type: "text", text: "b " },
            { type: "cite", reference: 7, resolved: false },
          ],
        },
        { type: "text", text: " and " },
        { type: "cite", reference: 2, resolved: true },
        { type: "cite", reference: 3, resolved: true },
        { type: "text", text: "." },
      ],
    },
  ]);
});

test("nobody can write a cite but by the protocol", () => {
  const forged = "a \u{FDD0}1\u{FDD2} b";
  expect(parseMarkdown(withCites(forged, []))).toEqual([
    { type: "paragraph", inline: [{ type: "text", text: "a 1 b" }] },
  ]);
});

test("in code, formulas and addresses a marker is what was written", () => {
  const marker = "\u{FDD0}1\u{FDD2}";
  const text = `\`a${marker}\` $b${marker}$ [c](https://d.e/${marker})\n\n\`\`\`\nf${marker}`;
  const [paragraph, code] = parseMarkdown(text);
  expect(paragraph).toMatchObject({
    inline: [{ text: "a[^1]" }, {}, { text: "b[^1]" }, {}, { url: "https://d.e/[^1]" }],
  });
  expect(code).toMatchObject({ text: "f[^1]" });
});

test("annotations that fit no marker change nothing", () => {
  const at = (start_index: number, end_index: number) =>
    ({ type: "reference_to_block", reference_id: 1, start_index, end_index }) as const;
  expect(withCites("a [^1] b", [at(0, 4), at(2, 7), at(2, 5), at(90, 94)])).toBe("a [^1] b");
});

test("a marker that has only begun is held back while the text grows", () => {
  for (const begun of ["[", "[^", "[^1", "[^12"]) {
    expect(withCites(`a ${begun}`, [], true)).toBe("a ");
    expect(withCites(`a ${begun}`, [])).toBe(`a ${begun}`);
  }
});

test("a growing text with markers ends like the whole one", () => {
  const piece = fc.constantFrom("a ", "[^1]", "[^9]", "`", "\n\n", "- ", "**", "[", "]", "```\n");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 7 }), (all, step) => {
      const text = all.join("");
      const whole = annotate(text, isKnown);
      const markdown = new GrowingMarkdown();
      for (let end = step; end < text.length; end += step) {
        const soFar = whole.filter(({ end_index }) => end_index <= end);
        markdown.push(withCites(text.slice(0, end), soFar, true));
      }
      markdown.push(withCites(text, whole));
      markdown.end();
      expect([...markdown.frozen, ...markdown.open]).toEqual(parseMarkdown(withCites(text, whole)));
    }),
    runs(200),
  );
});

test("a citation at the end of what is read of a line at once stays whole", () => {
  for (let blanks = 4080; blanks < 4100; blanks += 1) {
    const text = `${"x".repeat(blanks)}\u{FDD0}12\u{FDD2}${"y".repeat(100)}`;
    const [paragraph] = parseMarkdown(text);
    expect(paragraph).toMatchObject({ inline: [{}, { type: "cite", reference: 12 }, {}] });
  }
});
