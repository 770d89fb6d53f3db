import { mebibytes, printTable, times } from "../../../bench/report.ts";
import type { Frames } from "./frames.ts";
import { middleOf, kilobytes } from "./goals.ts";
import type { Held } from "./hour.ts";
import type { Opened } from "./long-chat.ts";
import type { Loaded } from "./sizes.ts";
import { slowness, type Played } from "./streams.ts";

export function printLoaded(all: readonly Loaded[]): void {
  if (all.length === 0) return;
  printTable(
    "What is loaded, step by step, in KB as it is sent",
    ["", "files", "script brotli", "gzip", "style brotli", "gzip", "fonts"],
    all.map(({ step, files, script, style, fonts }) => [
      step,
      String(files),
      kilobytes(script.brotli),
      kilobytes(script.gzip),
      kilobytes(style.brotli),
      kilobytes(style.gzip),
      kilobytes(fonts),
    ]),
  );
}

export function printPlayed(all: readonly Played[]): void {
  if (all.length === 0) return;
  const floor = middleOf(all.find(({ of }) => of.name === "floor")?.rounds ?? []);
  printTable(
    `100 KB in 8 s, followed to the end, on a processor ${slowness} times slower: the middle one of ${Math.max(...all.map(({ rounds }) => rounds.length))} rounds, in ms`,
    [...frameHeads, "x floor", "frames/s of all", "longest tasks", "others %"],
    all.flatMap(({ of, rounds, others }) => {
      const middle = middleOf(rounds);
      if (middle === undefined) return [];
      const each = rounds.map(({ perSecond }) => perSecond.toFixed(1)).join(" ");
      const ratio = times(floor && middle.busy / floor.busy);
      const tasks = rounds.map(({ longestTask }) => longestTask.toFixed(0)).join(" ");
      return [[of.title, ...frameCells(middle), ratio, each, tasks, others.map(percent).join(" ")]];
    }),
  );
}

export function printOpened(all: readonly Opened[]): void {
  if (all.length === 0) return;
  const list = (figure: (one: Opened) => number) =>
    all.map((one) => figure(one).toFixed(0)).join(" ");
  printTable(
    `A chat of 1,000 items, on a processor ${slowness} times slower, all rounds`,
    ["", "ms"],
    [
      ["until its end is drawn, in a page that is open", list(({ within }) => within)],
      ["until its end is drawn, with the page", list(({ fromOutside }) => fromOutside)],
      ["longest task while it opens", list(({ longestTask }) => longestTask)],
      ["elements then, of all the page", list(({ elements }) => elements)],
      [
        "processors busy with others just before, %",
        all.map((one) => percent(one.others)).join(" "),
      ],
    ],
  );
  printTable(
    "Scrolling through it, 120 px a frame for 3 s",
    frameHeads,
    all.map(({ scrolled }, nth) => [`round ${nth + 1}`, ...frameCells(scrolled)]),
  );
}

const frameHeads = [
  "",
  "frames/s",
  "new/s",
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

function frameCells(frames: Frames): string[] {
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

function percent(share: number): string {
  return (share * 100).toFixed(0);
}

export function printHour(all: readonly Held[]): void {
  const [first] = all;
  if (first === undefined) return;
  printTable(
    "An hour of streaming, told in a minute: 72,000 deltas in 24 answers; the start page, after a collection",
    ["minute", "heap MiB", "x", "nodes", "listeners", "documents"],
    all.map(({ minute, heapBytes, nodes, listeners, documents }) => [
      minute.toFixed(0),
      mebibytes(heapBytes),
      times(heapBytes / first.heapBytes),
      String(nodes),
      String(listeners),
      String(documents),
    ]),
  );
}
