import fc from "fast-check";
import { expect, test } from "vitest";
import { chunk } from "../src/chunk.ts";

test("chunks contain every item once, in order, and all but the last are full", () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 9 }), (all, size) => {
      const parts = chunk(all, size);
      expect(parts.flatMap(({ items }) => items)).toEqual(all);
      expect(parts.map(({ start }) => start)).toEqual(parts.map((_, nth) => nth * size));
      for (const { items } of parts.slice(0, -1)) expect(items).toHaveLength(size);
      expect(parts.at(-1)?.items.length ?? 1).toBeGreaterThan(0);
    }),
  );
});
