import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** One implementation to measure. Only the function that `prepare` returns is timed. */
export interface Candidate {
  name: string;
  /** Returns the function to measure. It returns a checksum of its output, which must be the same in every run. */
  prepare(): () => number | Promise<number>;
}

export interface CandidateResult {
  name: string;
  /** Nanoseconds per run: the median of all rounds. */
  median: number;
  /** The interquartile range as a fraction of the median. */
  spread: number;
  rounds: readonly number[];
}

export interface BenchDuration {
  /** Milliseconds for all rounds of all candidates together. `warmUp` is per candidate, before the rounds. */
  budget: number;
  warmUp: number;
  /** Minimum duration of one sample in milliseconds. Shorter work is repeated. */
  sample: number;
  minRounds: number;
}

/**
 * Measures the candidates in turns, in reverse order in every other round, so that a temporary slowdown of the machine
 * affects all of them. Runs a minor garbage collection before each turn, so that no candidate collects the garbage of
 * another.
 */
export async function runCandidates(
  candidates: readonly Candidate[],
  duration: BenchDuration,
): Promise<CandidateResult[]> {
  const entries: Entry[] = [];
  for (const candidate of candidates) entries.push(await warmUp(candidate, duration));
  const deadline = performance.now() + duration.budget;
  for (let round = 0; round < duration.minRounds || performance.now() < deadline; round += 1) {
    for (const entry of round % 2 === 0 ? entries : entries.toReversed())
      entry.rounds.push(await measureSample(entry));
  }
  return entries.map(({ candidate, rounds }) => {
    const median = quantile(rounds, 0.5);
    const spread = (quantile(rounds, 0.75) - quantile(rounds, 0.25)) / median;
    return { name: candidate.name, median, spread, rounds };
  });
}

/** Returns the median over all rounds of the time of `theirs` divided by that of `ours`. */
export function computeSpeedup(ours: CandidateResult, theirs: CandidateResult): number {
  return quantile(
    ours.rounds.map((nanoseconds, round) => (theirs.rounds[round] ?? NaN) / nanoseconds),
    0.5,
  );
}

/** Returns the bytes used on the heap after a full garbage collection. */
export function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
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
  const entry: Entry = { candidate, repeats: 1, sum: await candidate.prepare()(), rounds: [] };
  const deadline = performance.now() + duration.warmUp;
  let fastest = Infinity;
  do fastest = Math.min(fastest, await measureSample(entry));
  while (performance.now() < deadline);
  entry.repeats = Math.max(1, Math.ceil((duration.sample * 1e6) / fastest));
  return entry;
}

/** Returns the nanoseconds per run of one sample. */
async function measureSample({ candidate, repeats, sum }: Entry): Promise<number> {
  const runs = Array.from({ length: repeats }, () => candidate.prepare());
  collectGarbage({ type: "minor" });
  let total = 0;
  const start = process.hrtime.bigint();
  for (const run of runs) {
    const result = run();
    total += typeof result === "number" ? result : await result;
  }
  const nanoseconds = Number(process.hrtime.bigint() - start);
  if (total !== sum * repeats) throw new Error(`${candidate.name}: results differ between runs`);
  return nanoseconds / repeats;
}

function quantile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * fraction;
  const lower = sorted[Math.floor(position)] ?? NaN;
  const upper = sorted[Math.ceil(position)] ?? NaN;
  return lower + (upper - lower) * (position - Math.floor(position));
}
