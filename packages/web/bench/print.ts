import { formatMiB, printTable, formatRatio } from "../../../bench/report.ts";
import type { FrameStats } from "./frames.ts";
import { findMedianRound, formatKilobytes } from "./goals.ts";
import type { MemorySample } from "./hour.ts";
import type { LongChatResult } from "./long-chat.ts";
import type { LoadStep } from "./sizes.ts";
import { cpuSlowdown, type StreamResult } from "./streams.ts";

export function printLoadSteps(loadSteps: readonly LoadStep[]): void {
  if (loadSteps.length === 0) return;
  printTable(
    "Loaded files by step, in KB as transferred",
    ["", "files", "script brotli", "gzip", "style brotli", "gzip", "fonts"],
    loadSteps.map(({ step, files, script, style, fonts }) => [
      step,
      String(files),
      formatKilobytes(script.brotli),
      formatKilobytes(script.gzip),
      formatKilobytes(style.brotli),
      formatKilobytes(style.gzip),
      formatKilobytes(fonts),
    ]),
  );
}

export function printStreams(results: readonly StreamResult[]): void {
  if (results.length === 0) return;
  const floor = findMedianRound(
    results.find(({ streamCase }) => streamCase.name === "floor")?.rounds ?? [],
  );
  const roundCount = Math.max(...results.map(({ rounds }) => rounds.length));
  printTable(
    `100 KB in 8 s, auto-scrolled, CPU slowed ${cpuSlowdown} times: median of ${roundCount} rounds, in ms`,
    [...frameHeaders, "x floor", "frames/s by round", "longest tasks", "other load %"],
    results.flatMap(({ streamCase, rounds, otherLoads }) => {
      const median = findMedianRound(rounds);
      if (median === undefined) return [];
      const frameRates = rounds.map(({ perSecond }) => perSecond.toFixed(1)).join(" ");
      const ratio = formatRatio(floor && median.busy / floor.busy);
      const tasks = rounds.map(({ longestTask }) => longestTask.toFixed(0)).join(" ");
      const loads = otherLoads.map(formatPercent).join(" ");
      return [[streamCase.title, ...toFrameCells(median), ratio, frameRates, tasks, loads]];
    }),
  );
}

export function printLongChats(results: readonly LongChatResult[]): void {
  if (results.length === 0) return;
  const list = (select: (result: LongChatResult) => number) =>
    results.map((result) => select(result).toFixed(0)).join(" ");
  printTable(
    `A chat of 1,000 items, CPU slowed ${cpuSlowdown} times, all rounds`,
    ["", "ms"],
    [
      ["time to its end, in a loaded page", list(({ navigationMs }) => navigationMs)],
      ["time to its end, including page load", list(({ pageLoadMs }) => pageLoadMs)],
      ["longest task while opening", list(({ longestTask }) => longestTask)],
      ["elements on the page then", list(({ elements }) => elements)],
      [
        "other load just before, %",
        results.map(({ otherLoad }) => formatPercent(otherLoad)).join(" "),
      ],
    ],
  );
  printTable(
    "Scrolling through it, 120 px per frame for 3 s",
    frameHeaders,
    results.map(({ scrolling }, index) => [`round ${index + 1}`, ...toFrameCells(scrolling)]),
  );
}

const frameHeaders = [
  "",
  "frames/s",
  "changes/s",
  "p95",
  "p99",
  "longest",
  "longest task",
  "> 50",
  "> 100",
  "main thread / frame",
  "script",
  "style",
  "layout",
];

function toFrameCells(frames: FrameStats): string[] {
  const { perSecond, changes, p95, p99, longest, over50, over100, busy, script, style, layout } =
    frames;
  return [
    perSecond.toFixed(1),
    changes.toFixed(0),
    p95.toFixed(1),
    p99.toFixed(1),
    longest.toFixed(0),
    frames.longestTask.toFixed(0),
    String(over50),
    String(over100),
    ...[busy, script, style, layout].map((ms) => ms.toFixed(1)),
  ];
}

function formatPercent(fraction: number): string {
  return (fraction * 100).toFixed(0);
}

export function printHour(samples: readonly MemorySample[]): void {
  const [first] = samples;
  if (first === undefined) return;
  printTable(
    "An hour of streaming, simulated in a minute (72,000 deltas in 24 answers); start page after garbage collection",
    ["minute", "heap MiB", "x", "nodes", "listeners", "documents"],
    samples.map(({ minute, heapBytes, nodes, listeners, documents }) => [
      minute.toFixed(0),
      formatMiB(heapBytes),
      formatRatio(heapBytes / first.heapBytes),
      String(nodes),
      String(listeners),
      String(documents),
    ]),
  );
}
