import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** One of the implementations to compare. */
export interface Candidate {
  name: string;
  /** Number of processed events per run. */
  events: number;
  /** Processes the events. Returns a checksum of the result, which must be the same in every run. */
  run: () => number | Promise<number>;
}

export interface Result {
  name: string;
  events: number;
  /** CPU time per event in nanoseconds: the median of the rounds. */
  perEvent: number;
  /** Interquartile range as a fraction of the median. */
  spread: number;
  /** Nanoseconds per run, by round. */
  rounds: readonly number[];
}

export interface BenchDuration {
  /** Time for all rounds of all candidates, in milliseconds. */
  budgetMs: number;
  /** Time to warm up each candidate, in milliseconds. */
  warmUpMs: number;
  /** Minimum duration of a measurement in milliseconds. Shorter work is repeated. */
  sampleMs: number;
  minRounds: number;
}

/**
 * Measures the CPU time of candidates including garbage collection, not the elapsed time: on a shared machine, long samples are
 * interrupted more often than short ones, which would look like growth. Candidates run in turns, in reverse order in every second
 * round, so that a temporary slowdown of the machine affects all of them. A minor garbage collection before each turn ensures that
 * no candidate collects the garbage of another.
 */
export async function measureCandidates(
  candidates: readonly Candidate[],
  duration: BenchDuration,
): Promise<Result[]> {
  const entries: Entry[] = [];
  for (const candidate of candidates) entries.push(await warmUp(candidate, duration));
  const until = performance.now() + duration.budgetMs;
  for (let round = 0; round < duration.minRounds || performance.now() < until; round += 1)
    for (const entry of round % 2 === 0 ? entries : entries.toReversed())
      entry.rounds.push(await measureTime(entry));
  return entries.map(({ candidate: { name, events }, rounds }) => {
    const median = quantile(rounds, 0.5);
    const spread = (quantile(rounds, 0.75) - quantile(rounds, 0.25)) / median;
    return { name, events, perEvent: median / events, spread, rounds };
  });
}

/** Returns how many times longer `slow` takes than `fast`: the median of the ratios of all rounds. */
export function computeRatio(slow: Result | undefined, fast: Result | undefined): number {
  if (slow === undefined || fast === undefined) return NaN;
  const ratios = fast.rounds.map((nanoseconds, round) => (slow.rounds[round] ?? NaN) / nanoseconds);
  return quantile(ratios, 0.5);
}

interface Entry {
  candidate: Candidate;
  repeats: number;
  sum: number;
  rounds: number[];
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as (options?: { type: "minor" }) => void;

async function warmUp(candidate: Candidate, duration: BenchDuration): Promise<Entry> {
  const entry: Entry = { candidate, repeats: 1, sum: await candidate.run(), rounds: [] };
  const until = performance.now() + duration.warmUpMs;
  let fastest = Infinity;
  do fastest = Math.min(fastest, await measureTime(entry));
  while (performance.now() < until);
  entry.repeats = Math.max(1, Math.ceil((duration.sampleMs * 1e6) / fastest));
  return entry;
}

/** Returns the CPU time of one run in nanoseconds. */
async function measureTime({ candidate, repeats, sum }: Entry): Promise<number> {
  collectGarbage({ type: "minor" });
  let total = 0;
  const start = process.cpuUsage();
  for (let run = 0; run < repeats; run += 1) {
    const checksum = candidate.run();
    total += typeof checksum === "number" ? checksum : await checksum;
  }
  const { user, system } = process.cpuUsage(start);
  if (total !== sum * repeats)
    throw new Error(`${candidate.name}: the result differs between runs`);
  return ((user + system) * 1000) / repeats;
}

function quantile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const index = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(index)] ?? NaN;
  const above = sorted[Math.ceil(index)] ?? NaN;
  return below + (above - below) * (index - Math.floor(index));
}
