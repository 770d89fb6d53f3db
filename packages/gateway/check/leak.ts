/*
 * npm run check:leak [-- STREAMS]
 * Runs 10,000 streams of every kind through one gateway: finished, aborted, failed, rejected, retried, in every API. The
 * heap must not grow with them, and the number of sockets and timers must be the same afterwards. Prints the memory after
 * each round. Exits with 1 if there is a leak.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runStream, startLeakUpstream, streamKinds } from "./leak-streams.ts";
import type { FromGateway, MemoryUsage, ToGateway } from "./measured-gateway.ts";

const total = Number(process.argv[2] ?? 10_000);
const rounds = 5;
const concurrency = 40;
/** A longer run counts as hung. */
const maxMinutes = 5;
/** Bytes that a stream may leave on average: less than any object that refers to it. */
const maxBytesPerStream = 64;
/** Idle connections close after 4 s, and aborted ones after a grace period. */
const settleMs = 6_000;

const hungTimer = setTimeout(() => {
  console.log(`FAILED: not done after ${maxMinutes} minutes`);
  process.exit(1);
}, maxMinutes * 60_000);

const upstream = await startLeakUpstream();
const gateway = fork(fileURLToPath(new URL("measured-gateway.ts", import.meta.url)), {
  execArgv: ["--conditions=@deltawire/source", "--expose-gc"],
});
try {
  process.exitCode = (await check()) ? 0 : 1;
} finally {
  gateway.kill();
  await upstream.close();
  clearTimeout(hungTimer);
}

async function check(): Promise<boolean> {
  const { url } = await request<{ url: string }>({ toml: upstream.toml });
  const perRound = Math.ceil(total / rounds);
  const counts = new Map<string, number>(streamKinds.map((kind) => [kind, 0]));
  // Objects created once at first use are not leaks: the first round is a warm-up.
  await runStreams(url, 0, perRound, new Map());
  const measurements = [await measureSettled()];
  printRow("", "heap", "buffers", "resident");
  printMeasurement("warmed up", measurements[0]);
  const startedAt = performance.now();
  for (let round = 1; round <= rounds; round += 1) {
    await runStreams(url, round * perRound, perRound, counts);
    measurements.push(await measureSettled());
    printMeasurement(`${round * perRound} streams`, measurements.at(-1));
  }
  const seconds = (performance.now() - startedAt) / 1000;

  for (const [kind, count] of counts) console.log(`  ${kind.padEnd(40)} ${count}`);
  const growth = computeGrowthPerRound(
    measurements.map(({ heapBytes, bufferBytes }) => heapBytes + bufferBytes),
  );
  const perStream = growth / perRound;
  const faults = [
    ...(perStream > maxBytesPerStream
      ? [`each stream leaves ${perStream.toFixed(0)} bytes behind`]
      : []),
    ...findNewResources(measurements[0], measurements.at(-1)),
    ...[...counts].flatMap(([kind, count]) =>
      count === 0 ? [`no stream of the kind "${kind}" ran`] : [],
    ),
  ];
  console.log(
    `${rounds * perRound} streams in ${seconds.toFixed(0)} s; each left ${perStream.toFixed(1)} bytes behind, the limit is ${maxBytesPerStream}`,
  );
  for (const fault of faults) console.log(`FAILED: ${fault}`);
  if (faults.length === 0) console.log("no leak");
  return faults.length === 0;
}

async function runStreams(
  url: string,
  start: number,
  count: number,
  counts: Map<string, number>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  let next = start;
  const runNextStreams = async (): Promise<void> => {
    while (next < start + count) {
      const number = next;
      next += 1;
      const kind = streamKinds[number % streamKinds.length] ?? "";
      const fault = await runStream(url, kind, number, agent);
      if (fault !== undefined) throw new Error(`a stream of the kind "${kind}" failed: ${fault}`);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, runNextStreams));
  } finally {
    agent.destroy();
  }
}

async function measureSettled(): Promise<MemoryUsage> {
  await sleep(settleMs);
  return (await request<{ memory: MemoryUsage }>("measure")).memory;
}

async function request<Body extends FromGateway>(message: ToGateway): Promise<Body> {
  const reply = once(gateway, "message");
  gateway.send(message);
  const [body] = (await reply) as [Body];
  return body;
}

/** Returns the median growth between measurements, which ignores a cache that fills or empties once. */
function computeGrowthPerRound(bytes: readonly number[]): number {
  const steps = bytes.slice(1).map((size, index) => size - (bytes[index] ?? 0));
  return steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
}

function findNewResources(
  before: MemoryUsage | undefined,
  after: MemoryUsage | undefined,
): string[] {
  return Object.entries(after?.resources ?? {}).flatMap(([kind, count]) => {
    const countBefore = before?.resources[kind] ?? 0;
    return count > countBefore ? [`${kind}: ${countBefore} before, ${count} now`] : [];
  });
}

function printMeasurement(name: string, measurements: MemoryUsage | undefined): void {
  if (measurements === undefined) return;
  const { heapBytes, bufferBytes, residentBytes, resources } = measurements;
  const resourceCounts = Object.entries(resources).map(([kind, count]) => `${count} ${kind}`);
  printRow(
    name,
    ...[heapBytes, bufferBytes, residentBytes].map(formatMegabytes),
    resourceCounts.join(", "),
  );
}

function printRow(name: string, ...cells: string[]): void {
  console.log(`  ${name.padEnd(16)} ${cells.map((cell) => cell.padStart(10)).join("  ")}`);
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(2)} MB`;
}
