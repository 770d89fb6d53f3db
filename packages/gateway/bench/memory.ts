import { setTimeout as sleep } from "node:timers/promises";
import { readResidentBytes } from "../../../bench/measure.ts";
import type { BenchEnvironment } from "../../../bench/processes.ts";
import { formatMiB, printTable, formatRatio } from "../../../bench/report.ts";
import type { BenchProcesses } from "./bench-processes.ts";
import { startTarget, type Target } from "./targets.ts";

export interface MemoryRow {
  target: Target;
  /** Memory two seconds after the start, without any request. */
  idle: number;
  /** Memory two seconds after the last stream has ended. */
  after: number;
  /** Memory by number of open streams; the first is 0, after a warm-up. */
  held: { streams: number; bytes: number }[];
  /** Bytes per stream at the largest number, also as a multiple of the byte pipe. */
  perStream: number;
  timesPipe: number;
}

export interface MemoryEffort {
  /** Numbers of streams. */
  stops: readonly number[];
  /** Milliseconds to wait for garbage collection after opening streams. */
  settling: number;
}

/** Measures each target in a new process. */
export async function measureMemory(
  environment: BenchEnvironment,
  processes: BenchProcesses,
  targets: readonly Target[],
  { stops, settling }: MemoryEffort,
  failed: (target: Target, error: unknown) => void,
): Promise<MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const target of targets) {
    try {
      const { idle, held, after } = await measureHeldMemory(environment, processes, target, {
        stops,
        settling,
      });
      const [none, most] = [held[0], held.at(-1)];
      const perStream = ((most?.bytes ?? NaN) - (none?.bytes ?? NaN)) / (most?.streams ?? NaN);
      rows.push({ target, idle, held, after, perStream, timesPipe: NaN });
    } catch (error) {
      failed(target, error);
    }
  }
  const floors = new Map(rows.map(({ target, perStream }) => [target.name, perStream]));
  for (const row of rows) row.timesPipe = row.perStream / (floors.get(row.target.floor) ?? NaN);
  return rows;
}

export function printMemory(rows: readonly MemoryRow[], stops: readonly number[]): void {
  printTable(
    "Memory (resident, MiB) with slow streams open, one chunk in five seconds each",
    [
      "",
      "idle",
      ...[0, ...stops].map((count) => `${count} streams`),
      "after",
      "KiB a stream",
      "x pipe",
    ],
    rows.map(({ target, idle, held, after, perStream, timesPipe }) => [
      target.title,
      formatMiB(idle),
      ...held.map(({ bytes }) => formatMiB(bytes)),
      formatMiB(after),
      (perStream / 1024).toFixed(1),
      formatRatio(timesPipe),
    ]),
  );
}

const idleMs = 2000;

async function measureHeldMemory(
  environment: BenchEnvironment,
  processes: BenchProcesses,
  target: Target,
  { stops, settling }: MemoryEffort,
): Promise<Pick<MemoryRow, "idle" | "held" | "after">> {
  const running = await startTarget(environment, target, processes.upstreamPort);
  try {
    await sleep(idleMs);
    const idle = readResidentBytes(running.pids);
    await processes.runLoad(running, {
      shape: { kind: "text", chunks: 100, pace: 0 },
      streams: 20,
      run: { mode: "flat", duration: 300 },
    });
    const held = [{ streams: 0, bytes: readResidentBytes(running.pids) }];
    await processes.runLoad(
      running,
      {
        shape: { kind: "text", chunks: 20, pace: 5000 },
        streams: stops.at(-1) ?? 0,
        run: { mode: "held", stops },
      },
      async () => {
        await sleep(settling);
        const streams = stops[held.length - 1] ?? 0;
        held.push({ streams, bytes: readResidentBytes(running.pids) });
        if (streams === stops.at(-1)) processes.finishStreams();
      },
    );
    await sleep(idleMs);
    return { idle, held, after: readResidentBytes(running.pids) };
  } finally {
    await environment.stop(running.started);
  }
}
