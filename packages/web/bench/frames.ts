import { quantile } from "../../../bench/measure.ts";
import { now, startRecording, stopRecording, type Recording } from "./probe.ts";
import type { Tab } from "./scene.ts";

/** How a page was drawn for a while. */
export interface Frames {
  seconds: number;
  perSecond: number;
  /** How often something new was put into it, a second. */
  changes: number;
  /** Between two frames, in ms. */
  p95: number;
  p99: number;
  longest: number;
  /** Of what kept the main thread for more than 50 ms. */
  longestTask: number;
  over50: number;
  over100: number;
  /** Ms of the main thread for each frame: all, and the parts of it. */
  busy: number;
  script: number;
  style: number;
  layout: number;
}

/**
 * Records a tab while something is done in it. Frames are counted until that has been done, long tasks and the main
 * thread's time until `settlingMs` later as well: what was put off counts.
 */
export async function recorded(
  tab: Tab,
  run: () => Promise<void>,
  settlingMs = 500,
): Promise<Frames> {
  const { page } = tab;
  await page.evaluate(startRecording);
  const before = await mainThread(tab);
  const begun = await page.evaluate(now);
  await run();
  const ended = await page.evaluate(now);
  await page.waitForTimeout(settlingMs);
  const after = await mainThread(tab);
  return framesOf(await page.evaluate(stopRecording), begun, ended, before, after);
}

type Spent = Record<
  "TaskDuration" | "ScriptDuration" | "RecalcStyleDuration" | "LayoutDuration",
  number
>;

async function mainThread({ cdp }: Tab): Promise<Spent> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value * 1000])) as Spent;
}

function framesOf(
  { frames, tasks, changes }: Recording,
  begun: number,
  ended: number,
  before: Spent,
  after: Spent,
): Frames {
  const within = frames.filter((at) => at >= begun && at <= ended);
  const gaps = within.slice(1).map((at, nth) => at - (within[nth] ?? at));
  const seconds = ((within.at(-1) ?? NaN) - (within[0] ?? NaN)) / 1000;
  const ms = tasks.filter(({ at }) => at >= begun).map((task) => task.ms);
  const each = (name: keyof Spent) => (after[name] - before[name]) / frames.length;
  return {
    seconds,
    perSecond: gaps.length / seconds,
    changes: changes.filter((at) => at >= begun && at <= ended).length / seconds,
    p95: quantile(gaps, 0.95),
    p99: quantile(gaps, 0.99),
    longest: Math.max(...gaps),
    longestTask: Math.max(0, ...ms),
    over50: ms.filter((one) => one > 50).length,
    over100: ms.filter((one) => one > 100).length,
    busy: each("TaskDuration"),
    script: each("ScriptDuration"),
    style: each("RecalcStyleDuration"),
    layout: each("LayoutDuration"),
  };
}
