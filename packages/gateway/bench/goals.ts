import type { Goal } from "../../../bench/report.ts";
import type { MemoryRow } from "./memory.ts";
import type { Summary } from "./report.ts";
import type { StartRow } from "./start.ts";

/** All targets under one kind of load. */
export interface MeasuredLoad {
  name: "flat text" | "flat tools" | "paced text" | "paced tools";
  summaries: Summary[];
}

/** The target with translation: a Responses client on a Chat upstream. */
const translatingTarget = "translate";
/** All targets with translation, and what they translate. */
const translations: Readonly<Record<string, string>> = {
  [translatingTarget]: "translating",
  "messages-chat": "Messages → Chat",
  "messages-responses": "Messages → Responses",
  "responses-messages": "Responses → Messages",
  "chat-messages": "Chat → Messages",
};
const maxCpu: Record<MeasuredLoad["name"], number> = {
  "flat text": 2,
  "flat tools": 2.5,
  "paced text": 1.3,
  "paced tools": 1.3,
};
const maxLag = 1;
const maxMemory = 1.2;
const maxStart = 400;

/** Goals without measurements are omitted. */
export function evaluateGoals(
  loads: readonly MeasuredLoad[],
  memory: readonly MemoryRow[],
  start: readonly StartRow[],
): Goal[] {
  return [
    ...loads.flatMap(evaluateCpuGoals),
    ...loads.flatMap(evaluateLagGoal),
    ...memory
      .filter(({ target }) => target.name === translatingTarget)
      .map(({ perStream, timesPipe }) => ({
        description: `translating, memory per stream ≤ ${maxMemory}x of the byte pipe`,
        isMet: timesPipe <= maxMemory,
        measured: `${timesPipe.toFixed(2)}x, ${(perStream / 1024).toFixed(1)} KiB`,
      })),
    ...start
      .filter(({ target }) => target.name === translatingTarget)
      .map(({ healthy, ready = healthy }) => ({
        description: `ready within ${maxStart} ms of the start of node, warm compile cache`,
        isMet: ready <= maxStart,
        measured: `${ready.toFixed(0)} ms`,
      })),
  ];
}

function evaluateCpuGoals(load: MeasuredLoad): Goal[] {
  return Object.keys(translations).flatMap((target) => evaluateCpuGoal(target, load));
}

function evaluateCpuGoal(target: string, { name, summaries }: MeasuredLoad): Goal[] {
  const ours = findSummary(summaries, target);
  const strictest = findSummary(summaries, "pipe-undici");
  if (ours === undefined || Number.isNaN(ours.timesPipe)) return [];
  const comparison =
    strictest === undefined
      ? ""
      : `, ${(ours.cpu / strictest.cpu).toFixed(2)}x of the pipe over undici`;
  return [
    {
      description: `${translations[target]}, ${name}: CPU per chunk ≤ ${maxCpu[name]}x of the byte pipe`,
      isMet: ours.timesPipe <= maxCpu[name],
      measured: `${ours.timesPipe.toFixed(2)}x${comparison}`,
    },
  ];
}

function evaluateLagGoal({ name, summaries }: MeasuredLoad): Goal[] {
  const [ours, pipe] = [translatingTarget, "pipe"].map((target) => findSummary(summaries, target));
  if (ours === undefined || pipe === undefined) return [];
  const added = ours.lag.p50 - pipe.lag.p50;
  return [
    {
      description: `translating, ${name}: lag p50 within ${maxLag} ms of the byte pipe`,
      isMet: added <= maxLag,
      measured:
        `${formatSigned(added)} ms (${ours.lag.p50.toFixed(2)} vs ${pipe.lag.p50.toFixed(2)}); ` +
        `p99 ${ours.lag.p99.toFixed(2)} vs ${pipe.lag.p99.toFixed(2)}`,
    },
  ];
}

function findSummary(summaries: readonly Summary[], target: string): Summary | undefined {
  return summaries.find((summary) => summary.target === target);
}

function formatSigned(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}
