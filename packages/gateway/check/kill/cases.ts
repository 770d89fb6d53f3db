import type { TaskEvent } from "@deltawire/tasks";
import { calls, effects, toolNames } from "./agents.ts";
import { writesOfEveryRun, formatEventName, crashMoments } from "./crashing-store.ts";
import type { AnswerTiming, Scenario } from "./test-user.ts";
import type { Kill } from "./restarted-server.ts";

/** One run and how its servers are killed. */
export interface KillCase {
  /** The column of the printed table that counts this case. The row shows where the server was killed. */
  killMethod: string;
  /** Unique; shown if the case fails. */
  name: string;
  kills: readonly Kill[];
  answerTiming: AnswerTiming;
  /** Default: "all answered". */
  scenario?: Scenario;
}

/** The columns of the printed table. */
export const killMethods = [
  ...crashMoments,
  "again",
  "canceled",
  "in a tool",
  "at random",
] as const;

/** Kills around every write that each run makes, regardless of timing. `log`: of a run without a kill. */
export function* atBoundaries(log: readonly TaskEvent[]): Generator<KillCase> {
  for (const what of writesOfEveryRun) {
    const times = log.filter((event) => formatEventName(event) === what).length;
    // What is not an event, such as a blob, is not in the log and is written once.
    for (let nth = 0; nth < Math.max(times, 1); nth += 1)
      for (const [index, moment] of crashMoments.entries())
        yield {
          killMethod: moment,
          name: `${what} ${nth}, ${moment}`,
          kills: [{ at: { what, nth }, moment }],
          answerTiming: pickAnswerTiming(nth + index),
        };
  }
}

/**
 * Kills at writes by number, at each moment in turn, from the first write to more than any run makes. The number
 * of writes differs from run to run, because events are batched differently, so the end is known only afterwards.
 */
export function* atWrites(step: number, isPastLastWrite: () => boolean): Generator<KillCase> {
  for (let nth = 0; !isPastLastWrite(); nth += 1) {
    const index = nth * step;
    const moment = pickMoment(nth);
    yield {
      killMethod: moment,
      name: `write ${index}, ${moment}`,
      kills: [{ at: index, moment }],
      answerTiming: pickAnswerTiming(nth),
    };
  }
}

/** Kills twice: at a write by number, and again while the task is resumed. */
export function* againAtWrites(step: number, isPastLastWrite: () => boolean): Generator<KillCase> {
  for (let nth = 0; !isPastLastWrite(); nth += 1) {
    const index = 1 + nth * step;
    const second = { at: index % 9, moment: pickMoment(nth) };
    yield {
      killMethod: "again",
      name: `write ${index}, and then write ${second.at}, ${second.moment}`,
      kills: [{ at: index, moment: "stored" }, second],
      answerTiming: pickAnswerTiming(nth),
    };
  }
}

/** Kills around the end of a sub-agent that a user cancels, and around its parent's reaction. */
export function* atCancel(): Generator<KillCase> {
  for (const what of ["task.approval.expired", "task.canceled", "task.working"])
    for (const moment of crashMoments)
      yield {
        killMethod: "canceled",
        name: `${what} of a canceled helper, ${moment}`,
        kills: [{ at: { what, nth: what === "task.working" ? 2 : 0 }, moment }],
        answerTiming: "immediately",
        scenario: "helper canceled",
      };
}

/** Kills while a tool runs, before and after its side effect. */
export function* inTools(): Generator<KillCase> {
  for (const tool of toolNames.filter((name) => calls[name] > 0))
    for (const counted of [true, false])
      yield {
        killMethod: "in a tool",
        name: `in ${tool} (${effects[tool]}), ${counted ? "done" : "not done"}`,
        kills: [{ tool, counted }],
        answerTiming: pickAnswerTiming(toolNames.indexOf(tool)),
      };
}

/** Kills up to four times, at random times. `longestMs`: the duration of a run without a kill. */
export function* atRandom(
  seed: number,
  longestMs: number,
  isTimeUp: () => boolean,
): Generator<KillCase> {
  const random = createRandom(seed);
  for (let nth = 0; !isTimeUp(); nth += 1) {
    const kills = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
      afterMs: Math.round(random() * longestMs),
    }));
    yield {
      killMethod: "at random",
      name: `number ${nth} of seed ${seed}, after ${kills.map(({ afterMs }) => afterMs).join(", ")} ms`,
      kills,
      answerTiming: pickAnswerTiming(nth),
    };
  }
}

/** Yields the first of every `every` cases. */
export function* everyNth(every: number, cases: Iterable<KillCase>): Generator<KillCase> {
  let nth = 0;
  for (const killCase of cases) {
    if (nth % every === 0) yield killCase;
    nth += 1;
  }
}

function pickMoment(nth: number): (typeof crashMoments)[number] {
  return crashMoments[nth % crashMoments.length] ?? "stored";
}

function pickAnswerTiming(nth: number): AnswerTiming {
  return nth % 2 === 0 ? "immediately" : "when it waits";
}

/** Returns a generator of random numbers, the same for the same seed: mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
