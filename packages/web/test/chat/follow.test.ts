import fc from "fast-check";
import { expect, test } from "vitest";
import {
  afterGrowth,
  afterScroll,
  afterTurningUp,
  hasMoreBelow,
  isAtEnd,
  placeFor,
  type Following,
  type Scroll,
} from "../../src/chat/follow.ts";

const end: Following = { is: "end" };
const start: Following = { is: "start" };
const free: Following = { is: "free", news: false };
const writing = { written: true, selecting: false };

const scroll = (top: number, height = 2000, view = 500): Scroll => ({ top, height, view });

test("the list is at its end within a few px, and so is one that fits the window", () => {
  expect(isAtEnd(scroll(1500))).toBe(true);
  expect(isAtEnd(scroll(1491))).toBe(true);
  expect(isAtEnd(scroll(1480))).toBe(false);
  expect(isAtEnd(scroll(0, 300))).toBe(true);
});

test("a reader who scrolls up by two px is no longer pulled down", () => {
  expect(afterScroll(end, scroll(1500), scroll(1498))).toEqual(free);
  expect(afterScroll(start, scroll(900), scroll(700))).toEqual(free);
});

test("a reader who scrolls up while the text grows is no longer pulled down", () => {
  expect(afterScroll(end, scroll(1500), scroll(1450, 2300))).toEqual(free);
});

test("what is folded, and a window that becomes higher, do not end the following", () => {
  expect(afterScroll(end, scroll(1500), scroll(1200, 1700))).toEqual(end);
  expect(afterScroll(end, scroll(1500), scroll(1400, 2000, 600))).toEqual(end);
});

test("an answer that becomes shorter as it ends, below a header that becomes higher, is followed still", () => {
  const now = scroll(199, 834, 617);
  expect(afterScroll(end, scroll(227, 861, 634), now)).toEqual(end);
  expect(placeFor(end, now, undefined)).toBe(217);
});

test("a list that became shorter and grew again before it was looked at is followed still", () => {
  expect(afterScroll(end, scroll(1500), scroll(1400, 1913))).toEqual(end);
  expect(afterScroll(end, scroll(1500), scroll(1300, 1913))).toEqual(free);
});

test("nobody is offered a way to the end before a few px", () => {
  expect(hasMoreBelow(scroll(1470))).toBe(false);
  expect(hasMoreBelow(scroll(1400))).toBe(true);
});

test("whoever scrolls back to the end follows again; who stops before it does not", () => {
  const reading: Following = { is: "free", news: true };
  expect(afterScroll(reading, scroll(800), scroll(1495))).toEqual(end);
  expect(afterScroll(reading, scroll(800), scroll(1300))).toEqual(reading);
});

test("at the end, a small turn upwards is not undone by being near the end", () => {
  const turned = afterScroll(end, scroll(1500), scroll(1495));
  expect(turned).toEqual(free);
  expect(afterScroll(turned, scroll(1495), scroll(1495))).toEqual(free);
});

test("whoever reads on below an answer that is held at its start is not taken back to it", () => {
  expect(afterScroll(start, scroll(900), scroll(1000))).toEqual(free);
  expect(afterScroll(start, scroll(900), scroll(1500))).toEqual(end);
});

test("the wheel frees the list before it has moved, but not one that cannot move", () => {
  expect(afterTurningUp(end, scroll(1500))).toEqual(free);
  expect(afterTurningUp(end, scroll(0, 400))).toEqual(end);
});

test("text that comes while somebody reads elsewhere is news; groups that are drawn are not", () => {
  expect(afterGrowth(free, scroll(100), scroll(100, 2100), writing)).toEqual({
    is: "free",
    news: true,
  });
  const idle = { written: false, selecting: false };
  expect(afterGrowth(free, scroll(100), scroll(100, 2100), idle)).toEqual(free);
});

test("a selection is not scrolled away under the hand", () => {
  const selecting = { written: true, selecting: true };
  expect(afterGrowth(end, scroll(1500), scroll(1500, 2100), selecting)).toEqual({
    is: "free",
    news: true,
  });
  expect(afterGrowth(end, scroll(1500), scroll(1500, 1900), selecting)).toEqual(end);
});

test("an answer is held where it begins once it is longer than the window", () => {
  expect(placeFor(start, scroll(1500, 2100), 1800)).toBe(1600);
  expect(placeFor(start, scroll(1600, 2600), 1800)).toBe(1800);
  expect(placeFor(start, scroll(1800, 9000), 1800)).toBe(1800);
  expect(placeFor(start, scroll(1800, 9000), undefined)).toBeUndefined();
  expect(placeFor(end, scroll(1500, 2100), 1800)).toBe(1600);
  expect(placeFor(free, scroll(1500, 2100), 1800)).toBeUndefined();
});

const growth = fc.array(fc.integer({ min: -400, max: 900 }), { maxLength: 30 });

/** What becomes of the list while it grows and shrinks, and is never touched. */
function untouched(first: Following, from: Scroll, steps: readonly number[]) {
  let following = first;
  let now = from;
  for (const step of steps) {
    const grown = { ...now, height: Math.max(900, now.height + step) };
    following = afterGrowth(following, now, grown, writing);
    const top = placeFor(following, grown, undefined) ?? Math.min(grown.top, grown.height - 500);
    now = { ...grown, top };
    following = afterScroll(following, now, now);
  }
  return { following, now };
}

test("however the text grows, a list that follows is at the end", () => {
  fc.assert(
    fc.property(growth, (steps) => {
      const { following, now } = untouched(end, scroll(1500), steps);
      expect(following).toEqual(end);
      expect(isAtEnd(now)).toBe(true);
    }),
  );
});

test("however the text grows, one that is read elsewhere is left where it is", () => {
  fc.assert(
    fc.property(growth, (steps) => {
      const { following, now } = untouched(free, scroll(300), steps);
      expect(following.is).toBe("free");
      expect(now.top).toBe(300);
    }),
  );
});
