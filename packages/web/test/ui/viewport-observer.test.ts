import { beforeEach, expect, test, vi } from "vitest";
import { createViewportObserver } from "../../src/ui/viewport-observer.ts";

/** A viewport from 0 to 800 px with a margin of 1500 px. */
const view = { top: 0, bottom: 800 };
const near = { top: view.top - 1500, bottom: view.bottom + 1500 };

let intersect: (entries: object[]) => void;
/** Newly observed elements, each of which an IntersectionObserver reports once. */
let newlyObserved: Element[];
let endUse: (() => void) | undefined;
let frames: (() => void)[];
let time: number;
/** How long it takes to mount an element, in ms. */
let mountMs: number;

beforeEach(() => {
  frames = [];
  newlyObserved = [];
  time = 0;
  mountMs = 20;
  vi.stubGlobal("performance", { now: () => time });
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(callback: (entries: object[]) => void) {
        intersect = callback;
      }
      observe(element: Element) {
        newlyObserved.push(element);
      }
      unobserve(element: Element) {
        newlyObserved = newlyObserved.filter((observed) => observed !== element);
      }
      disconnect() {}
    },
  );
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
  vi.stubGlobal("cancelAnimationFrame", (id: number) => (frames[id - 1] = () => {}));
  return () => vi.unstubAllGlobals();
});

function nextFrame(): void {
  const due = frames;
  frames = [];
  for (const run of due) run();
}

function createEntry(target: Element, top: number, height = 100): object {
  const bottom = top + height;
  const isIntersecting = bottom >= near.top && top <= near.bottom;
  return {
    target,
    isIntersecting,
    boundingClientRect: { top, bottom, height },
    rootBounds: near,
  };
}

function observeElements(names: readonly string[]) {
  const onUseEnd = (listener: () => void) => {
    endUse = listener;
    return () => (endUse = undefined);
  };
  const observer = createViewportObserver(() => null, onUseEnd);
  const inUse = new Set<string>();
  const reports: string[] = [];
  const elements = Object.fromEntries(names.map((name) => [name, {} as Element]));
  const getElement = (name: string): Element => elements[name] ?? ({} as Element);
  const stops = names.map((name) =>
    observer.observe(getElement(name), (isNear, height) => {
      reports.push(`${name} ${isNear ? "near" : "far"} ${height}`);
      if (isNear) time += mountMs;
      return isNear || inUse.has(name);
    }),
  );
  newlyObserved = [];
  return { observer, reports, getElement, stops, inUse };
}

test("elements that are slow to mount are reported one per frame, the nearest first, and one immediately", () => {
  const { reports, getElement } = observeElements(["above", "seen", "far below", "below"]);
  intersect([
    createEntry(getElement("above"), -700),
    createEntry(getElement("seen"), 100),
    createEntry(getElement("far below"), 5000),
    createEntry(getElement("below"), 900),
  ]);
  // Distant elements are reported immediately, because unmounting is cheap.
  expect(reports).toEqual(["far below far 100", "seen near 100"]);
  nextFrame();
  expect(reports.slice(2)).toEqual(["below near 100"]);
  nextFrame();
  nextFrame();
  expect(reports.slice(3)).toEqual(["above near 100"]);
});

test("of elements that are fast to mount, as many are reported per frame as fit", () => {
  mountMs = 2;
  const names = ["a", "b", "c", "d", "e"];
  const { reports, getElement } = observeElements(names);
  intersect(names.map((name, id) => createEntry(getElement(name), 900 + id)));
  expect(reports).toEqual(["a near 100", "b near 100", "c near 100"]);
  nextFrame();
  expect(reports.slice(3)).toEqual(["d near 100", "e near 100"]);
});

test("elements that come near in the meantime are queued, and those that have left are not reported", () => {
  const { reports, getElement } = observeElements(["one", "two", "three"]);
  intersect([createEntry(getElement("one"), 0), createEntry(getElement("two"), 1000)]);
  intersect([createEntry(getElement("three"), 850), createEntry(getElement("two"), 9000, 250)]);
  expect(reports).toEqual(["one near 100", "two far 250"]);
  nextFrame();
  nextFrame();
  expect(reports.slice(2)).toEqual(["three near 100"]);
});

test("an unobserved element is not reported", () => {
  const { reports, getElement, stops } = observeElements(["one", "two"]);
  intersect([createEntry(getElement("one"), 0), createEntry(getElement("two"), 10)]);
  for (const stop of stops) stop();
  nextFrame();
  expect(reports).toEqual(["one near 100"]);
});

test("the siblings of the focused element are reported immediately, and not again", () => {
  const { observer, reports, getElement } = observeElements(["one", "two", "three"]);
  intersect([createEntry(getElement("two"), 0), createEntry(getElement("three"), 1000)]);
  expect(reports).toEqual(["two near 100"]);
  Object.assign(getElement("two"), {
    previousElementSibling: null,
    nextElementSibling: getElement("three"),
  });
  observer.notifySiblings(getElement("two"));
  expect(reports.slice(1)).toEqual(["three near 0"]);
  nextFrame();
  nextFrame();
  expect(reports).toHaveLength(2);
});

test("an element in use outside of the viewport is checked again when the use ends", () => {
  const { reports, getElement, inUse } = observeElements(["used", "left", "seen"]);
  inUse.add("used");
  intersect([
    createEntry(getElement("used"), 5000),
    createEntry(getElement("left"), 6000),
    createEntry(getElement("seen"), 0),
  ]);
  endUse?.();
  expect(newlyObserved).toEqual([getElement("used")]);
  newlyObserved = [];
  // It is not reported twice before the browser reports it.
  endUse?.();
  expect(newlyObserved).toEqual([]);
  intersect([createEntry(getElement("used"), 5000)]);
  inUse.clear();
  endUse?.();
  expect(newlyObserved).toEqual([getElement("used")]);
  newlyObserved = [];
  intersect([createEntry(getElement("used"), 5000, 300)]);
  expect(reports.at(-1)).toBe("used far 300");
  endUse?.();
  expect(newlyObserved).toEqual([]);
});

test("an element in use that came near again or is unobserved is not checked again", () => {
  const { getElement, inUse, stops } = observeElements(["one", "two"]);
  inUse.add("one").add("two");
  intersect([createEntry(getElement("one"), 5000), createEntry(getElement("two"), 5000)]);
  intersect([createEntry(getElement("one"), 0)]);
  stops[1]?.();
  endUse?.();
  expect(newlyObserved).toEqual([]);
  stops[0]?.();
  expect(endUse).toBe(undefined);
});

test("siblings of the focus are checked again after the focus has moved on", () => {
  const { observer, reports, getElement } = observeElements(["one", "two", "three"]);
  intersect([
    createEntry(getElement("one"), 4000),
    createEntry(getElement("two"), 4100),
    createEntry(getElement("three"), 4200),
  ]);
  Object.assign(getElement("two"), {
    previousElementSibling: getElement("one"),
    nextElementSibling: getElement("three"),
  });
  observer.notifySiblings(getElement("two"));
  endUse?.();
  expect(newlyObserved).toEqual([getElement("one"), getElement("three")]);
  intersect([createEntry(getElement("one"), 4000), createEntry(getElement("three"), 4200)]);
  expect(reports.slice(-2)).toEqual(["one far 100", "three far 100"]);
});
