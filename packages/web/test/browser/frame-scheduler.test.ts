import { expect, test } from "vitest";
import { createFrameScheduler } from "../../src/browser/frame-scheduler.ts";

/** Simulates a display with 60 frames per second and a given paint time. */
class FakeScreen {
  time = 0;
  paintMs = 0;
  #requested = new Set<() => void>();
  #paintCallbacks: (() => void)[] = [];

  readonly frames = {
    now: () => this.time,
    request: (run: () => void) => {
      this.#requested.add(run);
      return () => void this.#requested.delete(run);
    },
    afterPaint: (run: () => void) => void this.#paintCallbacks.push(run),
  };

  frame(): void {
    this.time = Math.ceil((this.time + 0.001) / 16.7) * 16.7;
    const callbacks = [...this.#requested];
    this.#requested.clear();
    for (const run of callbacks) run();
    if (this.#paintCallbacks.length > 0) this.time += this.paintMs;
    for (const run of this.#paintCallbacks.splice(0)) run();
  }
}

/** Counts the frames with an update within one second of continuous updates. */
function countFramesInASecond(paintMs: number): number {
  const screen = new FakeScreen();
  screen.paintMs = paintMs;
  const schedule = createFrameScheduler(screen.frames);
  let frameCount = 0;
  const update = () => {
    frameCount += 1;
    schedule(update);
  };
  schedule(update);
  while (screen.time < 1000) screen.frame();
  return frameCount;
}

test("a callback with a fast render runs in every frame", () => {
  expect(countFramesInASecond(4)).toBeGreaterThanOrEqual(59);
});

test("a callback whose render takes a frame runs in every other frame", () => {
  expect(countFramesInASecond(15)).toBeGreaterThanOrEqual(29);
  expect(countFramesInASecond(15)).toBeLessThanOrEqual(31);
});

test("a callback with a slow render runs several times per second", () => {
  expect(countFramesInASecond(40)).toBeGreaterThanOrEqual(14);
  expect(countFramesInASecond(140)).toBeGreaterThanOrEqual(6);
});

test("of two callbacks in one frame, the slower one determines the delay", () => {
  const screen = new FakeScreen();
  const schedule = createFrameScheduler(screen.frames);
  let frameCount = 0;
  const renderSlowly = () => {
    frameCount += 1;
    screen.time += 20;
    schedule(renderSlowly);
  };
  const renderFast = () => void schedule(renderFast);
  schedule(renderSlowly);
  schedule(renderFast);
  while (screen.time < 1000) screen.frame();
  expect(frameCount).toBeLessThanOrEqual(21);
});

test("a canceled callback does not run, even after it was postponed by a frame", () => {
  const screen = new FakeScreen();
  screen.paintMs = 20;
  const schedule = createFrameScheduler(screen.frames);
  let runs = 0;
  schedule(() => (runs += 1));
  screen.frame();
  const cancel = schedule(() => (runs += 1));
  screen.frame();
  cancel();
  for (let nth = 0; nth < 20; nth += 1) screen.frame();
  expect(runs).toBe(1);
});
