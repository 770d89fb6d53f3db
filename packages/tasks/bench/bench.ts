import { parseArgs } from "node:util";
import {
  CitationAnnotator,
  coalesce,
  LogValidator,
  Reducer,
  type LogEntry,
  type TaskEvent,
} from "@deltawire/tasks";
import {
  createConversation,
  writeConversation,
  sha256,
  getWord,
  type Shape,
} from "./conversation.ts";
import {
  formatMicroseconds,
  formatPerSecond,
  formatThousands,
  printTable,
  type Goal,
} from "./report.ts";
import {
  measureCandidates,
  computeRatio,
  type Candidate,
  type BenchDuration,
  type Result,
} from "./rounds.ts";
import { checkReaders, createReaders } from "./ui-reader.ts";

/*
 * The part of `npm run bench:tasks` that needs no network. It is started as a child process and sends its goals to the parent; it
 * can also be run alone.
 */

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } });

const duration: BenchDuration = options.quick
  ? { budgetMs: 80, warmUpMs: 10, sampleMs: 1, minRounds: 2 }
  : { budgetMs: 1200, warmUpMs: 80, sampleMs: 5, minRounds: 5 };

const sizes = [100, 1000, 10_000, 100_000];
const maxSize = 100_000;
const titles: Record<Shape, string> = {
  few: "two items",
  usual: "an item in 81 events",
  many: "an item in 10 events",
};
const shapes: readonly Shape[] = options.quick ? ["few", "many"] : ["few", "usual", "many"];
/** A last-to-first ratio up to this counts as flat: on a busy machine, runs differ by nearly as much. */
const maxFlatGrowth = 1.25;
const goals: Goal[] = [];

/**
 * Half of these reduce parsed events; the baseline shows that a long log is slower only because of the CPU cache. The others
 * parse each event from a JSON line first.
 */
const reductions: {
  name: string;
  isBaseline?: true;
  run: (entries: readonly LogEntry[]) => () => number;
}[] = [
  { name: "reduced, state read after 64", run: (log) => reduceEvents(log, 64) },
  { name: "reduced, state read after each", run: (log) => reduceEvents(log, 1) },
  { name: "baseline: each event read", isBaseline: true, run: (log) => reduceEvents(log, 0) },
  {
    name: "parsed and reduced, state read after 64",
    run: (log) => reduceLines(log, 64),
  },
  {
    name: "parsed and reduced, state read after each",
    run: (log) => reduceLines(log, 1),
  },
  { name: "baseline: JSON.parse", isBaseline: true, run: (log) => reduceLines(log, 0) },
];

const logs = new Map(shapes.map((shape) => [shape, createConversation(shape, maxSize + 3000)]));
await measureReducer();
await measureWriter();
await measureText();
await measureReaders();

if (process.send === undefined) {
  console.log("\nGoals");
  for (const { description, isMet, measured } of goals)
    console.log(`  ${isMet ? "met   " : "MISSED"}  ${description}: ${measured}`);
} else {
  process.send({ goals });
  process.disconnect();
}

async function measureReducer(): Promise<void> {
  const rows: string[][] = [];
  for (const shape of shapes) {
    const title = titles[shape];
    const rates: number[] = [];
    for (const { name, isBaseline = false, run } of reductions) {
      const results = await measureCandidates(
        sizes.map((size): Candidate => {
          const entries = getLog(shape).slice(0, size);
          return { name, events: size, run: run(entries) };
        }),
        duration,
      );
      const growth = computeGrowth(results.at(-1), results[0]);
      const slowest = Math.min(...results.map(({ perEvent }) => 1e9 / perEvent));
      rows.push([
        `${title}: ${name}`,
        ...results.map(formatMicroseconds),
        formatThousands(slowest),
        growth.toFixed(2),
      ]);
      if (isBaseline) continue;
      rates.push(slowest);
      goals.push({
        description: `${title}, ${name}: cost per event flat from 100 to 100,000 (last / first ≤ ${maxFlatGrowth})`,
        isMet: growth <= maxFlatGrowth,
        measured: growth.toFixed(2),
      });
    }
    goals.push({
      description: `${title}: ≥ 100,000 events reduced per second, for all lengths and ways`,
      isMet: Math.min(...rates) >= 100_000,
      measured: `${formatThousands(Math.min(...rates))} at the slowest`,
    });
  }
  printTable(
    "Reducer: µs of CPU time per event, by the number of events",
    ["", ...sizes.map((size) => size.toLocaleString("en")), "min. events/s", "last / first"],
    rows,
  );
}

async function measureWriter(): Promise<void> {
  const rows: string[][] = [];
  const size = 10_000;
  for (const shape of shapes) {
    const title = titles[shape];
    const events = createConversation(shape, size).map(({ event }) => event);
    const count = events.length;
    const results = await measureCandidates(
      [
        {
          name: "writer: validated, reduced and encoded",
          events: count,
          run: () => writeAll(shape, size),
        },
        {
          name: "validator with its reducer",
          events: count,
          run: () => validateAll(events),
        },
        { name: "only JSON.stringify", events: count, run: () => stringifyAll(events) },
      ],
      duration,
    );
    const baseline = results.at(-1);
    for (const result of results)
      rows.push([
        `${title}: ${result.name}`,
        formatMicroseconds(result),
        formatPerSecond(result),
        computeRatio(result, baseline).toFixed(2),
      ]);
    const [writer] = results;
    if (writer !== undefined)
      goals.push({
        description: `writer and validator, ${title}: ≥ 100,000 events per second`,
        isMet: 1e9 / writer.perEvent >= 100_000,
        measured: formatPerSecond(writer),
      });
  }
  printTable(
    `Writer and validator, a log of ${size.toLocaleString("en")} events`,
    ["", "µs per event", "events/s", "x stringify"],
    rows,
  );
}

