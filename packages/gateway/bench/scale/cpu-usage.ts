import { readFileSync } from "node:fs";
import { listProcessTree, readCpuTimeMs } from "../../../../bench/measure.ts";

/** CPU cores used on average, by group of processes. */
export type CpuUsage = Record<string, number>;

/** Measures the CPU time of groups of processes from now on. A group may gain processes, such as connections of PostgreSQL. */
export function startCpuMeasurement(
  groups: Readonly<Record<string, () => number[]>>,
): () => CpuUsage {
  const startedAt = performance.now();
  const before = new Map(
    Object.values(groups)
      .flatMap((listPids) => listPids())
      .map((pid) => [pid, readTime(pid)]),
  );
  return () => {
    const elapsedMs = performance.now() - startedAt;
    return Object.fromEntries(
      Object.entries(groups).map(([name, listPids]) => {
        const times = listPids().map((pid) => readTime(pid) - (before.get(pid) ?? 0));
        return [name, times.reduce((sum, ms) => sum + ms, 0) / elapsedMs];
      }),
    );
  };
}

/** Returns the descendants of this process whose program has this name. */
export function findDescendants(program: string): number[] {
  return listProcessTree(process.pid).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === program;
    } catch {
      return false;
    }
  });
}

export function formatCpu(usage: CpuUsage): string {
  return Object.entries(usage)
    .map(([name, cores]) => `${name} ${cores.toFixed(2)}`)
    .join(", ");
}

/** Returns 0 if the process has ended. */
function readTime(pid: number): number {
  try {
    return readCpuTimeMs([pid]);
  } catch {
    return 0;
  }
}
