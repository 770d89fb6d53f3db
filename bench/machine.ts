import { statfsSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";

export const machineDescription = `Node ${process.version}, ${availableParallelism()} cores, ${cpus()[0]?.model ?? "unknown CPU"}`;

/** Returns the load average of the last minute if other programs are running. */
export function describeLoad(): string | undefined {
  const [busy = 0] = loadavg();
  return busy > 0.5 ? `load average ${busy.toFixed(1)}` : undefined;
}

/** Prints warnings about conditions that distort measurements of a store in this folder. */
export function printMeasurementWarnings(folder: string): void {
  const load = describeLoad();
  if (load !== undefined) console.log(`Note: other programs are running (${load}).`);
  if (statfsSync(folder).type === tmpfsMagic)
    console.log(`Note: ${folder} is in memory, so durable writes cost nothing.`);
}

/** The file system type of tmpfs. */
const tmpfsMagic = 0x01021994;
