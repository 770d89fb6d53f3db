import { statfsSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";

export const machine = `Node ${process.version}, ${availableParallelism()} cores, ${cpus()[0]?.model ?? "unknown CPU"}`;

/** Of the last minute, if it is so high that other programs are at work. */
export function loadOfOthers(): string | undefined {
  const [busy = 0] = loadavg();
  return busy > 0.5 ? `load average ${busy.toFixed(1)}` : undefined;
}

/** What makes the figures of a store in this folder look worse or better than they are. */
export function printDoubts(folder: string): void {
  const load = loadOfOthers();
  if (load !== undefined) console.log(`Note: other programs are at work (${load}).`);
  if (statfsSync(folder).type === tmpfs)
    console.log(`Note: ${folder} is in memory, where durable costs nothing.`);
}

/** The magic number of a file system in memory. */
const tmpfs = 0x01021994;
