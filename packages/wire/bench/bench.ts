import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import {
  SseDecoder,
  WireError,
  encodeChatOutput,
  encodeResponseEvent,
  type ResponseEvent,
} from "@deltawire/wire";
import {
  checkSse,
  checkTranslation,
  fromSseResponse,
  pushAll,
  responsesEvents,
  sseDecoders,
  toChat,
  toResponses,
  translations,
  translator,
  weight,
  writeAll,
} from "./contestants.ts";
import {
  heapHeld,
  race,
  timesAsFast,
  type Contestant,
  type Effort,
  type Result,
} from "./rounds.ts";
import {
  longCall,
  obfuscatedStream,
  readPerEvent,
  readsOf,
  reasoningStream,
  textStream,
  toolCallStream,
  type ChatStream,
  type LongCall,
} from "./streams.ts";

/*
 * npm run bench:wire [-- --quick] [-- --json FILE]
 *
 * A measurement, not a test: it says which goals are met and ends with 0 either way. It uses no network.
 */

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, json: { type: "string" } },
});

/** Milliseconds for each table's row (SSE) or table (all else). Together 90 s at the most, 15 s with --quick. */
const efforts: Record<"sse" | "translation" | "growth", Effort> = options.quick
  ? {
      sse: { budget: 100, warmUp: 20, sample: 1, fewestRounds: 5 },
      translation: { budget: 200, warmUp: 20, sample: 1, fewestRounds: 5 },
      growth: { budget: 0, warmUp: 0, sample: 20, fewestRounds: 1 },
    }
  : {
      sse: { budget: 1200, warmUp: 150, sample: 5, fewestRounds: 15 },
      translation: { budget: 2300, warmUp: 150, sample: 5, fewestRounds: 15 },
      growth: { budget: 0, warmUp: 0, sample: 200, fewestRounds: 4 },
    };

const KiB = 1024;
const MiB = KiB * KiB;
/** A last-to-first ratio up to this counts as flat: runs on an unquiet machine differ by nearly as much. */
const flat = 1.25;
const cutSizes = [1, 16, 64, 256, KiB, 4 * KiB, 64 * KiB];

interface Goal {
  goal: string;
  met: boolean;
  measured: string;
}
const goals: Goal[] = [];

const machine = `Node ${process.version}, ${availableParallelism()} cores, ${cpus()[0]?.model ?? "unknown CPU"}`;
console.log(`${machine}${options.quick ? ", quick run" : ""}`);
console.log(
  "Medians of interleaved rounds; ± is half the distance of the quartiles. Higher ratios are better for us.",
);

const started = performance.now();
const figures = {
  machine,
  quick: options.quick,
  sse: await measureSse(textStream(1000)),
  translation: await measureTranslation([
    textStream(1000),
    reasoningStream(1000),
    toolCallStream(1000),
    obfuscatedStream(1000),
  ]),
  growth: await measureGrowth([0.1, 1, 10].map(longCall)),
  memory: measureEndlessLine([
    { size: 64 * KiB, total: 256 * MiB },
    { size: 64, total: 256 * MiB },
    // Byte by byte is the worst case, and slow: only just past the limit, and not in a quick run.
    ...(options.quick ? [] : [{ size: 1, total: 34 * MiB }]),
  ]),
  goals,
};

console.log(`\nGoals (after ${((performance.now() - started) / 1000).toFixed(0)} s)`);
for (const { goal, met, measured } of goals)
  console.log(`  ${met ? "met   " : "MISSED"}  ${goal}: ${measured}`);
if (options.json !== undefined)
  writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);

async function measureSse(stream: ChatStream) {
  const rows = [];
  for (const input of ["text", "bytes"] as const) {
    for (const cut of cutSizes) {
      const reads = readsOf(stream.bytes, cut);
      const given = input === "bytes" ? reads : decoded(reads);
      checkSse(given, stream.events);
      const { ours, theirs } = sseDecoders(given);
      const [our, their] = (await race([ours, theirs], efforts.sse)) as [Result, Result];
      rows.push({
        input,
        cut,
        our: rates(our, stream),
        their: rates(their, stream),
        ratio: timesAsFast(our, their),
      });
    }
  }
  printTable(
    `SSE: ours beside eventsource-parser (${stream.events.length} events of ${meanBytes(stream)} bytes)`,
    ["reads of", "MB/s", "events/s", "ns/event", "theirs: MB/s", "events/s", "ns/event", "ours is"],
    rows.map(({ input, cut, our, their, ratio }) => [
      `${bytesText(cut)} ${input}`,
      ...rateCells(our),
      ...rateCells(their),
      `${ratio.toFixed(2)}x`,
    ]),
  );
  for (const input of ["text", "bytes"] as const) {
    const ratios = rows.filter((row) => row.input === input);
    goals.push({
      goal: `SSE of ${input} at least as fast as eventsource-parser at every cut size`,
      met: ratios.every(({ ratio }) => ratio >= 1),
      measured: ratios.map(({ cut, ratio }) => `${bytesText(cut)} ${ratio.toFixed(2)}x`).join(", "),
    });
  }
  return rows;
}

