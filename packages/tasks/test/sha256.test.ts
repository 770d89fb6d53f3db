import { createHash } from "node:crypto";
import { sha256 } from "@deltawire/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";

const nodeSha256 = (text: string) =>
  createHash("sha256").update(new TextEncoder().encode(text)).digest("hex");

test("sha256 returns the hashes of the standard for the empty string and abc", () => {
  expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("sha256 is correct for every length around block boundaries", () => {
  for (let length = 0; length < 200; length += 1)
    expect(sha256("a".repeat(length))).toBe(nodeSha256("a".repeat(length)));
});

test("sha256 is correct for multi-byte characters across the end of the buffer", () => {
  for (const character of ["é", "€", "😀", "\ud800"])
    for (let before = 4085; before < 4100; before += 1)
      for (const after of ["", "b", "b".repeat(60)]) {
        const text = "a".repeat(before) + character + after;
        expect(sha256(text)).toBe(nodeSha256(text));
      }
});

test("sha256 equals the hash of Node for any text, including lone surrogates", () => {
  const unit = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("\ud83d", "\ude00", "\ud83d\ude00", "\udc00\ud800", "\uffff", "\0"),
  );
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (parts, n) => {
      const text = parts.join("").repeat(n);
      expect(sha256(text)).toBe(nodeSha256(text));
    }),
    { numRuns: 500 },
  );
});

test("sha256 keeps no state between calls", () => {
  sha256("x".repeat(10_000));
  expect(sha256("abc")).toBe(nodeSha256("abc"));
});
