import type { Goal } from "../goals.ts";
import { mebibytes } from "../report.ts";
import type { Frames } from "./frames.ts";
import type { Held } from "./hour.ts";
import type { Opened } from "./long-chat.ts";
import type { Loaded } from "./sizes.ts";
import type { Played } from "./streams.ts";

export interface Measured {
  sizes: readonly Loaded[];
  streams: readonly Played[];
  opened: readonly Opened[];
  hour: readonly Held[];
}

const mostScript = 200_000;
/** Of 60: a frame in twelve may be late on a machine that does other things too. */
const leastFrames = 55;
const longestTask = 100;
/** Caches of the engine come and go. */
const mostGrowth = 1.1;

/** A goal is left out if what it needs was not measured. */
export function pageGoals({ sizes, streams, opened, hour }: Measured): Goal[] {
  return [
    ...sizeGoals(sizes),
    ...streams.flatMap(streamGoals),
    ...openGoals(opened),
    ...hourGoals(hour),
  ];
}

/** The round with the most frames; of several the one with the shortest task. */
export function bestOf(rounds: readonly Frames[]): Frames | undefined {
  return rounds.toSorted(
    (one, other) =>
      Math.round(other.perSecond) - Math.round(one.perSecond) ||
      one.longestTask - other.longestTask,
  )[0];
}

function sizeGoals([start]: readonly Loaded[]): Goal[] {
  if (start === undefined) return [];
  const { brotli, gzip } = start.script;
  return [
    {
      goal: `initial script ≤ ${mostScript / 1000} KB compressed`,
      met: gzip <= mostScript,
      measured: `${kilobytes(gzip)} KB in gzip, ${kilobytes(brotli)} in brotli`,
    },
  ];
}

function streamGoals({ of: { title, beside }, rounds }: Played): Goal[] {
  const best = bestOf(rounds);
  if (best === undefined || beside) return [];
  return [framesGoal(title, best), taskGoal(title, best.longestTask)];
}

function openGoals(opened: readonly Opened[]): Goal[] {
  const scrolled = bestOf(opened.map((one) => one.scrolled));
  if (scrolled === undefined) return [];
  const shortest = Math.min(...opened.map((one) => one.longestTask));
  return [
    taskGoal("opening a chat of 1,000 items", shortest),
    framesGoal("scrolling through it", scrolled),
    taskGoal("scrolling through it", scrolled.longestTask),
  ];
}

function framesGoal(title: string, { perSecond, p95, p99 }: Frames): Goal {
  return {
    goal: `${title}: 60 frames a second (${leastFrames} at the least)`,
    met: perSecond >= leastFrames,
    measured: `${perSecond.toFixed(1)}, p95 ${p95.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  };
}

function taskGoal(title: string, ms: number): Goal {
  return {
    goal: `${title}: no task above ${longestTask} ms`,
    met: ms <= longestTask,
    measured: ms === 0 ? "none above 50 ms" : `${ms.toFixed(0)} ms`,
  };
}

function hourGoals(hour: readonly Held[]): Goal[] {
  const [first, last] = [hour[0], hour.at(-1)];
  if (first === undefined || last === undefined) return [];
  const heap = last.heapBytes / first.heapBytes;
  const nodes = last.nodes / first.nodes;
  return [
    {
      goal: `an hour of streaming leaves the heap and the nodes as they were (≤ ${mostGrowth}x)`,
      met:
        heap <= mostGrowth && nodes <= mostGrowth && last.listeners <= first.listeners * mostGrowth,
      measured:
        `${mebibytes(first.heapBytes)} to ${mebibytes(last.heapBytes)} MiB (${heap.toFixed(2)}x), ` +
        `${first.nodes} to ${last.nodes} nodes, ${first.listeners} to ${last.listeners} listeners`,
    },
  ];
}

export function kilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
