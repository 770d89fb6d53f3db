import { expect, test } from "vitest";
import { framePace } from "../../src/browser/frames.ts";

/** A screen of 60 frames a second, on which drawing takes as long as is said. */
class Screen {
  time = 0;
  took = 0;
  #asked = new Set<() => void>();
  #drawn: (() => void)[] = [];

  readonly frames = {
    now: () => this.time,
    request: (run: () => void) => {
      this.#asked.add(run);
      return () => void this.#asked.delete(run);
    },
    drawn: (run: () => void) => void this.#drawn.push(run),
  };

  frame(): void {
    this.time = Math.ceil((this.time + 0.001) / 16.7) * 16.7;
    const asked = [...this.#asked];
    this.#asked.clear();
    for (const run of asked) run();
    if (this.#drawn.length > 0) this.time += this.took;
    for (const run of this.#drawn.splice(0)) run();
  }
}

/** How often something is shown in a second that always has something new. */
function shownInASecond(took: number): number {
  const screen = new Screen();
  screen.took = took;
  const inFrame = framePace(screen.frames);
  let shown = 0;
  const show = () => {
    shown += 1;
    inFrame(show);
  };
  inFrame(show);
  while (screen.time < 1000) screen.frame();
  return shown;
}

test("what is drawn at once is shown in every frame", () => {
  expect(shownInASecond(4)).toBeGreaterThanOrEqual(59);
});

test("what takes a frame to draw is shown in every second one", () => {
  expect(shownInASecond(15)).toBeGreaterThanOrEqual(29);
  expect(shownInASecond(15)).toBeLessThanOrEqual(31);
});

test("however long drawing takes, what is new does not wait for long", () => {
  expect(shownInASecond(40)).toBeGreaterThanOrEqual(14);
  expect(shownInASecond(140)).toBeGreaterThanOrEqual(6);
});

test("of two that run in one frame the longer one counts", () => {
  const screen = new Screen();
  const inFrame = framePace(screen.frames);
  let shown = 0;
  const words = () => {
    shown += 1;
    screen.time += 20;
    inFrame(words);
  };
  const formula = () => void inFrame(formula);
  inFrame(words);
  inFrame(formula);
  while (screen.time < 1000) screen.frame();
  expect(shown).toBeLessThanOrEqual(21);
});

test("what was taken back is not run, also after it has waited for a frame", () => {
  const screen = new Screen();
  screen.took = 20;
  const inFrame = framePace(screen.frames);
  let runs = 0;
  inFrame(() => (runs += 1));
  screen.frame();
  const takeBack = inFrame(() => (runs += 1));
  screen.frame();
  takeBack();
  for (let nth = 0; nth < 20; nth += 1) screen.frame();
  expect(runs).toBe(1);
});
