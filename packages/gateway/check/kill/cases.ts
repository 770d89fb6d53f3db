import type { TaskEvent } from "@deltawire/tasks";
import { calls, effects, toolNames } from "./agents.ts";
import { certain, eventName, moments } from "./mortal-store.ts";
import type { Patience, Plot } from "./person.ts";
import type { Kill } from "./restarted-server.ts";

/** One run and how its servers are killed. */
export interface Case {
  /** The column that it is counted in; its row is where the server was killed. */
  how: string;
  /** For who wants to see it again. */
  name: string;
  kills: readonly Kill[];
  patience: Patience;
  /** "all answered" unless it says otherwise. */
  plot?: Plot;
}

/** All that the columns of the table may be. */
export const ways = [...moments, "again", "canceled", "in a tool", "at random"] as const;

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
  for (let nth = 0; !isPast(); nth += 1) {
    const at = nth * step;
    const moment = momentOf(nth);
    yield {
      how: moment,
      name: `write ${at}, ${moment}`,
      kills: [{ at, moment }],
      patience: patienceOf(nth),
    };
  }
}

/** A second time, while the task is taken up again. */
export function* againAtWrites(step: number, isPast: () => boolean): Generator<Case> {
  for (let nth = 0; !isPast(); nth += 1) {
    const at = 1 + nth * step;
    const second = { at: at % 9, moment: momentOf(nth) };
    yield {
      how: "again",
      name: `write ${at}, and then write ${second.at}, ${second.moment}`,
      kills: [{ at, moment: "kept" }, second],
      patience: patienceOf(nth),
    };
  }
}

/** Around the end of a sub-agent that a person cancels, and around what its parent makes of that. */
export function* atCancel(): Generator<Case> {
  for (const what of ["task.approval.expired", "task.canceled", "task.working"])
    for (const moment of moments)
      yield {
        how: "canceled",
        name: `${what} of a helper that is cancelled, ${moment}`,
        kills: [{ at: { what, nth: what === "task.working" ? 2 : 0 }, moment }],
        patience: "at once",
        plot: "helper canceled",
      };
}

/** While a tool is at work, whether it has done it or not. */
export function* inTools(): Generator<Case> {
  for (const tool of toolNames.filter((name) => calls[name] > 0))
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

function momentOf(nth: number): (typeof moments)[number] {
  return moments[nth % moments.length] ?? "kept";
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
