/*
 * npm run check:leak [-- STREAMS]
 * Runs 10,000 streams of every kind through one gateway: finished, left, failed, refused, retried, on both wires. The heap
 * must not grow with them, and sockets and timers have to be as they were. Prints what was held after each round, and
 * exits with 1 on a leak.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent } from "node:http";
import { setTimeout as after } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runStream, startLeakUpstream, streamKinds } from "./leak-streams.ts";
import type { FromGateway, Held, ToGateway } from "./measured-gateway.ts";

const total = Number(process.argv[2] ?? 10_000);
const rounds = 5;
const atOnce = 40;
/** Beyond this the run counts as hung. */
const mostMinutes = 5;
/** What a stream may leave behind on average: less than any object that knows of it. */
const mostBytesPerStream = 64;
/** Kept connections close after 4 s, and what was abandoned after its grace. */
const settleMs = 6_000;

const hung = setTimeout(() => {
  console.log(`FAILED: not done after ${mostMinutes} minutes`);
  process.exit(1);
}, mostMinutes * 60_000);

const upstream = await startLeakUpstream();
const gateway = fork(fileURLToPath(new URL("measured-gateway.ts", import.meta.url)), {
  execArgv: ["--conditions=@deltawire/source", "--expose-gc"],
});
try {
  process.exitCode = (await check()) ? 0 : 1;
} finally {
  gateway.kill();
  await upstream.close();
  clearTimeout(hung);
}

async function check(): Promise<boolean> {
  const { url } = await asked<{ url: string }>({ toml: upstream.toml });
  const perRound = Math.ceil(total / rounds);
  const counts = new Map<string, number>(streamKinds.map((kind) => [kind, 0]));
  // What is made once, at first use, is no leak: a round to warm up does not count.
  await streams(url, 0, perRound, new Map());
  const held = [await settled()];
  row("", "heap", "buffers", "resident");
  show("warmed up", held[0]);
  const began = performance.now();
  for (let round = 1; round <= rounds; round += 1) {
    await streams(url, round * perRound, perRound, counts);
    held.push(await settled());
    show(`${round * perRound} streams`, held.at(-1));
  }
  const seconds = (performance.now() - began) / 1000;

  for (const [kind, count] of counts) console.log(`  ${kind.padEnd(40)} ${count}`);
  const growth = growthPerRound(held.map(({ heapBytes, bufferBytes }) => heapBytes + bufferBytes));
  const perStream = growth / perRound;
  const faults = [
    ...(perStream > mostBytesPerStream
      ? [`each stream leaves ${perStream.toFixed(0)} bytes behind`]
      : []),
    ...newResources(held[0], held.at(-1)),
    ...[...counts].flatMap(([kind, count]) => (count === 0 ? [`no stream was ${kind}`] : [])),
  ];
  console.log(
    `${rounds * perRound} streams in ${seconds.toFixed(0)} s; ${perStream.toFixed(1)} bytes more a stream, at most ${mostBytesPerStream} are allowed`,
  );
  for (const fault of faults) console.log(`FAILED: ${fault}`);
  if (faults.length === 0) console.log("no leak");
  return faults.length === 0;
}

async function streams(
  url: string,
  from: number,
  count: number,
  counts: Map<string, number>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  let next = from;
  const work = async (): Promise<void> => {
    while (next < from + count) {
      const nth = next;
      next += 1;
      const kind = streamKinds[nth % streamKinds.length] ?? "";
      const fault = await runStream(url, kind, nth, agent);
      if (fault !== undefined) throw new Error(`a stream that was to be ${kind}: ${fault}`);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, work));
  } finally {
    agent.destroy();
  }
}

async function settled(): Promise<Held> {
  await after(settleMs);
  return (await asked<{ held: Held }>("measure")).held;
}

async function asked<Answer extends FromGateway>(message: ToGateway): Promise<Answer> {
  const answered = once(gateway, "message");
  gateway.send(message);
  const [answer] = (await answered) as [Answer];
  return answer;
}

/** The usual growth from one measurement to the next: a cache that fills or empties once is no part of it. */
function growthPerRound(bytes: readonly number[]): number {
  const steps = bytes.slice(1).map((each, at) => each - (bytes[at] ?? 0));
  return steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
}

function newResources(before: Held | undefined, now: Held | undefined): string[] {
  return Object.entries(now?.resources ?? {}).flatMap(([kind, count]) => {
    const was = before?.resources[kind] ?? 0;
    return count > was ? [`${kind}: ${was} before, ${count} now`] : [];
  });
}

function show(name: string, held: Held | undefined): void {
  if (held === undefined) return;
  const { heapBytes, bufferBytes, residentBytes, resources } = held;
  const open = Object.entries(resources).map(([kind, count]) => `${count} ${kind}`);
  row(name, ...[heapBytes, bufferBytes, residentBytes].map(megabytes), open.join(", "));
}

function row(name: string, ...cells: string[]): void {
  console.log(`  ${name.padEnd(16)} ${cells.map((cell) => cell.padStart(10)).join("  ")}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(2)} MB`;
}
