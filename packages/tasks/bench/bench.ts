import { parseArgs } from "node:util";
import {
  Annotator,
  coalesce,
  LogValidator,
  Reducer,
  type LogEntry,
  type TaskEvent,
} from "@deltawire/tasks";
import { conversation, converse, sha256, wordAt, type Shape } from "./conversation.ts";
import { microseconds, perSecond, printTable, thousands, type Goal } from "./report.ts";
import { race, timesAsLong, type Contestant, type Effort, type Result } from "./rounds.ts";
import { checkReaders, readersOf } from "./ui-reader.ts";

/*
 * The pure part of `npm run bench:tasks`, which starts it and is told its goals; it can be run alone. A measurement, not
 * a test. It uses no network.
 */

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } });

const effort: Effort = options.quick
  ? { budget: 80, warmUp: 10, sample: 1, fewestRounds: 2 }
  : { budget: 1200, warmUp: 80, sample: 5, fewestRounds: 5 };

const sizes = [100, 1000, 10_000, 100_000];
const largest = 100_000;
const titles: Record<Shape, string> = {
  few: "two items",
  usual: "an item in 81 events",
  many: "an item in 10 events",
};
const shapes: readonly Shape[] = options.quick ? ["few", "many"] : ["few", "usual", "many"];
/** A last-to-first ratio up to this counts as flat: runs on an unquiet machine differ by nearly as much. */
const flat = 1.25;
const goals: Goal[] = [];

/**
 * Out of objects that lie ready, where a long log is slower for the processor's cache alone, as its floor shows; and out
 * of lines, as events come, each of them parsed just before.
 */
const reductions: {
  name: string;
  isFloor?: true;
  run: (entries: readonly LogEntry[]) => () => number;
}[] = [
  { name: "reduced, the state after 64", run: (log) => ofEvents(log, 64) },
  { name: "reduced, the state after each", run: (log) => ofEvents(log, 1) },
  { name: "floor: each event touched", isFloor: true, run: (log) => ofEvents(log, 0) },
  {
    name: "parsed and reduced, the state after 64",
    run: (log) => ofLines(log, 64),
  },
  {
    name: "parsed and reduced, the state after each",
    run: (log) => ofLines(log, 1),
  },
  { name: "floor: JSON.parse", isFloor: true, run: (log) => ofLines(log, 0) },
];

const logs = new Map(shapes.map((shape) => [shape, conversation(shape, largest + 3000)]));
await measureReducer();
await measureWriter();
await measureText();
await measureReaders();

if (process.send === undefined) {
  console.log("\nGoals");
  for (const { goal, met, measured } of goals)
    console.log(`  ${met ? "met   " : "MISSED"}  ${goal}: ${measured}`);
} else {
  process.send({ goals });
  process.disconnect();
}

async function measureReducer(): Promise<void> {
  const rows: string[][] = [];
  for (const shape of shapes) {
    const title = titles[shape];
    const rates: number[] = [];
    for (const { name, isFloor = false, run } of reductions) {
      const results = await race(
        sizes.map((size): Contestant => {
          const entries = logOf(shape).slice(0, size);
          return { name, events: size, run: run(entries) };
        }),
        effort,
      );
      const growth = timesPerEvent(results.at(-1), results[0]);
      const slowest = Math.min(...results.map(({ perEvent }) => 1e9 / perEvent));
      rows.push([
        `${title}: ${name}`,
        ...results.map(microseconds),
        thousands(slowest),
        growth.toFixed(2),
      ]);
      if (isFloor) continue;
      rates.push(slowest);
      goals.push({
        goal: `${title}, ${name}: cost per event flat from 100 to 100,000 (last / first ≤ ${flat})`,
        met: growth <= flat,
        measured: growth.toFixed(2),
      });
    }
    goals.push({
      goal: `${title}: ≥ 100,000 events a second reduced, at every length and in every way`,
      met: Math.min(...rates) >= 100_000,
      measured: `${thousands(Math.min(...rates))} at the slowest`,
    });
  }
  printTable(
    "Reducer: µs of processor an event, by the number of events",
    ["", ...sizes.map((size) => size.toLocaleString("en")), "least events/s", "last / first"],
    rows,
  );
}

async function measureWriter(): Promise<void> {
  const rows: string[][] = [];
  const size = 10_000;
  for (const shape of shapes) {
    const title = titles[shape];
    const events = conversation(shape, size).map(({ event }) => event);
    const count = events.length;
    const results = await race(
      [
        {
          name: "writer: checked, reduced and as JSON",
          events: count,
          run: () => writeAll(shape, size),
        },
        {
          name: "validator alone, the reducer in it",
          events: count,
          run: () => validateAll(events),
        },
        { name: "JSON.stringify alone", events: count, run: () => stringifyAll(events) },
      ],
      effort,
    );
    const floor = results.at(-1);
    for (const result of results)
      rows.push([
        `${title}: ${result.name}`,
        microseconds(result),
        perSecond(result),
        timesAsLong(result, floor).toFixed(2),
      ]);
    const [writer] = results;
    if (writer !== undefined)
      goals.push({
        goal: `writer and validator, ${title}: ≥ 100,000 events a second`,
        met: 1e9 / writer.perEvent >= 100_000,
        measured: perSecond(writer),
      });
  }
  printTable(
    `Writer and validator, a log of ${size.toLocaleString("en")} events`,
    ["", "µs an event", "events/s", "x stringify"],
    rows,
  );
}

