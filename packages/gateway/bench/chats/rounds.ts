import { quantile } from "../../../../bench/measure.ts";
import { formatMs, printTable, formatRatio } from "../../../../bench/report.ts";
import type { BenchCase } from "./cases.ts";

export interface TimedCase {
  benchCase: BenchCase;
  /** Milliseconds by round. */
  took: number[];
  floor: number[];
  bytes: number;
}

/** Time budget per case: slow cases get fewer rounds, but at least `minRuns`. */
const maxMs = 30_000;
const minRuns = 5;
const warmUp = 3;

/** Runs every case and its baseline in every round, so that other load of the machine affects all equally. */
export async function runInRounds(
  cases: readonly BenchCase[],
  rounds: number,
): Promise<TimedCase[]> {
  const all = cases.map((benchCase): TimedCase => ({ benchCase, took: [], floor: [], bytes: 0 }));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const timed of all) {
      const { benchCase, took, floor } = timed;
      const isOverBudget = sum(took) > maxMs && took.length >= minRuns;
      if (isOverBudget) continue;
      const nth = round + warmUp;
      const reply = await benchCase.run(nth);
      const least = await benchCase.floor?.(nth, reply);
      timed.bytes = reply.body.length;
      if (round < 0) {
        benchCase.check?.(reply);
        continue;
      }
      took.push(reply.ms);
      if (least !== undefined) floor.push(least.ms);
    }
  }
  return all;
}

export function printTimed(title: string, floorName: string, all: readonly TimedCase[]): void {
  printTable(
    title,
    ["", "p50 ms", "p95", "max", "KiB", floorName, "x floor"],
    all.map(({ benchCase, took, floor, bytes }) => [
      benchCase.name,
      formatMs(quantile(took, 0.5)),
      formatMs(computeP95(took)),
      formatMs(Math.max(...took)),
      (bytes / 1024).toFixed(1),
      floor.length === 0 ? "–" : formatMs(quantile(floor, 0.5)),
      formatRatio(quantile(took, 0.5) / quantile(floor, 0.5)),
    ]),
  );
}

export function computeP95(took: readonly number[]): number {
  return quantile(took, 0.95);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
