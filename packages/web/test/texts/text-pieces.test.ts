import fc from "fast-check";
import { expect, test } from "vitest";
import { textPieces } from "../../src/texts/text-pieces.ts";

const line = fc.string({ unit: "grapheme", maxLength: 300 });
const text = fc
  .array(fc.oneof(line, fc.constant("x".repeat(9001)), fc.constant("😀".repeat(3000))), {
    maxLength: 120,
  })
  .map((lines) => lines.join("\n"));

test("the pieces of a text are the text, and none of them is long or ends within a character", () => {
  fc.assert(
    fc.property(text, (whole) => {
      const { pieces } = textPieces(whole);
      expect(pieces.join("")).toBe(whole);
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(4000);
        expect(piece.split("\n").length).toBeLessThanOrEqual(41);
        expect(piece.isWellFormed()).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test("a text that grows keeps all pieces but the last, and comes to the same as the whole", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat({ max: 20_000 }), { maxLength: 20 }), (whole, cuts) => {
      const well = (end: number) => whole.slice(0, end).isWellFormed();
      const ends = [...cuts, whole.length]
        .filter((end) => end <= whole.length && well(end))
        .toSorted((one, other) => one - other);
      let grown = textPieces("");
      for (const end of ends) {
        const next = textPieces(whole.slice(0, end), grown);
        expect(next.pieces.slice(0, grown.pieces.length - 1)).toEqual(grown.pieces.slice(0, -1));
        grown = next;
      }
      expect(grown.pieces.join("")).toBe(whole.slice(0, ends.at(-1) ?? 0));
    }),
    { numRuns: 60 },
  );
});
