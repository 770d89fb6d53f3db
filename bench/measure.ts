import { readFileSync, readdirSync } from "node:fs";

/** Milliseconds of processor time that the processes have used so far, in all their threads. */
export function cpuTime(pids: readonly number[]): number {
  return sum(pids.map((pid) => nanosecondsOnCpu(pid) ?? clockTicks(pid)));
}

/** Bytes of memory that the processes hold. */
export function residentMemory(pids: readonly number[]): number {
  return sum(
    pids.map((pid) => {
      const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
      return Number(found?.[1]) * 1024;
    }),
  );
}

/** The process and all that it started; nothing once it has ended. */
export function processTree(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    return [
      pid,
      ...children.filter((child) => child !== "").flatMap((child) => processTree(Number(child))),
    ];
  } catch {
    return [];
  }
}

/** How many files a process may have open. Node raises it to the hard limit for itself and its children. */
export function openFilesLimit(): number {
  const found = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return found?.[1] === "unlimited" ? Infinity : Number(found?.[1]);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = Float64Array.from(values).toSorted();
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}

/** The distance of the quartiles, as a part of the median. */
export function spread(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

/** To the nanosecond, where the kernel keeps such statistics. */
function nanosecondsOnCpu(pid: number): number | undefined {
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

/** User and system time in hundredths of a second. */
function clockTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
