import { milliseconds, printTable, times } from "../../../bench/report.ts";
import type { LoadResult } from "./load.ts";
import { median, spread } from "../../../bench/measure.ts";
import type { Target } from "./targets.ts";

/** What one target did under one load, round by round. */
export interface Row {
  target: Target;
  rounds: LoadResult[];
}

export interface Summary {
  target: string;
  title: string;
  rounds: number;
  /** Milliseconds of processor for a thousand chunks. */
  cpu: number;
  spread: number;
  /** The same, as a multiple of the byte pipe's. */
  timesPipe: number;
  chunksPerSecond: number;
  /** Milliseconds. */
  firstByte: { p50: number; p99: number };
  lag: { p50: number; p99: number };
}

/** Medians of the rounds, and ratios of those medians. */
export function summarize(rows: readonly Row[]): Summary[] {
  const cpuOf = ({ rounds }: Row) => rounds.map(({ cpu, chunks }) => (cpu / chunks) * 1000);
  const floors = new Map(rows.map((row) => [row.target.name, median(cpuOf(row))]));
  return rows.map((row) => {
    const { target, rounds } = row;
    const of = (figure: (round: LoadResult) => number) => median(rounds.map(figure));
    const cpu = median(cpuOf(row));
    return {
      target: target.name,
      title: target.title,
      rounds: rounds.length,
      cpu,
      spread: spread(cpuOf(row)),
      timesPipe: cpu / (floors.get(target.floor) ?? NaN),
      chunksPerSecond: of(({ chunks, elapsed }) => (chunks / elapsed) * 1000),
      firstByte: {
        p50: of(({ firstByte }) => firstByte.p50),
        p99: of(({ firstByte }) => firstByte.p99),
      },
      lag: { p50: of(({ lag }) => lag.p50), p99: of(({ lag }) => lag.p99) },
    };
  });
}

export function printLoad(title: string, summaries: readonly Summary[]): void {
  printTable(
    title,
    [
      "",
      "CPU ms / 1000 chunks",
      "x pipe",
      "chunks/s",
      "first byte p50",
      "p99",
      "lag p50",
      "p99 (ms)",
    ],
    summaries.map(({ cpu, firstByte, lag, ...summary }) => [
      summary.title,
      `${cpu.toFixed(2)} ±${(summary.spread * 50).toFixed(0)}%`,
      times(summary.timesPipe),
      summary.chunksPerSecond.toFixed(0),
      milliseconds(firstByte.p50),
      milliseconds(firstByte.p99),
      milliseconds(lag.p50),
      milliseconds(lag.p99),
    ]),
  );
}
