import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** One way of doing the work. */
export interface Contestant {
  name: string;
  /** How many events it takes in, or puts out. */
  events: number;
  /** The work; it answers with a sum over what came of it, which must be the same in every run. */
  run: () => number | Promise<number>;
}

export interface Result {
  name: string;
  events: number;
  /** Nanoseconds of processor for an event: the median of the rounds. */
  perEvent: number;
  /** The distance of the quartiles, as a part of the median. */
  spread: number;
  /** Nanoseconds of one run, by round. */
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
 * Takes the processor time of contestants, that of collecting their garbage included, and not the clock's: on a shared
 * machine a long sample is interrupted more often than a short one, which would look like growth. They work in turns,
 * every second round backwards, so that whatever slows the machine down for a while slows down all of them. Each turn
 * starts with a swept nursery: nobody collects another one's garbage.
 */
export async function race(contestants: readonly Contestant[], effort: Effort): Promise<Result[]> {
  const entries: Entry[] = [];
  for (const contestant of contestants) entries.push(await warmedUp(contestant, effort));
  const until = performance.now() + effort.budget;
  for (let round = 0; round < effort.fewestRounds || performance.now() < until; round += 1)
    for (const entry of round % 2 === 0 ? entries : entries.toReversed())
      entry.rounds.push(await time(entry));
  return entries.map(({ contestant: { name, events }, rounds }) => {
    const median = quantile(rounds, 0.5);
    const spread = (quantile(rounds, 0.75) - quantile(rounds, 0.25)) / median;
    return { name, events, perEvent: median / events, spread, rounds };
  });
}

/** How many times as long `theirs` takes: the median of the ratios of each round. */
export function timesAsLong(theirs: Result | undefined, ours: Result | undefined): number {
  if (theirs === undefined || ours === undefined) return NaN;
  const ratios = ours.rounds.map(
    (nanoseconds, round) => (theirs.rounds[round] ?? NaN) / nanoseconds,
  );
  return quantile(ratios, 0.5);
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
  const entry: Entry = { contestant, repeats: 1, sum: await contestant.run(), rounds: [] };
  const until = performance.now() + effort.warmUp;
  let fastest = Infinity;
  do fastest = Math.min(fastest, await time(entry));
  while (performance.now() < until);
  entry.repeats = Math.max(1, Math.ceil((effort.sample * 1e6) / fastest));
  return entry;
}

/** Nanoseconds of one run. */
async function time({ contestant, repeats, sum }: Entry): Promise<number> {
  collectGarbage({ type: "minor" });
  let total = 0;
  const start = process.cpuUsage();
  for (let run = 0; run < repeats; run += 1) {
    const answer = contestant.run();
    total += typeof answer === "number" ? answer : await answer;
  }
  const { user, system } = process.cpuUsage(start);
  if (total !== sum * repeats)
    throw new Error(`${contestant.name}: not the same result every time`);
  return ((user + system) * 1000) / repeats;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}
