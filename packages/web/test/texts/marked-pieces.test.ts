import fc from "fast-check";
import { expect, test } from "vitest";
import { markedPieces } from "../../src/texts/text-pieces.ts";

test("a text is cut where a mark begins and ends", () => {
  expect(markedPieces("It is sunny in Paris", [[6, 11]])).toEqual([
    { text: "It is ", marked: false },
    { text: "sunny", marked: true },
    { text: " in Paris", marked: false },
  ]);
});

test("marks that touch or overlap are one", () => {
  expect(
    markedPieces("abcdef", [
      [3, 5],
      [1, 3],
      [2, 4],
    ]),
  ).toEqual([
    { text: "a", marked: false },
    { text: "bcde", marked: true },
    { text: "f", marked: false },
  ]);
});

test("whatever the marks are, the pieces are the text, and no piece is empty or like its neighbour", () => {
  const mark = fc.tuple(fc.integer({ min: -3, max: 20 }), fc.integer({ min: -3, max: 20 }));
  fc.assert(
    fc.property(fc.string({ maxLength: 15 }), fc.array(mark), (text, marks) => {
      const pieces = markedPieces(text, marks);
      expect(pieces.map((piece) => piece.text).join("")).toBe(text);
      for (const [index, piece] of pieces.entries()) {
        expect(piece.text).not.toBe("");
        expect(pieces[index - 1]?.marked).not.toBe(piece.marked);
      }
    }),
  );
});
