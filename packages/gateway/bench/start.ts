import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { median } from "../../../bench/measure.ts";
import { waitUntilReady, type BenchEnvironment } from "../../../bench/processes.ts";
import { freePort } from "../../../test/free-port.ts";
import { printTable } from "../../../bench/report.ts";
import type { Target } from "./targets.ts";

export interface StartRow {
  target: Target;
  /** Milliseconds from the start of the program to the first 200, median of the rounds. */
  healthy: number;
  /** The same for /readyz, if the target has it. */
  ready: number | undefined;
  slowest: number;
}

/** Starts each target in turns. The first round fills the compile cache and is not counted. */
export async function measureStart(
  environment: BenchEnvironment,
  targets: readonly Target[],
  upstreamPort: number,
  rounds: number,
  failed: (target: Target, error: unknown) => void,
): Promise<StartRow[]> {
  const times = new Map<Target, { healthy: number[]; ready: number[] }>(
    targets.map((target) => [target, { healthy: [], ready: [] }]),
  );
  for (let round = 0; round <= rounds; round += 1) {
    for (const [target, { healthy, ready }] of times) {
      try {
        const took = await startOnce(environment, target, upstreamPort);
        if (round === 0) continue;
        healthy.push(took.healthy);
        if (took.ready !== undefined) ready.push(took.ready);
      } catch (error) {
        failed(target, error);
        times.delete(target);
      }
    }
  }
  return [...times].map(([target, { healthy, ready }]) => ({
    target,
    healthy: median(healthy),
    ready: ready.length > 0 ? median(ready) : undefined,
    slowest: Math.max(...healthy, ...ready),
  }));
}

export function printStart(rows: readonly StartRow[]): void {
  printTable(
    "Start (ms) with a warm compile cache",
    ["", "to the first 200 (/healthz)", "ready (/readyz)", "slowest"],
    rows.map(({ target, healthy, ready, slowest }) => [
      target.title,
      healthy.toFixed(0),
      ready?.toFixed(0) ?? "–",
      slowest.toFixed(0),
    ]),
  );
}

async function startOnce(environment: BenchEnvironment, target: Target, upstreamPort: number) {
  const address = {
    folder: join(environment.folder, "start"),
    port: await freePort(),
    upstreamPort,
  };
  mkdirSync(address.folder, { recursive: true });
  const command = target.command(address);
  const startedAt = performance.now();
  const started = environment.start("start", command);
  try {
    await waitUntilReady(started, address.port, target.health);
    const healthy = performance.now() - startedAt;
    if (target.ready === undefined) return { healthy, ready: undefined };
    await waitUntilReady(started, address.port, target.ready);
    return { healthy, ready: performance.now() - startedAt };
  } finally {
    await environment.stop(started);
  }
}
