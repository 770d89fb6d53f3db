import fc from "fast-check";
import { expect, test } from "vitest";
import { quoted, toWellFormed, wholeCharacters } from "@deltawire/tasks";

const text = fc.string({ unit: "binary" });
const cut = fc.nat(40);

test("a piece of a text is whole wherever it was cut, and loses no more than two halves", () => {
  fc.assert(
    fc.property(text, cut, cut, (whole, from, to) => {
      const piece = whole.slice(from, to);
      const rest = wholeCharacters(piece);
      expect(rest.isWellFormed()).toBe(true);
      expect(piece).toContain(rest);
      expect(piece.length - rest.length).toBeLessThanOrEqual(2);
      expect(rest === piece).toBe(piece.isWellFormed());
    }),
  );
});

test("a lone half becomes a replacement character, and a pair stays", () => {
  expect(toWellFormed("\ud83da\ude00\ud83d\ude00")).toBe("\u{FFFD}a\u{FFFD}😀");
});

test("a quoted value is cut if it is long, not within a pair", () => {
  expect(quoted("a".repeat(100))).toBe(`"${"a".repeat(100)}"`);
  expect(quoted(`${"a".repeat(99)}😀b`)).toBe(`"${"a".repeat(99)}…"`);
});
