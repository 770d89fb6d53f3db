/*
 * Loaded into the gateway's process with `--import`, for `attack.ts`: measures what cannot be observed from outside.
 *
 * A block is the processor time of the main thread between two ticks of a timer. Processor time and not wall time: on a
 * machine that is busy with something else a process waits without doing anything. Worker threads do not count.
 */
import { readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/** A turn of the event loop that used much processor time. */
export interface Block {
  /** Wall time at its end, in milliseconds since 1970, and its wall time. */
  endedAt: number;
  wallMs: number;
  cpuMs: number;
}

export interface Measurement {
  /** The blocks of at least `reportedMs` since the last measurement. */
  blocks: Block[];
  longestMs: number;
  rssBytes: number;
  /** The maximum since the process started. */
  peakRssBytes: number;
  /** The heap and the buffers outside of it. */
  heapBytes: number;
}

export type ToProbe = { measure: number; collect: boolean };
export type FromProbe = { measured: number; measurement: Measurement };

const tickMs = 10;
const reportedMs = 50;
const maxBlocks = 10_000;

if (isMainThread && process.send !== undefined) startProbe();

function startProbe(): void {
  let blocks: Block[] = [];
  let longestMs = 0;
  let peakRssBytes = 0;
  let usage = process.threadCpuUsage();
  let tickedAt = Date.now();

  const tick = (): void => {
    const { user, system } = process.threadCpuUsage(usage);
    const now = Date.now();
    const cpuMs = (user + system) / 1000;
    longestMs = Math.max(longestMs, cpuMs);
    if (cpuMs >= reportedMs && blocks.length < maxBlocks)
      blocks.push({ endedAt: now, wallMs: now - tickedAt, cpuMs });
    usage = process.threadCpuUsage();
    tickedAt = now;
  };
  setInterval(tick, tickMs).unref();
  const sampleRss = (): number => {
    const rss = process.memoryUsage.rss();
    peakRssBytes = Math.max(peakRssBytes, rss);
    return rss;
  };
  setInterval(sampleRss, 100).unref();

  process.on("message", ({ measure, collect }: ToProbe) => {
    tick();
    // The time of a forced collection is not counted.
    if (collect) {
      for (let pass = 0; pass < 3; pass += 1) globalThis.gc?.();
      usage = process.threadCpuUsage();
      tickedAt = Date.now();
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const measurement: Measurement = {
      blocks,
      longestMs,
      rssBytes: sampleRss(),
      peakRssBytes: Math.max(peakRssBytes, readPeakRssBytes()),
      heapBytes: heapUsed + arrayBuffers,
    };
    blocks = [];
    longestMs = 0;
    const answer: FromProbe = { measured: measure, measurement };
    process.send?.(answer);
  });
  // The gateway must not outlive the attack, and must exit when it is stopped.
  process.once("disconnect", () => process.exit(0));
  process.channel?.unref();
}

/** Returns the peak that Linux reports; 0 on other systems, where the samples are used. */
function readPeakRssBytes(): number {
  try {
    const status = readFileSync("/proc/self/status", "latin1");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