async function measureTranslation(streams: readonly ChatStream[]) {
  const tables = [];
  for (const stream of streams) {
    const ratios = [];
    const feeds = {
      "one event a read": readPerEvent(stream),
      "4 KiB reads": readsOf(stream.bytes, 4 * KiB),
    };
    for (const [feed, reads] of Object.entries(feeds)) {
      for (const translation of translations) await checkTranslation(translation, stream, reads);
      const results = await race(
        translations.map((translation) => translator(translation, stream, reads)),
        efforts.translation,
      );
      const reference = results.find(({ name }) => name === fromSseResponse) as Result;
      const floor = results[0] as Result;
      const rows = results.map((result, nth) => ({
        name: result.name,
        from: translations[nth]?.from,
        ...rates(result, stream),
        timesFromSseResponse: timesAsFast(result, reference),
        timesJsonParse: timesAsFast(result, floor),
      }));
      printTable(
        `Translation of ${stream.name}, ${feed} (${stream.events.length} events of ${meanBytes(stream)} bytes)`,
        ["", "from", "MB/s", "events/s", "µs/event", "x fromSSEResponse", "x JSON.parse alone"],
        rows.map((row) => [
          row.name,
          row.from ?? "",
          row.megabytesPerSecond.toFixed(0),
          thousands(row.eventsPerSecond),
          `${(row.nanosecondsPerEvent / 1000).toFixed(2)} ±${percent(row.spread)}`,
          row.timesFromSseResponse.toFixed(2),
          row.timesJsonParse.toFixed(2),
        ]),
      );
      const [pushed, fromResponse] = rows.filter(({ name }) => name === responsesEvents);
      ratios.push({
        feed,
        pushed: pushed?.timesFromSseResponse ?? NaN,
        fromResponse: fromResponse?.timesFromSseResponse ?? NaN,
      });
      tables.push({ stream: stream.name, feed, rows });
    }
    goals.push({
      goal: `translation of ${stream.name} ≥ 5x fromSSEResponse`,
      met: ratios.every(({ pushed }) => pushed >= 5),
      measured: ratios
        .map(
          ({ feed, pushed, fromResponse }) =>
            `${feed} ${pushed.toFixed(2)}x (out of a Response, as theirs, ${fromResponse.toFixed(2)}x)`,
        )
        .join(", "),
    });
  }
  return tables;
}

async function measureGrowth(calls: readonly LongCall[]) {
  const ways: Record<string, (reads: Uint8Array[], take: (text: string) => void) => void> = {
    "Responses events": (reads, take) => pushAll(toResponses(), reads, ({ type }) => take(type)),
    "Responses SSE text": (reads, take) =>
      writeAll(toResponses(), reads, encodeResponseEvent, take),
    "Chat SSE text": (reads, take) => writeAll(toChat(), reads, encodeChatOutput, take),
  };
  const rows = [];
  for (const [name, work] of Object.entries(ways).slice(0, options.quick ? 1 : undefined)) {
    const contestants = calls.map((call): Contestant => {
      const prepare = () => () => {
        let sum = 0;
        work(call.reads, (text) => (sum += weight(text)));
        return sum;
      };
      return { name: call.name, prepare };
    });
    const results = await race(contestants, efforts.growth);
    const perEvent = results.map((result, nth) => result.median / (calls[nth]?.eventCount ?? NaN));
    const growth = (perEvent.at(-1) ?? NaN) / (perEvent[0] ?? NaN);
    rows.push({ name, nanosecondsPerEvent: perEvent, growth });
    goals.push({
      goal: `${name}: cost per event flat as a call's arguments grow to 10 MB (last / first ≤ ${flat})`,
      met: growth <= flat,
      measured: growth.toFixed(2),
    });
  }
  printTable(
    "µs/event as one call's arguments grow, in deltas of 8 to 64 characters, 4 KiB reads",
    ["", ...calls.map(({ name, eventCount }) => `${name} (${eventCount} events)`), "last / first"],
    rows.map(({ name, nanosecondsPerEvent, growth }) => [
      name,
      ...nanosecondsPerEvent.map((ns) => (ns / 1000).toFixed(2)),
      growth.toFixed(2),
    ]),
  );
  const longest = calls.at(-1) as LongCall;
  const held = heapOfOpenCall(longest);
  console.log(
    `  Heap held by a call of ${longest.name} before it closes: ${(held / 1e6).toFixed(0)} MB`,
  );
  return { rows, heapHeldByLongestCall: held };
}

