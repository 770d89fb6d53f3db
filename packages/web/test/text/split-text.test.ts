import fc from "fast-check";
import { expect, test } from "vitest";
import { splitText } from "../../src/text/split-text.ts";

const line = fc.string({ unit: "grapheme", maxLength: 300 });
const text = fc
  .array(fc.oneof(line, fc.constant("x".repeat(9001)), fc.constant("😀".repeat(3000))), {
    maxLength: 120,
  })
  .map((lines) => lines.join("\n"));

test("the pieces of the text add up to it, and none is too long or ends within a character", () => {
  fc.assert(
    fc.property(text, (fullText) => {
      const { pieces } = splitText(fullText);
      expect(pieces.join("")).toBe(fullText);
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(4000);
        expect(piece.split("\n").length).toBeLessThanOrEqual(41);
        expect(piece.isWellFormed()).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test("growing text keeps all pieces except the last, and is split as if at once", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat({ max: 20_000 }), { maxLength: 20 }), (fullText, cuts) => {
      const well = (end: number) => fullText.slice(0, end).isWellFormed();
      const ends = [...cuts, fullText.length]
        .filter((end) => end <= fullText.length && well(end))
        .toSorted((a, b) => a - b);
      let grown = splitText("");
      for (const end of ends) {
        const next = splitText(fullText.slice(0, end), grown);
        expect(next.pieces.slice(0, grown.pieces.length - 1)).toEqual(grown.pieces.slice(0, -1));
        grown = next;
      }
      expect(grown.pieces.join("")).toBe(fullText.slice(0, ends.at(-1) ?? 0));
    }),
    { numRuns: 60 },
  );
});