async function measureText(): Promise<void> {
  const words = Array.from({ length: 10_000 }, (_, index) => getWord(index));
  const deltas = getLog("few")
    .map(({ event }) => event)
    .filter(({ type }) => type === "task.text.delta")
    .slice(0, 10_000);
  const results = await measureCandidates(
    [
      { name: "annotator", events: words.length, run: () => annotateAll(words) },
      { name: "coalescer, 1,000 at a time", events: deltas.length, run: () => coalesceAll(deltas) },
    ],
    duration,
  );
  printTable(
    "Text: deltas of 1 to 10 characters",
    ["", "µs per delta", "deltas/s"],
    results.map((result) => [result.name, formatMicroseconds(result), formatPerSecond(result)]),
  );
}

async function measureReaders(): Promise<void> {
  const rows: string[][] = [];
  const ratios: { title: string; ratio: number }[] = [];
  for (const shape of shapes) {
    const title = titles[shape];
    for (const size of [100, 1000, ...(options.quick ? [] : [5000])]) {
      const readers = createReaders(createConversation(shape, size));
      await checkReaders(readers);
      for (const [from, { ours, oursInBatches, sdk }] of [
        ["objects", readers.objects],
        ["SSE bytes", readers.bytes],
      ] as const) {
        const [single, batched, sdkResult] = await measureCandidates([ours, oursInBatches, sdk], {
          ...duration,
          budgetMs: duration.budgetMs / 2,
        });
        const ratio = computeRatio(sdkResult, single);
        ratios.push({ title: `${title}, ${ours.events} events, ${from}`, ratio });
        rows.push([
          `${title}, from ${from}`,
          `${ours.events.toLocaleString("en")} / ${readers.chunks.toLocaleString("en")}`,
          ...[single, batched, sdkResult].map((result) =>
            result === undefined ? "" : formatMicroseconds(result),
          ),
          `${ratio.toFixed(1)}x`,
          `${computeRatio(sdkResult, batched).toFixed(1)}x`,
        ]);
      }
    }
  }
  printTable(
    "The same conversation with readUIMessageStream of `ai`: µs per event of ours",
    ["", "events / chunks", "ours, each event", "ours, per 64", "ai", "speedup, each", "per 64"],
    rows,
  );
  const [worst] = ratios.toSorted((a, b) => a.ratio - b.ratio);
  goals.push({
    description: "≥ 5x the speed of the `ai` SDK's reader, with the state read after every event",
    isMet: (worst?.ratio ?? NaN) >= 5,
    measured: `${worst?.ratio.toFixed(1)}x in the worst case (${worst?.title})`,
  });
}

function getLog(shape: Shape): readonly LogEntry[] {
  return logs.get(shape) ?? [];
}

/** Reads the state after every `batch` events; 0: does not reduce. */
function reduceEvents(log: readonly LogEntry[], batch: number): () => number {
  const events = log.map(({ event }) => event);
  return batch === 0 ? () => readAll(events) : () => reduceAll(events, batch, (event) => event);
}

function reduceLines(log: readonly LogEntry[], batch: number): () => number {
  const lines = log.map(({ json }) => json);
  return batch === 0
    ? () => parseAll(lines)
    : () => reduceAll(lines, batch, (line) => JSON.parse(line) as TaskEvent);
}

function reduceAll<T>(
  inputs: readonly T[],
  batch: number,
  toEvent: (input: T) => TaskEvent,
): number {
  const reducer = new Reducer();
  let sum = 0;
  let pending = 0;
  for (const input of inputs) {
    reducer.apply(toEvent(input));
    pending += 1;
    if (pending < batch) continue;
    pending = 0;
    sum += reducer.state.head;
  }
  return sum + reducer.state.head;
}

function readAll(events: readonly TaskEvent[]): number {
  let sum = 0;
  for (const event of events) {
    sum += event.sequence_number + event.type.length;
    if ("delta" in event) sum += event.delta.length;
    if ("item" in event) sum += event.item.type.length;
  }
  return sum;
}

function parseAll(lines: readonly string[]): number {
  let sum = 0;
  for (const line of lines) sum += (JSON.parse(line) as TaskEvent).sequence_number;
  return sum;
}

function writeAll(shape: Shape, size: number): number {
  let sum = 0;
  writeConversation(shape, size, ({ json }) => (sum += json.length));
  return sum;
}

function validateAll(events: readonly TaskEvent[]): number {
  const validator = new LogValidator({ sha256, checkHashes: false });
  for (const event of events) {
    const violation = validator.check(event);
    if (violation !== undefined) throw new Error(violation.message);
  }
  return validator.state.head;
}

function stringifyAll(events: readonly TaskEvent[]): number {
  let sum = 0;
  for (const event of events) sum += JSON.stringify(event).length;
  return sum;
}

function annotateAll(words: readonly string[]): number {
  const annotator = new CitationAnnotator((n) => n === 1);
  let sum = 0;
  for (const word of words) {
    const { text, annotations } = annotator.push(word);
    sum += text.length + annotations.length;
  }
  return sum + annotator.end().text.length;
}

function coalesceAll(deltas: readonly TaskEvent[]): number {
  let sum = 0;
  for (let index = 0; index < deltas.length; index += 1000)
    sum += coalesce(deltas.slice(index, index + 1000)).length;
  return sum;
}

function computeGrowth(later: Result | undefined, earlier: Result | undefined): number {
  return (later?.perEvent ?? NaN) / (earlier?.perEvent ?? NaN);
}