function heapOfOpenCall({ reads }: LongCall): number {
  const machine = toResponses();
  const out: ResponseEvent[] = [];
  const before = heapHeld();
  for (const read of reads.slice(0, -1)) {
    machine.push(read, out);
    out.length = 0;
  }
  const held = heapHeld() - before;
  machine.end("aborted", out);
  return held;
}

/** The decoder must refuse, and hold little even if its caller goes on all the same. */
function measureEndlessLine(lines: readonly { size: number; total: number }[]) {
  const bound = 256 * MiB;
  const rows = lines.map(({ size, total }) => {
    const read = new Uint8Array(size).fill(120);
    const decoder = new SseDecoder({ utf8: new TextDecoder() });
    const before = heapHeld();
    let peak = 0;
    let refusedAfter: number | undefined;
    for (let pushed = 0; pushed < total; pushed += size) {
      try {
        decoder.push(read, []);
      } catch (error) {
        if (!(error instanceof WireError) || error.code !== "event_too_large") throw error;
        refusedAfter ??= pushed + size;
      }
      if (pushed % MiB === 0) peak = Math.max(peak, process.memoryUsage().heapUsed - before);
    }
    return { size, total, refusedAfter, peak };
  });
  printTable(
    "An endless line, into a decoder with its default limit that is pushed on after each refusal",
    ["reads of", "pushed", "event_too_large after", "peak heap"],
    rows.map(({ size, total, refusedAfter, peak }) => [
      bytesText(size),
      mebibytes(total),
      refusedAfter === undefined ? "never" : mebibytes(refusedAfter),
      mebibytes(peak),
    ]),
  );
  goals.push({
    goal: `an endless line is refused with event_too_large and holds less than ${mebibytes(bound)}`,
    met: rows.every(({ refusedAfter, peak }) => refusedAfter !== undefined && peak < bound),
    measured: rows.map(({ size, peak }) => `${bytesText(size)} ${mebibytes(peak)}`).join(", "),
  });
  return rows;
}

interface Rates {
  megabytesPerSecond: number;
  eventsPerSecond: number;
  nanosecondsPerEvent: number;
  spread: number;
}

function rates({ median, spread }: Result, { bytes, events }: ChatStream): Rates {
  return {
    megabytesPerSecond: (bytes.length / median) * 1000,
    eventsPerSecond: (events.length / median) * 1e9,
    nanosecondsPerEvent: median / events.length,
    spread,
  };
}

function rateCells({ megabytesPerSecond, eventsPerSecond, nanosecondsPerEvent, spread }: Rates) {
  return [
    megabytesPerSecond.toFixed(0),
    thousands(eventsPerSecond),
    `${nanosecondsPerEvent.toFixed(0)} ±${percent(spread)}`,
  ];
}

function decoded(reads: readonly Uint8Array[]): string[] {
  const utf8 = new TextDecoder();
  return reads.map((read) => utf8.decode(read, { stream: true })).filter((text) => text !== "");
}

function meanBytes({ bytes, events }: ChatStream): string {
  return (bytes.length / events.length).toFixed(0);
}

function bytesText(bytes: number): string {
  return bytes < KiB ? `${bytes} B` : `${bytes / KiB} KiB`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / MiB).toFixed(0)} MiB`;
}

function thousands(value: number): string {
  return `${(value / 1000).toFixed(0)}k`;
}

function percent(spread: number): string {
  return `${(spread * 50).toFixed(0)}%`;
}

/** The first column to the left, figures to the right. */
function printTable(title: string, heads: string[], rows: string[][]): void {
  const widths = heads.map((head, nth) =>
    Math.max(head.length, ...rows.map((row) => row[nth]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, nth) =>
        nth === 0 ? cell.padEnd(widths[nth] ?? 0) : cell.padStart(widths[nth] ?? 0),
      )
      .join("  ");
  console.log(`\n${title}`);
  for (const row of [heads, ...rows]) console.log(`  ${line(row)}`);
}
