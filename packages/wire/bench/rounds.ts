import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** One way of doing the work. What `prepare` answers is timed; `prepare` itself is not. */
export interface Contestant {
  name: string;
  /** The work; it answers with a sum over all it put out, which must be the same in every run. */
  prepare(): () => number | Promise<number>;
}

export interface Result {
  name: string;
  /** Nanoseconds of one run: the median of the rounds. */
  median: number;
  /** The distance of the quartiles, as a part of the median. */
  spread: number;
  rounds: readonly number[];
}

export interface Effort {
  /** Milliseconds for all rounds of all contestants together, and before that for warming each of them up. */
  budget: number;
  warmUp: number;
  /** How long a contestant works without a break: shorter work is repeated. */
  sample: number;
  fewestRounds: number;
}

/**
 * Times contestants in turns, A B A B and every second round backwards, so that whatever slows the machine down for a
 * while slows down all of them. Each turn starts with a swept nursery: nobody collects another one's garbage.
 */
export async function race(contestants: readonly Contestant[], effort: Effort): Promise<Result[]> {
  const entries: Entry[] = [];
  for (const contestant of contestants) entries.push(await warmedUp(contestant, effort));
  const until = performance.now() + effort.budget;
  for (let round = 0; round < effort.fewestRounds || performance.now() < until; round += 1) {
    for (const entry of round % 2 === 0 ? entries : entries.toReversed())
      entry.rounds.push(await time(entry));
  }
  return entries.map(({ contestant, rounds }) => {
    const median = quantile(rounds, 0.5);
    const spread = (quantile(rounds, 0.75) - quantile(rounds, 0.25)) / median;
    return { name: contestant.name, median, spread, rounds };
  });
}

/** How many times as fast `ours` is: the median of the ratios of each round. */
export function timesAsFast(ours: Result, theirs: Result): number {
  return quantile(
    ours.rounds.map((nanoseconds, round) => (theirs.rounds[round] ?? NaN) / nanoseconds),
    0.5,
  );
}

/** Bytes on the heap after a full collection. */
export function heapHeld(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

interface Entry {
  contestant: Contestant;
  repeats: number;
  sum: number;
  rounds: number[];
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as (options?: { type: "minor" }) => void;

async function warmedUp(contestant: Contestant, effort: Effort): Promise<Entry> {
  const entry: Entry = { contestant, repeats: 1, sum: await contestant.prepare()(), rounds: [] };
  const until = performance.now() + effort.warmUp;
  let fastest = Infinity;
  do fastest = Math.min(fastest, await time(entry));
  while (performance.now() < until);
  entry.repeats = Math.max(1, Math.ceil((effort.sample * 1e6) / fastest));
  return entry;
}

/** Nanoseconds of one run. */
async function time({ contestant, repeats, sum }: Entry): Promise<number> {
  const runs = Array.from({ length: repeats }, () => contestant.prepare());
  collectGarbage({ type: "minor" });
  let total = 0;
  const start = process.hrtime.bigint();
  for (const run of runs) {
    const answer = run();
    total += typeof answer === "number" ? answer : await answer;
  }
  const nanoseconds = Number(process.hrtime.bigint() - start);
  if (total !== sum * repeats)
    throw new Error(`${contestant.name}: not the same result every time`);
  return nanoseconds / repeats;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}
