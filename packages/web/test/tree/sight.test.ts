import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  firstSight,
  fitted,
  leastScale,
  mostScale,
  resized,
  seenArea,
  showing,
  touches,
  zoomed,
} from "../../src/tree/sight.ts";

const screen = { width: 800, height: 600 };
const sights = fc.record({
  x: fc.integer({ min: -5000, max: 5000 }),
  y: fc.integer({ min: -5000, max: 5000 }),
  scale: fc.double({ min: leastScale, max: mostScale, noNaN: true }),
});
const places = fc.record({
  x: fc.integer({ min: 0, max: 9000 }),
  y: fc.integer({ min: 0, max: 9000 }),
  width: fc.constant(228),
  height: fc.constant(74),
});

describe("what is seen of a picture", () => {
  test("zooming holds what is under the pointer, within its limits", () => {
    const factors = fc.double({ min: 0.01, max: 50, noNaN: true });
    fc.assert(
      fc.property(sights, factors, fc.nat(800), fc.nat(600), (sight, factor, x, y) => {
        const next = zoomed(sight, factor, { x, y });
        expect(next.scale).toBeGreaterThanOrEqual(leastScale);
        expect(next.scale).toBeLessThanOrEqual(mostScale);
        expect((x - next.x) / next.scale).toBeCloseTo((x - sight.x) / sight.scale, 3);
      }),
    );
  });

  test("all of it fits the screen, and is never enlarged", () => {
    const sight = fitted({ width: 3000, height: 1000 }, screen);
    expect(sight.x).toBeGreaterThanOrEqual(0);
    expect(sight.x + 3000 * sight.scale).toBeLessThanOrEqual(screen.width);
    expect(fitted({ width: 200, height: 100 }, screen).scale).toBe(1);
  });

  test("a picture that could not be read as a whole begins where somebody is", () => {
    const place = { x: 4000, y: 8000, width: 228, height: 74 };
    const sight = firstSight({ width: 9000, height: 9000 }, screen, place);
    expect(sight.scale).toBeGreaterThan(0.6);
    expect(touches(seenArea(sight, screen, 0), place)).toBe(true);
    expect(firstSight({ width: 700, height: 500 }, screen, place).scale).toBe(1);
  });

  test("a place that is shown is seen, and one that is seen moves nothing", () => {
    fc.assert(
      fc.property(sights, places, (sight, place) => {
        const next = showing(sight, screen, place);
        expect(touches(seenArea(next, screen, 0), place)).toBe(true);
        const again = showing(next, screen, place);
        expect(again.x).toBeCloseTo(next.x, 6);
        expect(again.y).toBeCloseTo(next.y, 6);
      }),
    );
  });

  test("what was seen is still seen when a panel takes room", () => {
    const place = { x: 500, y: 500, width: 228, height: 74 };
    const sight = { x: 0, y: 0, scale: 1 };
    const after = resized(sight, screen, { width: 400, height: 300 }, place);
    expect(touches(seenArea(after, { width: 400, height: 300 }, 0), place)).toBe(true);
    expect(resized(sight, screen, { width: 400, height: 600 }, undefined)).toEqual({
      x: -200,
      y: 0,
      scale: 1,
    });
  });
});
