import { type Goal, formatMiB } from "../../../bench/report.ts";
import type { FrameStats } from "./frames.ts";
import type { MemorySample } from "./hour.ts";
import type { LongChatResult } from "./long-chat.ts";
import type { LoadStep } from "./sizes.ts";
import type { StreamResult } from "./streams.ts";

export interface BenchResults {
  sizes: readonly LoadStep[];
  streams: readonly StreamResult[];
  opened: readonly LongChatResult[];
  hour: readonly MemorySample[];
}

const maxScriptBytes = 200_000;
/** Frames per second, of 60: one in twelve may be late on a machine that is not idle. */
const minFrames = 55;
const maxTaskMs = 100;
/** Tolerance for caches of the JavaScript engine. */
const maxGrowth = 1.1;

/** Goals whose results were not measured are omitted. */
export function evaluateGoals({ sizes, streams, opened, hour }: BenchResults): Goal[] {
  return [
    ...evaluateSizeGoals(sizes),
    ...streams.flatMap(evaluateStreamGoals),
    ...openGoals(opened),
    ...evaluateHourGoals(hour),
  ];
}

/** Returns the round with the median frame rate. */
export function findMedianRound(rounds: readonly FrameStats[]): FrameStats | undefined {
  const sorted = rounds.toSorted((a, b) => a.perSecond - b.perSecond);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

function evaluateSizeGoals([start]: readonly LoadStep[]): Goal[] {
  if (start === undefined) return [];
  const { brotli, gzip } = start.script;
  return [
    {
      description: `initial script ≤ ${maxScriptBytes / 1000} KB compressed`,
      isMet: gzip <= maxScriptBytes,
      measured: `${formatKilobytes(gzip)} KB gzip, ${formatKilobytes(brotli)} KB brotli`,
    },
  ];
}

function evaluateStreamGoals({ streamCase: { title, isReference }, rounds }: StreamResult): Goal[] {
  if (rounds.length === 0 || isReference) return [];
  return [evaluateFrameRateGoal(title, rounds), evaluateTaskGoal(title, rounds)];
}

function openGoals(opened: readonly LongChatResult[]): Goal[] {
  if (opened.length === 0) return [];
  const scrolling = opened.map((round) => round.scrolling);
  return [
    evaluateTaskGoal("opening a chat of 1,000 items", opened),
    evaluateFrameRateGoal("scrolling through it", scrolling),
    evaluateTaskGoal("scrolling through it", scrolling),
  ];
}

function evaluateFrameRateGoal(title: string, rounds: readonly FrameStats[]): Goal {
  const { perSecond = NaN, p95 = NaN, p99 = NaN } = findMedianRound(rounds) ?? {};
  const allRounds = rounds.map((round) => round.perSecond.toFixed(1)).join(", ");
  return {
    description: `${title}: 60 frames per second (at least ${minFrames})`,
    isMet: perSecond >= minFrames,
    measured: `${perSecond.toFixed(1)} (rounds: ${allRounds}), p95 ${p95.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  };
}

/** This goal must be met in every round. */
function evaluateTaskGoal(title: string, rounds: readonly { longestTask: number }[]): Goal {
  const longest = Math.max(...rounds.map((round) => round.longestTask));
  return {
    description: `${title}: no task above ${maxTaskMs} ms`,
    isMet: longest <= maxTaskMs,
    measured: longest === 0 ? "none above 50 ms" : `longest ${longest.toFixed(0)} ms`,
  };
}

function evaluateHourGoals(hour: readonly MemorySample[]): Goal[] {
  const [first, last] = [hour[0], hour.at(-1)];
  if (first === undefined || last === undefined) return [];
  const heap = last.heapBytes / first.heapBytes;
  const nodes = last.nodes / first.nodes;
  return [
    {
      description: `no growth of heap and nodes in an hour of streaming (≤ ${maxGrowth}x)`,
      isMet:
        heap <= maxGrowth && nodes <= maxGrowth && last.listeners <= first.listeners * maxGrowth,
      measured:
        `${formatMiB(first.heapBytes)} to ${formatMiB(last.heapBytes)} MiB (${heap.toFixed(2)}x), ` +
        `${first.nodes} to ${last.nodes} nodes, ${first.listeners} to ${last.listeners} listeners`,
    },
  ];
}

export function formatKilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
