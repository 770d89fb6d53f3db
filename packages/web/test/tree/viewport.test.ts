import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  getInitialViewport,
  fitViewport,
  minScale,
  maxScale,
  resizeViewport,
  getVisibleArea,
  revealArea,
  intersects,
  zoomViewport,
} from "../../src/tree/viewport.ts";

const screen = { width: 800, height: 600 };
const viewports = fc.record({
  x: fc.integer({ min: -5000, max: 5000 }),
  y: fc.integer({ min: -5000, max: 5000 }),
  scale: fc.double({ min: minScale, max: maxScale, noNaN: true }),
});
const areas = fc.record({
  x: fc.integer({ min: 0, max: 9000 }),
  y: fc.integer({ min: 0, max: 9000 }),
  width: fc.constant(228),
  height: fc.constant(74),
});

describe("the viewport", () => {
  test("zooms around the pointer, within its limits", () => {
    const factors = fc.double({ min: 0.01, max: 50, noNaN: true });
    fc.assert(
      fc.property(viewports, factors, fc.nat(800), fc.nat(600), (viewport, factor, x, y) => {
        const next = zoomViewport(viewport, factor, { x, y });
        expect(next.scale).toBeGreaterThanOrEqual(minScale);
        expect(next.scale).toBeLessThanOrEqual(maxScale);
        expect((x - next.x) / next.scale).toBeCloseTo((x - viewport.x) / viewport.scale, 3);
      }),
    );
  });

  test("fits the content to the screen without enlarging it", () => {
    const viewport = fitViewport({ width: 3000, height: 1000 }, screen);
    expect(viewport.x).toBeGreaterThanOrEqual(0);
    expect(viewport.x + 3000 * viewport.scale).toBeLessThanOrEqual(screen.width);
    expect(fitViewport({ width: 200, height: 100 }, screen).scale).toBe(1);
  });

  test("starts at the given area if the complete content would be too small to read", () => {
    const area = { x: 4000, y: 8000, width: 228, height: 74 };
    const viewport = getInitialViewport({ width: 9000, height: 9000 }, screen, area);
    expect(viewport.scale).toBeGreaterThan(0.6);
    expect(intersects(getVisibleArea(viewport, screen, 0), area)).toBe(true);
    expect(getInitialViewport({ width: 700, height: 500 }, screen, area).scale).toBe(1);
  });

  test("reveals an area, and does not move for a visible one", () => {
    fc.assert(
      fc.property(viewports, areas, (viewport, area) => {
        const next = revealArea(viewport, screen, area);
        expect(intersects(getVisibleArea(next, screen, 0), area)).toBe(true);
        const again = revealArea(next, screen, area);
        expect(again.x).toBeCloseTo(next.x, 6);
        expect(again.y).toBeCloseTo(next.y, 6);
      }),
    );
  });

  test("keeps a visible area in view when it shrinks", () => {
    const area = { x: 500, y: 500, width: 228, height: 74 };
    const viewport = { x: 0, y: 0, scale: 1 };
    const resized = resizeViewport(viewport, screen, { width: 400, height: 300 }, area);
    expect(intersects(getVisibleArea(resized, { width: 400, height: 300 }, 0), area)).toBe(true);
    expect(resizeViewport(viewport, screen, { width: 400, height: 600 }, undefined)).toEqual({
      x: -200,
      y: 0,
      scale: 1,
    });
  });
});
