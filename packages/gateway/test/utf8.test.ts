import fc from "fast-check";
import { expect, test } from "vitest";
import { Utf8 } from "../src/relay/utf8.ts";

function decoded(bytes: Uint8Array, cuts: number[]): string {
  const utf8 = new Utf8();
  const places = [0, ...cuts.map((at) => at % (bytes.length + 1)), bytes.length];
  const inOrder = places.toSorted((a, b) => a - b);
  const texts = inOrder.slice(1).map((to, at) => utf8.decode(bytes.subarray(inOrder[at], to)));
  return texts.join("") + utf8.decode();
}

test("text cut anywhere is the text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat()), (text, cuts) => {
      const bytes = new TextEncoder().encode(text);
      expect(decoded(bytes, cuts)).toBe(new TextDecoder("utf8", { ignoreBOM: true }).decode(bytes));
    }),
    { numRuns: 1000 },
  );
});

test("bytes that are no text are what a TextDecoder makes of them, cut anywhere", () => {
  const byte = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(0xc0, 0xc1, 0xc2, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 0xf5, 0xff, 0x80, 0x82, 0xac),
  );
  fc.assert(
    fc.property(fc.array(byte), fc.array(fc.nat()), (given, cuts) => {
      const bytes = Uint8Array.from(given);
      const decoder = new TextDecoder("utf8", { ignoreBOM: true });
      expect(decoded(bytes, cuts)).toBe(decoder.decode(bytes));
    }),
    { numRuns: 3000 },
  );
});