async function measureText(): Promise<void> {
  const words = Array.from({ length: 10_000 }, (_, nth) => wordAt(nth));
  const deltas = logOf("few")
    .map(({ event }) => event)
    .filter(({ type }) => type === "task.text.delta")
    .slice(0, 10_000);
  const results = await race(
    [
      { name: "annotator", events: words.length, run: () => annotateAll(words) },
      { name: "coalescer, 1,000 at a time", events: deltas.length, run: () => coalesceAll(deltas) },
    ],
    effort,
  );
  printTable(
    "Text: a delta of 1 to 10 characters",
    ["", "µs a delta", "deltas/s"],
    results.map((result) => [result.name, microseconds(result), perSecond(result)]),
  );
}

async function measureReaders(): Promise<void> {
  const rows: string[][] = [];
  const ratios: { title: string; ratio: number }[] = [];
  for (const shape of shapes) {
    const title = titles[shape];
    for (const size of [100, 1000, ...(options.quick ? [] : [5000])]) {
      const readers = readersOf(conversation(shape, size));
      await checkReaders(readers);
      for (const [from, { ours, oursInBatches, theirs }] of [
        ["objects", readers.objects],
        ["SSE bytes", readers.bytes],
      ] as const) {
        const [one, many, sdk] = await race([ours, oursInBatches, theirs], {
          ...effort,
          budget: effort.budget / 2,
        });
        const ratio = timesAsLong(sdk, one);
        ratios.push({ title: `${title}, ${ours.events} of them, ${from}`, ratio });
        rows.push([
          `${title}, out of ${from}`,
          `${ours.events.toLocaleString("en")} / ${readers.chunks.toLocaleString("en")}`,
          ...[one, many, sdk].map((result) => (result === undefined ? "" : microseconds(result))),
          `${ratio.toFixed(1)}x`,
          `${timesAsLong(sdk, many).toFixed(1)}x`,
        ]);
      }
    }
  }
  printTable(
    "The same conversation through readUIMessageStream of `ai`: µs an event of ours",
    ["", "events / chunks", "ours, each shown", "ours, by 64", "ai", "ours, each, is", "by 64"],
    rows,
  );
  const [least] = ratios.toSorted((a, b) => a.ratio - b.ratio);
  goals.push({
    goal: "≥ 5x the `ai` SDK's reader, the state looked at after every event as there",
    met: (least?.ratio ?? NaN) >= 5,
    measured: `${least?.ratio.toFixed(1)}x at the least (${least?.title})`,
  });
}

function logOf(shape: Shape): readonly LogEntry[] {
  return logs.get(shape) ?? [];
}

/** The state is looked at after so many events; 0: nothing is reduced. */
function ofEvents(log: readonly LogEntry[], batch: number): () => number {
  const events = log.map(({ event }) => event);
  return batch === 0 ? () => touchAll(events) : () => reduceAll(events, batch, (event) => event);
}

function ofLines(log: readonly LogEntry[], batch: number): () => number {
  const lines = log.map(({ json }) => json);
  return batch === 0
    ? () => parseAll(lines)
    : () => reduceAll(lines, batch, (line) => JSON.parse(line) as TaskEvent);
}

function reduceAll<T>(given: readonly T[], batch: number, eventOf: (one: T) => TaskEvent): number {
  const reducer = new Reducer();
  let sum = 0;
  let pending = 0;
  for (const one of given) {
    reducer.apply(eventOf(one));
    pending += 1;
    if (pending < batch) continue;
    pending = 0;
    sum += reducer.state.head;
  }
  return sum + reducer.state.head;
}

function touchAll(events: readonly TaskEvent[]): number {
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
  converse(shape, size, ({ json }) => (sum += json.length));
  return sum;
}

function validateAll(events: readonly TaskEvent[]): number {
  const validator = new LogValidator({ sha256, hashes: false });
  for (const event of events) {
    const broken = validator.check(event);
    if (broken !== undefined) throw new Error(broken.message);
  }
  return validator.state.head;
}

function stringifyAll(events: readonly TaskEvent[]): number {
  let sum = 0;
  for (const event of events) sum += JSON.stringify(event).length;
  return sum;
}

function annotateAll(words: readonly string[]): number {
  const annotator = new Annotator((n) => n === 1);
  let sum = 0;
  for (const word of words) {
    const { text, annotations } = annotator.push(word);
    sum += text.length + annotations.length;
  }
  return sum + annotator.end().text.length;
}

function coalesceAll(deltas: readonly TaskEvent[]): number {
  let sum = 0;
  for (let at = 0; at < deltas.length; at += 1000)
    sum += coalesce(deltas.slice(at, at + 1000)).length;
  return sum;
}

function timesPerEvent(later: Result | undefined, earlier: Result | undefined): number {
  return (later?.perEvent ?? NaN) / (earlier?.perEvent ?? NaN);
}
