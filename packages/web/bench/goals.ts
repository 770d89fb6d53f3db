import { type Goal, mebibytes } from "../../../bench/report.ts";
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

/** The round that counts: of an odd number as many had more frames as had fewer. */
export function middleOf(rounds: readonly Frames[]): Frames | undefined {
  const inOrder = rounds.toSorted((one, other) => one.perSecond - other.perSecond);
  return inOrder[Math.floor((inOrder.length - 1) / 2)];
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
  if (rounds.length === 0 || beside) return [];
  return [framesGoal(title, rounds), taskGoal(title, rounds)];
}

function openGoals(opened: readonly Opened[]): Goal[] {
  if (opened.length === 0) return [];
  const scrolled = opened.map((one) => one.scrolled);
  return [
    taskGoal("opening a chat of 1,000 items", opened),
    framesGoal("scrolling through it", scrolled),
    taskGoal("scrolling through it", scrolled),
  ];
}

function framesGoal(title: string, rounds: readonly Frames[]): Goal {
  const { perSecond = NaN, p95 = NaN, p99 = NaN } = middleOf(rounds) ?? {};
  const all = rounds.map((round) => round.perSecond.toFixed(1)).join(", ");
  return {
    goal: `${title}: 60 frames a second (${leastFrames} at the least)`,
    met: perSecond >= leastFrames,
    measured: `${perSecond.toFixed(1)} (of ${all}), p95 ${p95.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  };
}

/** In no round. */
function taskGoal(title: string, rounds: readonly { longestTask: number }[]): Goal {
  const longest = Math.max(...rounds.map((round) => round.longestTask));
  return {
    goal: `${title}: no task above ${longestTask} ms`,
    met: longest <= longestTask,
    measured: longest === 0 ? "none above 50 ms" : `${longest.toFixed(0)} ms at the most`,
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
