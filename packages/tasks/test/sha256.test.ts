import { createHash } from "node:crypto";
import { sha256 } from "@deltawire/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";

const nodes = (text: string) =>
  createHash("sha256").update(new TextEncoder().encode(text)).digest("hex");

test("the hash of nothing, and of abc, as the standard prints them", () => {
  expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("every length around the ends of blocks", () => {
  for (let length = 0; length < 200; length += 1)
    expect(sha256("a".repeat(length))).toBe(nodes("a".repeat(length)));
});

test("characters of two, three and four bytes across the end of the buffer", () => {
  for (const character of ["é", "€", "😀", "\ud800"])
    for (let before = 4085; before < 4100; before += 1)
      for (const after of ["", "b", "b".repeat(60)]) {
        const text = "a".repeat(before) + character + after;
        expect(sha256(text)).toBe(nodes(text));
      }
});

test("any text, lone surrogates too, has the hash that Node gives it", () => {
  const unit = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("\ud83d", "\ude00", "\ud83d\ude00", "\udc00\ud800", "\uffff", "\0"),
  );
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (parts, n) => {
      const text = parts.join("").repeat(n);
      expect(sha256(text)).toBe(nodes(text));
    }),
    { numRuns: 500 },
  );
});

test("one hash does not remember the one before it", () => {
  sha256("x".repeat(10_000));
  expect(sha256("abc")).toBe(nodes("abc"));
});
