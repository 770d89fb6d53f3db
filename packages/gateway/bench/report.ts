import { formatMs, printTable, formatRatio } from "../../../bench/report.ts";
import type { LoadResult } from "./load.ts";
import { median, relativeQuartileRange } from "../../../bench/measure.ts";
import type { Target } from "./targets.ts";

/** The results of one target under one load, by round. */
export interface Row {
  target: Target;
  rounds: LoadResult[];
}

export interface Summary {
  target: string;
  title: string;
  rounds: number;
  /** CPU milliseconds per 1000 chunks. */
  cpu: number;
  spread: number;
  /** `cpu` as a multiple of the byte pipe. */
  timesPipe: number;
  chunksPerSecond: number;
  /** Milliseconds. */
  firstByte: { p50: number; p99: number };
  lag: { p50: number; p99: number };
}

/** Returns medians of the rounds, and ratios of these medians. */
export function summarize(rows: readonly Row[]): Summary[] {
  const cpuPerThousandChunks = ({ rounds }: Row) =>
    rounds.map(({ cpu, chunks }) => (cpu / chunks) * 1000);
  const floors = new Map(rows.map((row) => [row.target.name, median(cpuPerThousandChunks(row))]));
  return rows.map((row) => {
    const { target, rounds } = row;
    const of = (figure: (round: LoadResult) => number) => median(rounds.map(figure));
    const cpu = median(cpuPerThousandChunks(row));
    return {
      target: target.name,
      title: target.title,
      rounds: rounds.length,
      cpu,
      spread: relativeQuartileRange(cpuPerThousandChunks(row)),
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
      formatRatio(summary.timesPipe),
      summary.chunksPerSecond.toFixed(0),
      formatMs(firstByte.p50),
      formatMs(firstByte.p99),
      formatMs(lag.p50),
      formatMs(lag.p99),
    ]),
  );
}
