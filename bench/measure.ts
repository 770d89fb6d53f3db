import { readFileSync, readdirSync } from "node:fs";

/** Returns the CPU time of the processes so far, including all threads, in milliseconds. */
export function readCpuTimeMs(pids: readonly number[]): number {
  return sum(pids.map((pid) => readSchedstatMs(pid) ?? readStatCpuMs(pid)));
}

/** Returns the resident memory of the processes in bytes. */
export function readResidentBytes(pids: readonly number[]): number {
  return sum(
    pids.map((pid) => {
      const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
      return Number(match?.[1]) * 1024;
    }),
  );
}

/** Returns the ids of the process and its descendants, or none if it has ended. */
export function listProcessTree(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    return [
      pid,
      ...children
        .filter((child) => child !== "")
        .flatMap((child) => listProcessTree(Number(child))),
    ];
  } catch {
    return [];
  }
}

/** Returns the maximum number of open files. Node raises it to the hard limit for itself and its children. */
export function readOpenFilesLimit(): number {
  const match = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return match?.[1] === "unlimited" ? Infinity : Number(match?.[1]);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], fraction: number): number {
  const sorted = Float64Array.from(values).toSorted();
  const position = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(position)] ?? NaN;
  const above = sorted[Math.ceil(position)] ?? NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/** Returns the interquartile range as a fraction of the median. */
export function relativeQuartileRange(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

/** Returns the CPU time in nanosecond resolution. Undefined if the kernel has no such statistics. */
function readSchedstatMs(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return (
      sum(
        threads.map((thread) =>
          Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
        ),
      ) / 1e6
    );
  } catch {
    return undefined;
  }
}

/** Returns the user and system time, which the kernel counts in hundredths of a second. */
function readStatCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
