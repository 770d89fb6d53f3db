import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const sampleMs = 400;
const maxOtherLoad = 0.1;

/** Returns the CPU use while the benchmark is idle, from 0 to 1. */
async function measureOtherLoad(): Promise<number> {
  const before = readCpuTimes();
  await sleep(sampleMs);
  const after = readCpuTimes();
  const busy = after.busy - before.busy;
  return busy / (busy + after.idle - before.idle);
}

/** Waits until other processes use little CPU, at most `timeoutMs`. Returns their last measured load. */
export async function waitForIdleMachine(timeoutMs: number): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  let load = await measureOtherLoad();
  while (load > maxOtherLoad && performance.now() < deadline) load = await measureOtherLoad();
  return load;
}

/** Returns ticks of all processors since boot. */
function readCpuTimes(): { busy: number; idle: number } {
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, ...interrupts] = readFileSync(
    "/proc/stat",
    "utf8",
  )
    .split("\n", 1)
    .join("")
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = [user, nice, system, ...interrupts].reduce((sum, ticks) => sum + ticks, 0);
  return { busy, idle: idle + ioWait };
}
