import fc from "fast-check";
import { expect, test } from "vitest";
import { measureSlowdown, measureCpuTime } from "../../../test/cpu-time.ts";
import {
  defaultJsonLimits,
  describeJsonLimit,
  findExceededJsonLimit,
  JsonLimitScanner,
} from "../src/json-limits.ts";

const encoder = new TextEncoder();

test("the limit of values counts objects, arrays, strings and property names as one, and numbers and literals as half", () => {
  const json = '{"a": [1, -2.5e3, "x,y:{[", true, false, null, 7], "b": {"c": []}}';
  expect(countValues(json)).toBe(11);
  const scanner = new JsonLimitScanner();
  scanner.push(json);
  expect(scanner.valueCount).toBe(11);
});

test("quotes and brackets inside a string are not counted", () => {
  expect(countValues(String.raw`["[[[[\"[[[[", "\\", "\\\"{", "${"[".repeat(500)}"]`)).toBe(5);
  expect(findExceeded(String.raw`["${'\\"['.repeat(500)}"]`, 1, 2)).toBeUndefined();
});

test("the limit that is exceeded first is returned", () => {
  expect(findExceeded("[[[]]]", 3, 10)).toBeUndefined();
  expect(findExceeded("[[[[]]]]", 3, 10)).toBe("depth");
  expect(findExceeded('["1", "2", 3, 4]', 3, 4)).toBeUndefined();
  expect(findExceeded('["1", "2", 3, 4, 5]', 3, 4)).toBe("values");
  expect(findExceeded('["1", "2", 3, 4, 5, [[[[', 3, 4)).toBe("values");
});

test("closed levels are not counted towards the depth", () => {
  expect(findExceeded(`[${"[[]],".repeat(1000)}0]`, 3, 10_000)).toBeUndefined();
});

test("a scanner keeps reporting a limit that was exceeded", () => {
  const scanner = new JsonLimitScanner({ maxDepth: 1, maxValues: 10 });
  expect([scanner.push("[["), scanner.push("]]"), scanner.push("1")]).toEqual([
    "depth",
    "depth",
    "depth",
  ]);
});

test("the description of an exceeded limit contains its value", () => {
  const limits = { maxDepth: 3, maxValues: 40 };
  expect(describeJsonLimit("depth", limits)).toBe("is nested deeper than 3 levels");
  expect(describeJsonLimit("values", limits)).toBe("has more than 40 JSON values");
});

test("values and levels are counted equally in text, in bytes and in chunks of any size", () => {
  fc.assert(
    fc.property(fc.json(), fc.boolean(), fc.array(fc.nat()), (json, spaced, cuts) => {
      const value: unknown = JSON.parse(json);
      const text = JSON.stringify(value, undefined, spaced ? 2 : 0);
      const bytes = encoder.encode(text);
      const { values, depth } = measure(value);
      for (const [maxDepth, maxValues, expected] of [
        [depth, values, undefined],
        [depth - 1, values, depth === 0 ? undefined : "depth"],
        [depth, values - 0.5, "values"],
      ] as const) {
        const limits = { maxDepth, maxValues };
        expect(findExceededJsonLimit(text, limits)).toBe(expected);
        expect(findExceededJsonLimit(bytes, limits)).toBe(expected);
        const scanner = new JsonLimitScanner(limits);
        let last: string | undefined;
        for (const piece of splitBytes(bytes, cuts)) last = scanner.push(piece);
        expect(last).toBe(expected);
      }
    }),
  );
});

test("the end of a string is found for any length and any escapes", () => {
  const piece = fc.constantFrom('\\"', "\\\\", "\\n", "[", "€", "x".repeat(60));
  fc.assert(
    fc.property(fc.array(fc.array(piece)), fc.array(fc.nat()), (strings, cuts) => {
      const text = `[${strings.map((parts) => `"${parts.join("")}"`).join(",")}]`;
      const scanner = new JsonLimitScanner({ maxDepth: 1, maxValues: strings.length + 1 });
      for (const part of splitBytes(encoder.encode(text), cuts))
        expect(scanner.push(part)).toBeUndefined();
      expect(scanner.push(",0")).toBe("values");
    }),
  );
});

test("scanning takes linear time for any contents of a string", () => {
  const noLimits = { maxDepth: 300, maxValues: Number.MAX_SAFE_INTEGER };
  for (const unit of ["{},", '\\"', "\\\\", "a"]) {
    const text = `"${unit.repeat(400_000)}`;
    const bytes = encoder.encode(text);
    const eighth = bytes.subarray(0, bytes.length / 8);
    expect(
      measureSlowdown(
        () => findExceededJsonLimit(eighth, noLimits),
        () => findExceededJsonLimit(bytes, noLimits),
      ),
    ).toBeLessThan(4);
  }
});

test("scanning stops at the limit", () => {
  const text = `[${"{},".repeat(10_000_000)}{}]`;
  expect(measureCpuTime(() => findExceededJsonLimit(text, defaultJsonLimits))).toBeLessThan(200);
});

function findExceeded(json: string, maxDepth: number, maxValues: number): string | undefined {
  return findExceededJsonLimit(json, { maxDepth, maxValues });
}

function countValues(json: string): number {
  let values = 0;
  while (findExceeded(json, 300, values) !== undefined) values += 1;
  return values;
}

/** Counts the values and levels of parsed JSON, to compare them with the scanner. */
function measure(value: unknown): { values: number; depth: number } {
  if (typeof value !== "object" || value === null)
    return { values: typeof value === "string" ? 1 : 0.5, depth: 0 };
  const inner = Object.values(value).map((entry) => measure(entry));
  const names = Array.isArray(value) ? 0 : inner.length;
  return {
    values: inner.reduce((sum, entry) => sum + entry.values, 1 + names),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  };
}

function splitBytes(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const offsets = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [0, ...offsets].map((from, index) => bytes.subarray(from, offsets[index] ?? bytes.length));
}
