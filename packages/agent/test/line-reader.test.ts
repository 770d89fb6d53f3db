import fc from "fast-check";
import { expect, test } from "vitest";
import { LineReader, type LongLine } from "../src/mcp/line-reader.ts";

function read(pieces: readonly Buffer[], maxBytes: number): (string | LongLine)[] | "endless" {
  const reader = new LineReader(maxBytes);
  const lines: (string | LongLine)[] = [];
  for (const piece of pieces) {
    const found = reader.push(piece);
    if (found === "endless") return found;
    lines.push(...found);
  }
  return lines;
}

test("lines do not depend on where the bytes are cut", () => {
  const bytes = fc
    .string({ unit: fc.constantFrom("a", "é", "😀".repeat(40), "\r", "\n"), maxLength: 12 })
    .map((text) => Buffer.from(`${text}\n`));
  fc.assert(
    fc.property(bytes, fc.array(fc.nat({ max: 900 })), (whole, cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
      const pieces = places.map((from, at) => whole.subarray(from, places[at + 1] ?? from));
      expect(read(pieces, 300)).toEqual(read([whole], 300));
    }),
  );
});

test("a line that comes in pieces of one byte takes no more memory than its bytes", () => {
  const reader = new LineReader(1024 * 1024);
  const before = process.memoryUsage();
  const one = Buffer.from("a");
  for (let count = 0; count < 1_000_000; count += 1) reader.push(one);
  const after = process.memoryUsage();
  const grown = after.heapUsed + after.external - before.heapUsed - before.external;
  expect(grown).toBeLessThan(60_000_000);
  expect(reader.push(Buffer.from("\n"))).toEqual(["a".repeat(1_000_000)]);
});
