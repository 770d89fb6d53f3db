import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteExcerpt, toWellFormed, trimSplitSurrogates } from "@deltawire/tasks";

const text = fc.string({ unit: "binary" });
const cut = fc.nat(40);

test("trimSplitSurrogates makes any slice well-formed and removes at most two code units", () => {
  fc.assert(
    fc.property(text, cut, cut, (complete, from, to) => {
      const piece = complete.slice(from, to);
      const trimmed = trimSplitSurrogates(piece);
      expect(trimmed.isWellFormed()).toBe(true);
      expect(piece).toContain(trimmed);
      expect(piece.length - trimmed.length).toBeLessThanOrEqual(2);
      expect(trimmed === piece).toBe(piece.isWellFormed());
    }),
  );
});

test("toWellFormed replaces lone surrogates and keeps pairs", () => {
  expect(toWellFormed("\ud83da\ude00\ud83d\ude00")).toBe("\u{FFFD}a\u{FFFD}😀");
});

test("quoteExcerpt truncates long values without splitting surrogate pairs", () => {
  expect(quoteExcerpt("a".repeat(100))).toBe(`"${"a".repeat(100)}"`);
  expect(quoteExcerpt(`${"a".repeat(99)}😀b`)).toBe(`"${"a".repeat(99)}…"`);
});
