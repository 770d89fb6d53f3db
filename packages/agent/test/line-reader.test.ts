import fc from "fast-check";
import { expect, test } from "vitest";
import { LineReader, type LongLine } from "../src/mcp/line-reader.ts";

function readLines(pieces: readonly Buffer[], maxBytes: number): (string | LongLine)[] | "endless" {
  const reader = new LineReader(maxBytes);
  const lines: (string | LongLine)[] = [];
  for (const piece of pieces) {
    const found = reader.push(piece);
    if (found === "endless") return found;
    lines.push(...found);
  }
  return lines;
}

test("lines do not depend on how the bytes are split", () => {
  const bytes = fc
    .string({ unit: fc.constantFrom("a", "é", "😀".repeat(40), "\r", "\n"), maxLength: 12 })
    .map((text) => Buffer.from(`${text}\n`));
  fc.assert(
    fc.property(bytes, fc.array(fc.nat({ max: 900 })), (allBytes, cuts) => {
      const positions = [0, ...cuts.toSorted((a, b) => a - b), allBytes.length];
      const pieces = positions.map((from, index) =>
        allBytes.subarray(from, positions[index + 1] ?? from),
      );
      expect(readLines(pieces, 300)).toEqual(readLines([allBytes], 300));
    }),
  );
});

test("a line that arrives byte by byte takes little memory", () => {
  const reader = new LineReader(1024 * 1024);
  const before = process.memoryUsage();
  const byte = Buffer.from("a");
  for (let count = 0; count < 1_000_000; count += 1) reader.push(byte);
  const after = process.memoryUsage();
  const growth = after.heapUsed + after.external - before.heapUsed - before.external;
  expect(growth).toBeLessThan(60_000_000);
  expect(reader.push(Buffer.from("\n"))).toEqual(["a".repeat(1_000_000)]);
});
