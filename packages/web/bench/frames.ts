import { quantile } from "../../../bench/measure.ts";
import { readClock, startRecording, stopRecording, type Recording } from "./probe.ts";
import type { Tab } from "./bench-fixture.ts";

/** Rendering performance of a page over some seconds. */
export interface FrameStats {
  seconds: number;
  perSecond: number;
  /** DOM mutations per second. */
  changes: number;
  /** Time between two frames, in ms. */
  p95: number;
  p99: number;
  longest: number;
  /** Long tasks (over 50 ms): the longest in ms, and their number. */
  longestTask: number;
  over50: number;
  over100: number;
  /** Main thread time per frame in ms: total and parts. */
  busy: number;
  script: number;
  style: number;
  layout: number;
}

/**
 * Records a tab while `run` runs. Frames are counted until it ends; long tasks and main thread time until `settlingMs` later,
 * to include deferred work.
 */
export async function recordFrames(
  tab: Tab,
  run: () => Promise<void>,
  settlingMs = 500,
): Promise<FrameStats> {
  const { page } = tab;
  await page.evaluate(startRecording);
  const before = await readMainThreadTimes(tab);
  const startedAt = await page.evaluate(readClock);
  await run();
  const endedAt = await page.evaluate(readClock);
  await page.waitForTimeout(settlingMs);
  const after = await readMainThreadTimes(tab);
  return toFrameStats(await page.evaluate(stopRecording), startedAt, endedAt, before, after);
}

/** In ms. */
type MainThreadTimes = Record<
  "TaskDuration" | "ScriptDuration" | "RecalcStyleDuration" | "LayoutDuration",
  number
>;

async function readMainThreadTimes({ cdp }: Tab): Promise<MainThreadTimes> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  const entries = metrics.map(({ name, value }) => [name, value * 1000]);
  return Object.fromEntries(entries) as MainThreadTimes;
}

function toFrameStats(
  { frames, tasks, changes }: Recording,
  startedAt: number,
  endedAt: number,
  before: MainThreadTimes,
  after: MainThreadTimes,
): FrameStats {
  const isInRun = (time: number) => time >= startedAt && time <= endedAt;
  const times = frames.filter(isInRun);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  const seconds = ((times.at(-1) ?? NaN) - (times[0] ?? NaN)) / 1000;
  const taskMs = tasks.filter((task) => task.startedAt >= startedAt).map(({ ms }) => ms);
  const perFrame = (name: keyof MainThreadTimes) => (after[name] - before[name]) / frames.length;
  return {
    seconds,
    perSecond: gaps.length / seconds,
    changes: changes.filter(isInRun).length / seconds,
    p95: quantile(gaps, 0.95),
    p99: quantile(gaps, 0.99),
    longest: Math.max(...gaps),
    longestTask: Math.max(0, ...taskMs),
    over50: taskMs.filter((ms) => ms > 50).length,
    over100: taskMs.filter((ms) => ms > 100).length,
    busy: perFrame("TaskDuration"),
    script: perFrame("ScriptDuration"),
    style: perFrame("RecalcStyleDuration"),
    layout: perFrame("LayoutDuration"),
  };
}
