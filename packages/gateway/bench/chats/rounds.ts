import { quantile } from "../../../../bench/measure.ts";
import { milliseconds, printTable, times } from "../../../../bench/report.ts";
import type { Case } from "./cases.ts";

export interface Timed {
  of: Case;
  /** Milliseconds, round by round. */
  took: number[];
  floor: number[];
  bytes: number;
}

/** What a case may take in all: a slow one gets fewer rounds, but never less than `fewest`. */
const longest = 30_000;
const fewest = 5;
const warmUp = 3;

/** Every case in every round, beside its floor, so that what else the machine does meets all of them. */
export async function inRounds(cases: readonly Case[], rounds: number): Promise<Timed[]> {
  const all = cases.map((of): Timed => ({ of, took: [], floor: [], bytes: 0 }));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const timed of all) {
      const { of, took, floor } = timed;
      const isTired = sum(took) > longest && took.length >= fewest;
      if (isTired) continue;
      const nth = round + warmUp;
      const reply = await of.run(nth);
      const least = await of.floor?.(nth, reply);
      timed.bytes = reply.body.length;
      if (round < 0) {
        of.check?.(reply);
        continue;
      }
      took.push(reply.ms);
      if (least !== undefined) floor.push(least.ms);
    }
  }
  return all;
}

export function printTimed(title: string, floorName: string, all: readonly Timed[]): void {
  printTable(
    title,
    ["", "p50 ms", "p95", "max", "KiB", floorName, "x floor"],
    all.map(({ of, took, floor, bytes }) => [
      of.name,
      milliseconds(quantile(took, 0.5)),
      milliseconds(p95(took)),
      milliseconds(Math.max(...took)),
      (bytes / 1024).toFixed(1),
      floor.length === 0 ? "–" : milliseconds(quantile(floor, 0.5)),
      times(quantile(took, 0.5) / quantile(floor, 0.5)),
    ]),
  );
}

export function p95(took: readonly number[]): number {
  return quantile(took, 0.95);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
