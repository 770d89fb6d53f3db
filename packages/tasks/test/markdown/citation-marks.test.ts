import fc from "fast-check";
import { expect, test } from "vitest";
import { annotateCitations } from "@deltawire/tasks";
import { StreamingMarkdown, parseMarkdown, markCitations } from "@deltawire/tasks/markdown";
import { propertyRuns } from "../../../../test/property-runs.ts";

const isKnown = (n: number) => n < 5;

test("annotated markers become resolved and unresolved citations", () => {
  const text = "A [^1], **b [^7]** and [^2][^3].";
  expect(parseMarkdown(markCitations(text, annotateCitations(text, isKnown)))).toEqual([
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

test("citation marks that the text already contains are removed", () => {
  const textWithMark = "a \u{FDD0}1\u{FDD2} b";
  expect(parseMarkdown(markCitations(textWithMark, []))).toEqual([
    { type: "paragraph", inline: [{ type: "text", text: "a 1 b" }] },
  ]);
});

test("citations in code, formulas and URLs become markers again", () => {
  const marker = "\u{FDD0}1\u{FDD2}";
  const text = `\`a${marker}\` $b${marker}$ [c](https://d.e/${marker})\n\n\`\`\`\nf${marker}`;
  const [paragraph, code] = parseMarkdown(text);
  expect(paragraph).toMatchObject({
    inline: [{ text: "a[^1]" }, {}, { text: "b[^1]" }, {}, { url: "https://d.e/[^1]" }],
  });
  expect(code).toMatchObject({ text: "f[^1]" });
});

test("annotations that do not match a marker are ignored", () => {
  const at = (start_index: number, end_index: number) =>
    ({ type: "reference_to_block", reference_id: 1, start_index, end_index }) as const;
  expect(markCitations("a [^1] b", [at(0, 4), at(2, 7), at(2, 5), at(90, 94)])).toBe("a [^1] b");
});

test("an unfinished marker is hidden while the text is streaming", () => {
  for (const partial of ["[", "[^", "[^1", "[^12"]) {
    expect(markCitations(`a ${partial}`, [], true)).toBe("a ");
    expect(markCitations(`a ${partial}`, [])).toBe(`a ${partial}`);
  }
});

test("streamed text with markers has the same blocks as the complete text", () => {
  const piece = fc.constantFrom("a ", "[^1]", "[^9]", "`", "\n\n", "- ", "**", "[", "]", "```\n");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 7 }), (all, step) => {
      const text = all.join("");
      const annotations = annotateCitations(text, isKnown);
      const markdown = new StreamingMarkdown();
      for (let end = step; end < text.length; end += step) {
        const annotationsSoFar = annotations.filter(({ end_index }) => end_index <= end);
        markdown.push(markCitations(text.slice(0, end), annotationsSoFar, true));
      }
      markdown.push(markCitations(text, annotations));
      markdown.end();
      expect([...markdown.frozenBlocks, ...markdown.openBlocks]).toEqual(
        parseMarkdown(markCitations(text, annotations)),
      );
    }),
    propertyRuns(200),
  );
});

test("a citation is not split where a long line is split into chunks", () => {
  for (let length = 4080; length < 4100; length += 1) {
    const text = `${"x".repeat(length)}\u{FDD0}12\u{FDD2}${"y".repeat(100)}`;
    const [paragraph] = parseMarkdown(text);
    expect(paragraph).toMatchObject({ inline: [{}, { type: "cite", reference: 12 }, {}] });
  }
});
