import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import {
  SseDecoder,
  WireError,
  encodeChatEvent,
  encodeResponseEvent,
  type ResponseEvent,
} from "@deltawire/wire";
import {
  assertSameEvents,
  assertSameOutput,
  fromSseResponseName,
  pushAll,
  responsesEventsName,
  createSseDecoders,
  toChat,
  toResponses,
  translations,
  createTranslationCandidate,
  weight,
  writeAll,
} from "./candidates.ts";
import {
  measureHeap,
  runCandidates,
  computeSpeedup,
  type Candidate,
  type BenchDuration,
  type CandidateResult,
} from "./run-candidates.ts";
import {
  createFeeds,
  createMessagesCandidates,
  createMessagesStreams,
  sdkStreamName,
} from "./messages.ts";
import {
  createLongCall,
  createObfuscatedStream,
  splitByEvent,
  splitIntoReads,
  createReasoningStream,
  createTextStream,
  createToolCallStream,
  type ChatStream,
  type LongCall,
} from "./sample-streams.ts";

/* This is a benchmark, not a test: it prints which goals are met and always exits with 0. It uses no network. */

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, json: { type: "string" } },
});

/**
 * Durations in milliseconds, per row (SSE) or per table (all others). All benchmarks together take at most 90 s, or 15 s
 * with --quick.
 */
const benchDurations: Record<"sse" | "translation" | "growth", BenchDuration> = options.quick
  ? {
      sse: { budget: 100, warmUp: 20, sample: 1, minRounds: 5 },
      translation: { budget: 200, warmUp: 20, sample: 1, minRounds: 5 },
      growth: { budget: 0, warmUp: 0, sample: 20, minRounds: 1 },
    }
  : {
      sse: { budget: 1200, warmUp: 150, sample: 5, minRounds: 15 },
      translation: { budget: 2300, warmUp: 150, sample: 5, minRounds: 15 },
      growth: { budget: 0, warmUp: 0, sample: 200, minRounds: 4 },
    };

const KiB = 1024;
const MiB = KiB * KiB;
/** The highest last-to-first ratio that counts as flat. On a busy machine, repeated runs differ by nearly as much. */
const maxFlatRatio = 1.25;
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
  "Medians of interleaved rounds; ± is half the interquartile range. A ratio above 1 means that this package is faster.",
);

const startedAt = performance.now();
const figures = {
  machine,
  quick: options.quick,
  sse: await measureSse(createTextStream(1000)),
  translation: await measureTranslation([
    createTextStream(1000),
    createReasoningStream(1000),
    createToolCallStream(1000),
    createObfuscatedStream(1000),
  ]),
  messages: await measureMessages(),
  growth: await measureGrowth([0.1, 1, 10].map(createLongCall)),
  memory: measureEndlessLine([
    { size: 64 * KiB, total: 256 * MiB },
    { size: 64, total: 256 * MiB },
    // Single bytes are the worst case and slow, so only slightly more than the limit is pushed, and nothing in a quick run.
    ...(options.quick ? [] : [{ size: 1, total: 34 * MiB }]),
  ]),
  goals,
};

