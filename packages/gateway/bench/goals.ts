import type { Goal } from "../../../bench/report.ts";
import type { MemoryRow } from "./memory.ts";
import type { Summary } from "./report.ts";
import type { StartRow } from "./start.ts";

/** All targets under one kind of load. */
export interface MeasuredLoad {
  name: "flat text" | "flat tools" | "paced text" | "paced tools";
  summaries: Summary[];
}

/** The target that translates: a Responses client on a Chat upstream. */
const translating = "translate";
const mostCpu: Record<MeasuredLoad["name"], number> = {
  "flat text": 2,
  "flat tools": 2.5,
  "paced text": 1.3,
  "paced tools": 1.3,
};
const mostLag = 1;
const mostMemory = 1.2;
const mostStart = 400;

/** A goal is left out if what it needs was not measured. */
export function goalsOf(
  loads: readonly MeasuredLoad[],
  memory: readonly MemoryRow[],
  start: readonly StartRow[],
): Goal[] {
  return [
    ...loads.flatMap(cpuGoal),
    ...loads.flatMap(lagGoal),
    ...memory
      .filter(({ target }) => target.name === translating)
      .map(({ perStream, timesPipe }) => ({
        goal: `translating, memory per stream ≤ ${mostMemory}x of the byte pipe`,
        met: timesPipe <= mostMemory,
        measured: `${timesPipe.toFixed(2)}x, ${(perStream / 1024).toFixed(1)} KiB`,
      })),
    ...start
      .filter(({ target }) => target.name === translating)
      .map(({ healthy, ready = healthy }) => ({
        goal: `ready within ${mostStart} ms of the start of node, warm compile cache`,
        met: ready <= mostStart,
        measured: `${ready.toFixed(0)} ms`,
      })),
  ];
}

function cpuGoal({ name, summaries }: MeasuredLoad): Goal[] {
  const ours = summaryOf(summaries, translating);
  const strictest = summaryOf(summaries, "pipe-undici");
  if (ours === undefined || Number.isNaN(ours.timesPipe)) return [];
  const beside =
    strictest === undefined
      ? ""
      : `, ${(ours.cpu / strictest.cpu).toFixed(2)}x of the pipe over undici`;
  return [
    {
      goal: `translating, ${name}: CPU per chunk ≤ ${mostCpu[name]}x of the byte pipe`,
      met: ours.timesPipe <= mostCpu[name],
      measured: `${ours.timesPipe.toFixed(2)}x${beside}`,
    },
  ];
}

function lagGoal({ name, summaries }: MeasuredLoad): Goal[] {
  const [ours, pipe] = [translating, "pipe"].map((target) => summaryOf(summaries, target));
  if (ours === undefined || pipe === undefined) return [];
  const added = ours.lag.p50 - pipe.lag.p50;
  return [
    {
      goal: `translating, ${name}: lag p50 within ${mostLag} ms of the byte pipe`,
      met: added <= mostLag,
      measured:
        `${signed(added)} ms (${ours.lag.p50.toFixed(2)} beside ${pipe.lag.p50.toFixed(2)}); ` +
        `p99 ${ours.lag.p99.toFixed(2)} beside ${pipe.lag.p99.toFixed(2)}`,
    },
  ];
}

function summaryOf(summaries: readonly Summary[], target: string): Summary | undefined {
  return summaries.find((summary) => summary.target === target);
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}
