import { readFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";

const sampleMs = 400;
const quiet = 0.1;

/** What others do with the processors while the bench does nothing, from 0 to 1. */
async function busyWithOthers(): Promise<number> {
  const before = spent();
  await after(sampleMs);
  const now = spent();
  const busy = now.busy - before.busy;
  return busy / (busy + now.idle - before.idle);
}

/** Waits until they do little, for so long at most. Answers with what they did at last. */
export async function whenOthersRest(patienceMs: number): Promise<number> {
  const until = performance.now() + patienceMs;
  let busy = await busyWithOthers();
  while (busy > quiet && performance.now() < until) busy = await busyWithOthers();
  return busy;
}

/** In ticks, of all processors since they were started. */
function spent(): { busy: number; idle: number } {
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...interrupts] = readFileSync(
    "/proc/stat",
    "utf8",
  )
    .split("\n", 1)
    .join("")
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = [user, nice, system, ...interrupts].reduce((sum, one) => sum + one, 0);
  return { busy, idle: idle + waiting };
}
