import { beforeEach, expect, test, vi } from "vitest";
import { createViewportObserver } from "../../src/parts/viewport-observer.ts";

/** A view of 800 px, from 0 on, of which a browser tells what is 1500 px around it. */
const view = { top: 0, bottom: 800 };
const near = { top: view.top - 1500, bottom: view.bottom + 1500 };

let look: (entries: object[]) => void;
/** What the browser is asked of from now on: it tells where each of these is, changed or not. */
let asked: Element[];
let endUse: (() => void) | undefined;
let frames: (() => void)[];
let time: number;
/** How long it takes to draw one, in ms. */
let drawing: number;

beforeEach(() => {
  frames = [];
  asked = [];
  time = 0;
  drawing = 20;
  vi.stubGlobal("performance", { now: () => time });
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(callback: (entries: object[]) => void) {
        look = callback;
      }
      observe(element: Element) {
        asked.push(element);
      }
      unobserve(element: Element) {
        asked = asked.filter((each) => each !== element);
      }
      disconnect() {}
    },
  );
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
  vi.stubGlobal("cancelAnimationFrame", (nth: number) => (frames[nth - 1] = () => {}));
  return () => vi.unstubAllGlobals();
});

function nextFrame(): void {
  const due = frames;
  frames = [];
  for (const run of due) run();
}

function entry(target: Element, top: number, height = 100): object {
  const bottom = top + height;
  const isIntersecting = bottom >= near.top && top <= near.bottom;
  return {
    target,
    isIntersecting,
    boundingClientRect: { top, bottom, height },
    rootBounds: near,
  };
}

function watching(names: readonly string[]) {
  const onUseEnd = (listener: () => void) => {
    endUse = listener;
    return () => (endUse = undefined);
  };
  const watcher = createViewportObserver(() => null, onUseEnd);
  const inUse = new Set<string>();
  const told: string[] = [];
  const elements = Object.fromEntries(names.map((name) => [name, {} as Element]));
  const of = (name: string): Element => elements[name] ?? ({} as Element);
  const stops = names.map((name) =>
    watcher.watch(of(name), (isNear, height) => {
      told.push(`${name} ${isNear ? "near" : "far"} ${height}`);
      if (isNear) time += drawing;
      return isNear || inUse.has(name);
    }),
  );
  asked = [];
  return { watcher, told, of, stops, inUse };
}

test("of those that take long to draw one is told at once and one in each frame, the nearest first", () => {
  const { told, of } = watching(["above", "seen", "far below", "below"]);
  look([
    entry(of("above"), -700),
    entry(of("seen"), 100),
    entry(of("far below"), 5000),
    entry(of("below"), 900),
  ]);
  // What is far is told at once: that costs little.
  expect(told).toEqual(["far below far 100", "seen near 100"]);
  nextFrame();
  expect(told.slice(2)).toEqual(["below near 100"]);
  nextFrame();
  nextFrame();
  expect(told.slice(3)).toEqual(["above near 100"]);
});

test("those that are drawn in no time are told of in one frame, as many as fit into it", () => {
  drawing = 2;
  const names = ["a", "b", "c", "d", "e"];
  const { told, of } = watching(names);
  look(names.map((name, nth) => entry(of(name), 900 + nth)));
  expect(told).toEqual(["a near 100", "b near 100", "c near 100"]);
  nextFrame();
  expect(told.slice(3)).toEqual(["d near 100", "e near 100"]);
});

test("what comes near meanwhile takes its turn, and what has left again is not told", () => {
  const { told, of } = watching(["one", "two", "three"]);
  look([entry(of("one"), 0), entry(of("two"), 1000)]);
  look([entry(of("three"), 850), entry(of("two"), 9000, 250)]);
  expect(told).toEqual(["one near 100", "two far 250"]);
  nextFrame();
  nextFrame();
  expect(told.slice(2)).toEqual(["three near 100"]);
});

test("what is no longer watched is not told", () => {
  const { told, of, stops } = watching(["one", "two"]);
  look([entry(of("one"), 0), entry(of("two"), 10)]);
  for (const stop of stops) stop();
  nextFrame();
  expect(told).toEqual(["one near 100"]);
});

test("those beside the one that has the focus are told at once, and not again", () => {
  const { watcher, told, of } = watching(["one", "two", "three"]);
  look([entry(of("two"), 0), entry(of("three"), 1000)]);
  expect(told).toEqual(["two near 100"]);
  Object.assign(of("two"), {
    previousElementSibling: null,
    nextElementSibling: of("three"),
  });
  watcher.notifyBeside(of("two"));
  expect(told.slice(1)).toEqual(["three near 0"]);
  nextFrame();
  nextFrame();
  expect(told).toHaveLength(2);
});

test("what was in use when it left is looked at again when the use ends, and as often as it is in use again", () => {
  const { told, of, inUse } = watching(["used", "left", "seen"]);
  inUse.add("used");
  look([entry(of("used"), 5000), entry(of("left"), 6000), entry(of("seen"), 0)]);
  endUse?.();
  expect(asked).toEqual([of("used")]);
  asked = [];
  // It is not told twice before the browser has answered.
  endUse?.();
  expect(asked).toEqual([]);
  look([entry(of("used"), 5000)]);
  inUse.clear();
  endUse?.();
  expect(asked).toEqual([of("used")]);
  asked = [];
  look([entry(of("used"), 5000, 300)]);
  expect(told.at(-1)).toBe("used far 300");
  endUse?.();
  expect(asked).toEqual([]);
});

test("what was in use and has come near again, or is no longer watched, is not looked at again", () => {
  const { of, inUse, stops } = watching(["one", "two"]);
  inUse.add("one").add("two");
  look([entry(of("one"), 5000), entry(of("two"), 5000)]);
  look([entry(of("one"), 0)]);
  stops[1]?.();
  endUse?.();
  expect(asked).toEqual([]);
  stops[0]?.();
  expect(endUse).toBe(undefined);
});

test("those that were told because they stood beside the focus are looked at again when it has gone on", () => {
  const { watcher, told, of } = watching(["one", "two", "three"]);
  look([entry(of("one"), 4000), entry(of("two"), 4100), entry(of("three"), 4200)]);
  Object.assign(of("two"), {
    previousElementSibling: of("one"),
    nextElementSibling: of("three"),
  });
  watcher.notifyBeside(of("two"));
  endUse?.();
  expect(asked).toEqual([of("one"), of("three")]);
  look([entry(of("one"), 4000), entry(of("three"), 4200)]);
  expect(told.slice(-2)).toEqual(["one far 100", "three far 100"]);
});
