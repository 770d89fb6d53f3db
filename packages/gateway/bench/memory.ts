import { setTimeout as after } from "node:timers/promises";
import { residentMemory } from "../../../bench/measure.ts";
import type { Workshop } from "../../../bench/processes.ts";
import { mebibytes, printTable, times } from "../../../bench/report.ts";
import type { Stage } from "./stage.ts";
import { startTarget, type Target } from "./targets.ts";

export interface MemoryRow {
  target: Target;
  /** Bytes held with so many streams open; the first is 0 streams, after some have come and gone. */
  held: { streams: number; bytes: number }[];
  /** Bytes for each stream at the largest number, and that as a multiple of the byte pipe's. */
  perStream: number;
  timesPipe: number;
}

export interface MemoryEffort {
  /** Numbers of streams. */
  stops: readonly number[];
  /** Milliseconds for what a burst of requests left behind to be collected, if the target collects it at all. */
  settling: number;
}

/** Each target in a process of its own that did nothing before. */
export async function measureMemory(
  workshop: Workshop,
  stage: Stage,
  targets: readonly Target[],
  { stops, settling }: MemoryEffort,
  failed: (target: Target, error: unknown) => void,
): Promise<MemoryRow[]> {
  const rows: MemoryRow[] = [];
  for (const target of targets) {
    try {
      const held = await heldMemory(workshop, stage, target, { stops, settling });
      const [none, most] = [held[0], held.at(-1)];
      const perStream = ((most?.bytes ?? NaN) - (none?.bytes ?? NaN)) / (most?.streams ?? NaN);
      rows.push({ target, held, perStream, timesPipe: NaN });
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
    ["", ...[0, ...stops].map((count) => `${count} streams`), "KiB a stream", "x pipe"],
    rows.map(({ target, held, perStream, timesPipe }) => [
      target.title,
      ...held.map(({ bytes }) => mebibytes(bytes)),
      (perStream / 1024).toFixed(1),
      times(timesPipe),
    ]),
  );
}

async function heldMemory(
  workshop: Workshop,
  stage: Stage,
  target: Target,
  { stops, settling }: MemoryEffort,
): Promise<MemoryRow["held"]> {
  const running = await startTarget(workshop, target, stage.upstreamPort);
  try {
    await stage.play(running, {
      shape: { kind: "text", chunks: 100, pace: 0 },
      streams: 20,
      run: { mode: "flat", duration: 300 },
    });
    const held = [{ streams: 0, bytes: residentMemory(running.pids) }];
    await stage.play(
      running,
      {
        shape: { kind: "text", chunks: 20, pace: 5000 },
        streams: stops.at(-1) ?? 0,
        run: { mode: "held", stops },
      },
      async () => {
        await after(settling);
        const streams = stops[held.length - 1] ?? 0;
        held.push({ streams, bytes: residentMemory(running.pids) });
        if (streams === stops.at(-1)) stage.finishStreams();
      },
    );
    return held;
  } finally {
    await workshop.stop(running.started);
  }
}