console.log(`\nGoals (after ${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
for (const { goal, met, measured } of goals)
  console.log(`  ${met ? "met   " : "MISSED"}  ${goal}: ${measured}`);
if (options.json !== undefined)
  writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);

async function measureSse(stream: ChatStream) {
  const rows = [];
  for (const input of ["text", "bytes"] as const) {
    for (const cut of cutSizes) {
      const reads = splitIntoReads(stream.bytes, cut);
      const chunks = input === "bytes" ? reads : decodeReads(reads);
      assertSameEvents(chunks, stream.events);
      const { ours, theirs } = createSseDecoders(chunks);
      const [ourResult, theirResult] = (await runCandidates(
        [ours, theirs],
        benchDurations.sse,
      )) as [CandidateResult, CandidateResult];
      rows.push({
        input,
        cut,
        our: computeRates(ourResult, stream),
        their: computeRates(theirResult, stream),
        ratio: computeSpeedup(ourResult, theirResult),
      });
    }
  }
  printTable(
    `SSE: this package compared with eventsource-parser (${stream.events.length} events of ${formatMeanBytes(stream)} bytes)`,
    [
      "reads of",
      "MB/s",
      "events/s",
      "ns/event",
      "eventsource-parser: MB/s",
      "events/s",
      "ns/event",
      "speedup",
    ],
    rows.map(({ input, cut, our: ourResult, their: theirResult, ratio }) => [
      `${formatBytes(cut)} ${input}`,
      ...formatRates(ourResult),
      ...formatRates(theirResult),
      `${ratio.toFixed(2)}x`,
    ]),
  );
  for (const input of ["text", "bytes"] as const) {
    const ratios = rows.filter((row) => row.input === input);
    goals.push({
      goal: `SSE of ${input} at least as fast as eventsource-parser at every read size`,
      met: ratios.every(({ ratio }) => ratio >= 1),
      measured: ratios
        .map(({ cut, ratio }) => `${formatBytes(cut)} ${ratio.toFixed(2)}x`)
        .join(", "),
    });
  }
  return rows;
}

async function measureTranslation(streams: readonly ChatStream[]) {
  const tables = [];
  for (const stream of streams) {
    const ratios = [];
    const feeds = {
      "one event per read": splitByEvent(stream),
      "4 KiB reads": splitIntoReads(stream.bytes, 4 * KiB),
    };
    for (const [feed, reads] of Object.entries(feeds)) {
      for (const translation of translations) await assertSameOutput(translation, stream, reads);
      const results = await runCandidates(
        translations.map((translation) => createTranslationCandidate(translation, stream, reads)),
        benchDurations.translation,
      );
      const reference = results.find(({ name }) => name === fromSseResponseName) as CandidateResult;
      const floor = results[0] as CandidateResult;
      const rows = results.map((result, index) => ({
        name: result.name,
        from: translations[index]?.from,
        ...computeRates(result, stream),
        timesFromSseResponse: computeSpeedup(result, reference),
        timesJsonParse: computeSpeedup(result, floor),
      }));
      printTable(
        `Translation of ${stream.name}, ${feed} (${stream.events.length} events of ${formatMeanBytes(stream)} bytes)`,
        ["", "from", "MB/s", "events/s", "µs/event", "x fromSSEResponse", "x JSON.parse alone"],
        rows.map((row) => [
          row.name,
          row.from ?? "",
          row.megabytesPerSecond.toFixed(0),
          formatThousands(row.eventsPerSecond),
          `${(row.nanosecondsPerEvent / 1000).toFixed(2)} ±${formatPercent(row.spread)}`,
          row.timesFromSseResponse.toFixed(2),
          row.timesJsonParse.toFixed(2),
        ]),
      );
      const [pushed, fromResponse] = rows.filter(({ name }) => name === responsesEventsName);
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
            `${feed} ${pushed.toFixed(2)}x (read from a Response, as fromSSEResponse does: ${fromResponse.toFixed(2)}x)`,
        )
        .join(", "),
    });
  }
  return tables;
}

/** Measures the paths of a Messages upstream beside the stream reader of `@anthropic-ai/sdk`. */
async function measureMessages() {
  const tables = [];
  for (const stream of createMessagesStreams(1000)) {
    const ratios: string[] = [];
    let isMet = true;
    for (const [feed, reads] of Object.entries(createFeeds(stream))) {
      const candidates = createMessagesCandidates(stream, reads);
      const results = await runCandidates(candidates, benchDurations.translation);
      const reference = results.find(({ name }) => name === sdkStreamName) as CandidateResult;
      const rows = results.map((result) => ({
        name: result.name,
        ...computeRates(result, stream),
        timesSdk: computeSpeedup(result, reference),
      }));
      const size = (stream.bytes.length / stream.events.length).toFixed(0);
      printTable(
        `Messages upstream, ${stream.name}, ${feed} (${stream.events.length} events of ${size} bytes)`,
        ["", "MB/s", "events/s", "µs/event", "x @anthropic-ai/sdk"],
        rows.map((row) => [
          row.name,
          row.megabytesPerSecond.toFixed(0),
          formatThousands(row.eventsPerSecond),
          `${(row.nanosecondsPerEvent / 1000).toFixed(2)} ±${formatPercent(row.spread)}`,
          row.timesSdk.toFixed(2),
        ]),
      );
      const own = rows.filter(({ name }) => name.startsWith("ours"));
      const slowest = Math.min(...own.map(({ timesSdk }) => timesSdk));
      isMet &&= slowest >= 5;
      ratios.push(`${feed} ${slowest.toFixed(2)}x`);
      tables.push({ stream: stream.name, feed, rows });
    }
    goals.push({
      goal: `Messages upstream, ${stream.name}: every path ≥ 5x the stream reader of @anthropic-ai/sdk`,
      met: isMet,
      measured: ratios.join(", "),
    });
  }
  return tables;
}

async function measureGrowth(calls: readonly LongCall[]) {
  const outputs: Record<string, (reads: Uint8Array[], onText: (text: string) => void) => void> = {
    "Responses events": (reads, onText) =>
      pushAll(toResponses(), reads, ({ type }) => onText(type)),
    "Responses SSE text": (reads, onText) =>
      writeAll(toResponses(), reads, encodeResponseEvent, onText),
    "Chat SSE text": (reads, onText) => writeAll(toChat(), reads, encodeChatEvent, onText),
  };
  const rows = [];
  for (const [name, translateCall] of Object.entries(outputs).slice(
    0,
    options.quick ? 1 : undefined,
  )) {
    const candidates = calls.map((call): Candidate => {
      const prepare = () => () => {
        let sum = 0;
        translateCall(call.reads, (text) => (sum += weight(text)));
        return sum;
      };
      return { name: call.name, prepare };
    });
    const results = await runCandidates(candidates, benchDurations.growth);
    const perEvent = results.map(
      (result, index) => result.median / (calls[index]?.eventCount ?? NaN),
    );
    const growth = (perEvent.at(-1) ?? NaN) / (perEvent[0] ?? NaN);
    rows.push({ name, nanosecondsPerEvent: perEvent, growth });
    goals.push({
      goal: `${name}: cost per event flat as a call's arguments grow to 10 MB (last / first ≤ ${maxFlatRatio})`,
      met: growth <= maxFlatRatio,
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
  const longestCall = calls.at(-1) as LongCall;
  const heapBytes = measureOpenCallHeap(longestCall);
  console.log(
    `  Heap used by a call of ${longestCall.name} before it closes: ${(heapBytes / 1e6).toFixed(0)} MB`,
  );
  return { rows, heapHeldByLongestCall: heapBytes };
}

