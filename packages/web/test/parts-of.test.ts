import fc from "fast-check";
import { expect, test } from "vitest";
import { partsOf } from "../src/parts-of.ts";

test("parts hold everything once, in order, as many in each but the last", () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 9 }), (all, size) => {
      const parts = partsOf(all, size);
      expect(parts.flatMap(({ part }) => part)).toEqual(all);
      expect(parts.map(({ from }) => from)).toEqual(parts.map((_, nth) => nth * size));
      for (const { part } of parts.slice(0, -1)) expect(part).toHaveLength(size);
      expect(parts.at(-1)?.part.length ?? 1).toBeGreaterThan(0);
    }),
  );
});
