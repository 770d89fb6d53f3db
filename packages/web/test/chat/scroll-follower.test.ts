import fc from "fast-check";
import { expect, test } from "vitest";
import {
  nextModeAfterGrowth,
  nextModeAfterScroll,
  nextModeAfterScrollUp,
  hasMoreBelow,
  isAtEnd,
  getTargetScrollTop,
  type FollowMode,
  type ScrollMetrics,
} from "../../src/chat/scroll-follower.ts";

const end: FollowMode = { type: "end" };
const start: FollowMode = { type: "start" };
const detached: FollowMode = { type: "detached", hasNewContent: false };
const streaming = { isStreaming: true, isReading: false };

const scroll = (top: number, height = 2000, viewportHeight = 500): ScrollMetrics => ({
  top,
  height,
  viewportHeight,
});

test("a list within a few px of its end, or shorter than the window, is at its end", () => {
  expect(isAtEnd(scroll(1500))).toBe(true);
  expect(isAtEnd(scroll(1491))).toBe(true);
  expect(isAtEnd(scroll(1480))).toBe(false);
  expect(isAtEnd(scroll(0, 300))).toBe(true);
});

test("scrolling up by two px stops following", () => {
  expect(nextModeAfterScroll(end, scroll(1500), scroll(1498))).toEqual(detached);
  expect(nextModeAfterScroll(start, scroll(900), scroll(700))).toEqual(detached);
});

test("scrolling up while the text grows stops following", () => {
  expect(nextModeAfterScroll(end, scroll(1500), scroll(1450, 2300))).toEqual(detached);
});

test("collapsing content or enlarging the window does not stop following", () => {
  expect(nextModeAfterScroll(end, scroll(1500), scroll(1200, 1700))).toEqual(end);
  expect(nextModeAfterScroll(end, scroll(1500), scroll(1400, 2000, 600))).toEqual(end);
});

test("a shrinking answer together with a growing header does not stop following", () => {
  const now = scroll(199, 834, 617);
  expect(nextModeAfterScroll(end, scroll(227, 861, 634), now)).toEqual(end);
  expect(getTargetScrollTop(end, now, undefined)).toBe(217);
});

test("content that shrinks and grows again before the scroll event stops following only beyond the shrinkage", () => {
  expect(nextModeAfterScroll(end, scroll(1500), scroll(1400, 1913))).toEqual(end);
  expect(nextModeAfterScroll(end, scroll(1500), scroll(1300, 1913))).toEqual(detached);
});

test("the scroll-to-end button is not shown within a few px of the end", () => {
  expect(hasMoreBelow(scroll(1470))).toBe(false);
  expect(hasMoreBelow(scroll(1400))).toBe(true);
});

test("scrolling back to the end follows again, but not if the user stops before it", () => {
  const reading: FollowMode = { type: "detached", hasNewContent: true };
  expect(nextModeAfterScroll(reading, scroll(800), scroll(1495))).toEqual(end);
  expect(nextModeAfterScroll(reading, scroll(800), scroll(1300))).toEqual(reading);
});

test("after scrolling up a little, the list stays detached although it is near its end", () => {
  const mode = nextModeAfterScroll(end, scroll(1500), scroll(1495));
  expect(mode).toEqual(detached);
  expect(nextModeAfterScroll(mode, scroll(1495), scroll(1495))).toEqual(detached);
});

test("scrolling down from an answer that is held at its start releases it", () => {
  expect(nextModeAfterScroll(start, scroll(900), scroll(1000))).toEqual(detached);
  expect(nextModeAfterScroll(start, scroll(900), scroll(1500))).toEqual(end);
});

test("the wheel stops following before the list has moved, but not if it cannot scroll", () => {
  expect(nextModeAfterScrollUp(end, scroll(1500))).toEqual(detached);
  expect(nextModeAfterScrollUp(end, scroll(0, 400))).toEqual(end);
});

test("in a detached list, growth counts as new content only while an answer streams", () => {
  expect(nextModeAfterGrowth(detached, scroll(100), scroll(100, 2100), streaming)).toEqual({
    type: "detached",
    hasNewContent: true,
  });
  const idle = { isStreaming: false, isReading: false };
  expect(nextModeAfterGrowth(detached, scroll(100), scroll(100, 2100), idle)).toEqual(detached);
});

test("growth while the user selects text stops following", () => {
  const selecting = { isStreaming: true, isReading: true };
  expect(nextModeAfterGrowth(end, scroll(1500), scroll(1500, 2100), selecting)).toEqual({
    type: "detached",
    hasNewContent: true,
  });
  expect(nextModeAfterGrowth(end, scroll(1500), scroll(1500, 1900), selecting)).toEqual(end);
});

test("in start mode, an answer longer than the window is held at its start", () => {
  expect(getTargetScrollTop(start, scroll(1500, 2100), 1800)).toBe(1600);
  expect(getTargetScrollTop(start, scroll(1600, 2600), 1800)).toBe(1800);
  expect(getTargetScrollTop(start, scroll(1800, 9000), 1800)).toBe(1800);
  expect(getTargetScrollTop(start, scroll(1800, 9000), undefined)).toBeUndefined();
  expect(getTargetScrollTop(end, scroll(1500, 2100), 1800)).toBe(1600);
  expect(getTargetScrollTop(detached, scroll(1500, 2100), 1800)).toBeUndefined();
});

const growth = fc.array(fc.integer({ min: -400, max: 900 }), { maxLength: 30 });

/** Grows and shrinks the content without any scrolling by the user. */
function simulateGrowth(initial: FollowMode, from: ScrollMetrics, steps: readonly number[]) {
  let mode = initial;
  let now = from;
  for (const step of steps) {
    const grown = { ...now, height: Math.max(900, now.height + step) };
    mode = nextModeAfterGrowth(mode, now, grown, streaming);
    const top =
      getTargetScrollTop(mode, grown, undefined) ?? Math.min(grown.top, grown.height - 500);
    now = { ...grown, top };
    mode = nextModeAfterScroll(mode, now, now);
  }
  return { mode, now };
}

test("however the text grows, a following list stays at its end", () => {
  fc.assert(
    fc.property(growth, (steps) => {
      const { mode, now } = simulateGrowth(end, scroll(1500), steps);
      expect(mode).toEqual(end);
      expect(isAtEnd(now)).toBe(true);
    }),
  );
});

test("however the text grows, a detached list does not move", () => {
  fc.assert(
    fc.property(growth, (steps) => {
      const { mode, now } = simulateGrowth(detached, scroll(300), steps);
      expect(mode.type).toBe("detached");
      expect(now.top).toBe(300);
    }),
  );
});
