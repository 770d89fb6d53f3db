import type { TaskEvent } from "@deltawire/tasks";
import { effects, toolNames } from "./agents.ts";
import { certain, eventName, moments } from "./mortal-store.ts";
import type { Patience } from "./person.ts";
import type { Kill } from "./restarted-server.ts";

/** One run and how its servers are killed. */
export interface Case {
  /** The column that it is counted in; its row is where the server was killed. */
  how: string;
  /** For who wants to see it again. */
  name: string;
  kills: readonly Kill[];
  patience: Patience;
}

/** All that the columns of the table may be. */
export const ways = [...moments, "again", "in a tool", "at random"] as const;

/** Around everything that an undisturbed run is certain to write, each time that it does. */
export function* atBoundaries(log: readonly TaskEvent[]): Generator<Case> {
  for (const what of certain) {
    const times = log.filter((event) => eventName(event) === what).length;
    // What is no event is written once.
    for (let nth = 0; nth < Math.max(times, 1); nth += 1)
      for (const [index, moment] of moments.entries())
        yield {
          how: moment,
          name: `${what} ${nth}, ${moment}`,
          kills: [{ at: { what, nth }, moment }],
          patience: patienceOf(nth + index),
        };
  }
}

/**
 * At writes by their number, the moments in turn, whatever is in them: from the first to those that no run comes to. How
 * events fall into writes differs from run to run, so the last one is known only when it has been passed.
 */
export function* atWrites(step: number, isPast: () => boolean): Generator<Case> {
  for (let at = 0; !isPast(); at += step) {
    const moment = moments[(at / step) % moments.length] ?? "kept";
    yield {
      how: moment,
      name: `write ${at}, ${moment}`,
      kills: [{ at, moment }],
      patience: patienceOf(at),
    };
  }
}

/** A second time, while the task is taken up again. */
export function* againAtWrites(step: number, isPast: () => boolean): Generator<Case> {
  for (let at = 1; !isPast(); at += step) {
    const second = { at: at % 9, moment: moments[at % moments.length] ?? "kept" };
    yield {
      how: "again",
      name: `write ${at}, and then write ${second.at}, ${second.moment}`,
      kills: [{ at, moment: "kept" }, second],
      patience: patienceOf(at),
    };
  }
}

/** While a tool is at work, whether it has done it or not. */
export function* inTools(): Generator<Case> {
  for (const tool of toolNames)
    for (const counted of [true, false])
      yield {
        how: "in a tool",
        name: `in ${tool} (${effects[tool]}), ${counted ? "done" : "not done"}`,
        kills: [{ tool, counted }],
        patience: patienceOf(toolNames.indexOf(tool)),
      };
}

/** Up to four times, whenever; `longestMs` is what an undisturbed run takes. */
export function* atRandom(seed: number, longestMs: number, isOver: () => boolean): Generator<Case> {
  const random = randomNumbers(seed);
  for (let nth = 0; !isOver(); nth += 1) {
    const kills = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
      afterMs: Math.round(random() * longestMs),
    }));
    yield {
      how: "at random",
      name: `number ${nth} of seed ${seed}, after ${kills.map(({ afterMs }) => afterMs).join(", ")} ms`,
      kills,
      patience: patienceOf(nth),
    };
  }
}

/** Of many only some: every so-manieth. */
export function* eachOf(every: number, cases: Iterable<Case>): Generator<Case> {
  let nth = 0;
  for (const one of cases) {
    if (nth % every === 0) yield one;
    nth += 1;
  }
}

function patienceOf(nth: number): Patience {
  return nth % 2 === 0 ? "at once" : "when it waits";
}

/** The same for the same seed: mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