function measureOpenCallHeap({ reads }: LongCall): number {
  const machine = toResponses();
  const out: ResponseEvent[] = [];
  const before = measureHeap();
  for (const read of reads.slice(0, -1)) {
    machine.push(read, out);
    out.length = 0;
  }
  const heapBytes = measureHeap() - before;
  machine.end("aborted", out);
  return heapBytes;
}

/** The decoder must reject the line and use little memory even if the caller keeps pushing. */
function measureEndlessLine(lines: readonly { size: number; total: number }[]) {
  const maxHeap = 256 * MiB;
  const rows = lines.map(({ size, total }) => {
    const read = new Uint8Array(size).fill(120);
    const decoder = new SseDecoder({ utf8: new TextDecoder() });
    const before = measureHeap();
    let peakHeap = 0;
    let rejectedAfter: number | undefined;
    for (let pushed = 0; pushed < total; pushed += size) {
      try {
        decoder.push(read, []);
      } catch (error) {
        if (!(error instanceof WireError) || error.code !== "event_too_large") throw error;
        rejectedAfter ??= pushed + size;
      }
      if (pushed % MiB === 0)
        peakHeap = Math.max(peakHeap, process.memoryUsage().heapUsed - before);
    }
    return { size, total, rejectedAfter, peak: peakHeap };
  });
  printTable(
    "An endless line pushed into a decoder with the default limit, continuing after each error",
    ["reads of", "pushed", "event_too_large after", "peak heap"],
    rows.map(({ size, total, rejectedAfter, peak: peakHeap }) => [
      formatBytes(size),
      formatMebibytes(total),
      rejectedAfter === undefined ? "never" : formatMebibytes(rejectedAfter),
      formatMebibytes(peakHeap),
    ]),
  );
  goals.push({
    goal: `an endless line is rejected with event_too_large and uses less than ${formatMebibytes(maxHeap)}`,
    met: rows.every(
      ({ rejectedAfter, peak: peakHeap }) => rejectedAfter !== undefined && peakHeap < maxHeap,
    ),
    measured: rows
      .map(({ size, peak: peakHeap }) => `${formatBytes(size)} ${formatMebibytes(peakHeap)}`)
      .join(", "),
  });
  return rows;
}

interface Rates {
  megabytesPerSecond: number;
  eventsPerSecond: number;
  nanosecondsPerEvent: number;
  spread: number;
}

function computeRates(
  { median, spread }: CandidateResult,
  { bytes, events }: Pick<ChatStream, "bytes" | "events">,
): Rates {
  return {
    megabytesPerSecond: (bytes.length / median) * 1000,
    eventsPerSecond: (events.length / median) * 1e9,
    nanosecondsPerEvent: median / events.length,
    spread,
  };
}

function formatRates({ megabytesPerSecond, eventsPerSecond, nanosecondsPerEvent, spread }: Rates) {
  return [
    megabytesPerSecond.toFixed(0),
    formatThousands(eventsPerSecond),
    `${nanosecondsPerEvent.toFixed(0)} ±${formatPercent(spread)}`,
  ];
}

function decodeReads(reads: readonly Uint8Array[]): string[] {
  const utf8 = new TextDecoder();
  return reads.map((read) => utf8.decode(read, { stream: true })).filter((text) => text !== "");
}

function formatMeanBytes({ bytes, events }: ChatStream): string {
  return (bytes.length / events.length).toFixed(0);
}

function formatBytes(bytes: number): string {
  return bytes < KiB ? `${bytes} B` : `${bytes / KiB} KiB`;
}

function formatMebibytes(bytes: number): string {
  return `${(bytes / MiB).toFixed(0)} MiB`;
}

function formatThousands(value: number): string {
  return `${(value / 1000).toFixed(0)}k`;
}

function formatPercent(spread: number): string {
  return `${(spread * 50).toFixed(0)}%`;
}

/** Aligns the first column left and all others right. */
function printTable(title: string, headers: string[], rows: string[][]): void {
  const widths = headers.map((header, index) =>
    Math.max(header.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, index) =>
        index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
      )
      .join("  ");
  console.log(`\n${title}`);
  for (const row of [headers, ...rows]) console.log(`  ${line(row)}`);
}
