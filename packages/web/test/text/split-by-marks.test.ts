import fc from "fast-check";
import { expect, test } from "vitest";
import { splitByMarks } from "../../src/text/split-text.ts";

test("text is split where a mark starts and ends", () => {
  expect(splitByMarks("It is sunny in Paris", [[6, 11]])).toEqual([
    { text: "It is ", isMarked: false },
    { text: "sunny", isMarked: true },
    { text: " in Paris", isMarked: false },
  ]);
});

test("touching and overlapping marks are merged", () => {
  expect(
    splitByMarks("abcdef", [
      [3, 5],
      [1, 3],
      [2, 4],
    ]),
  ).toEqual([
    { text: "a", isMarked: false },
    { text: "bcde", isMarked: true },
    { text: "f", isMarked: false },
  ]);
});

test("for any marks, the pieces add up to the text, and none is empty or could be merged with the next", () => {
  const mark = fc.tuple(fc.integer({ min: -3, max: 20 }), fc.integer({ min: -3, max: 20 }));
  fc.assert(
    fc.property(fc.string({ maxLength: 15 }), fc.array(mark), (text, marks) => {
      const pieces = splitByMarks(text, marks);
      expect(pieces.map((piece) => piece.text).join("")).toBe(text);
      for (const [index, piece] of pieces.entries()) {
        expect(piece.text).not.toBe("");
        expect(pieces[index - 1]?.isMarked).not.toBe(piece.isMarked);
      }
    }),
  );
});
