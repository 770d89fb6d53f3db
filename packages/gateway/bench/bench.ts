import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { evaluateGoals, type MeasuredLoad } from "./goals.ts";
import { printGoals, formatMs, printTable, formatRatio } from "../../../bench/report.ts";
import type { LoadOrder } from "./load.ts";
import { describeLoad, machineDescription } from "../../../bench/machine.ts";
import { readOpenFilesLimit } from "../../../bench/measure.ts";
import { measureMemory, printMemory, type MemoryRow } from "./memory.ts";
import { createBenchEnvironment } from "../../../bench/processes.ts";
import { printLoad, summarize, type Row, type Summary } from "./report.ts";
import { startBenchProcesses, type BenchProcesses } from "./bench-processes.ts";
import { measureStart, printStart, type StartRow } from "./start.ts";
import { startTarget, targets, type RunningTarget, type Target } from "./targets.ts";

/*
 * npm run bench:gateway [-- --quick] [-- --messages] [-- --only NAME,…] [-- --json FILE]
 *
 * A measurement, not a test: it prints which goals are met and exits with 0 either way; with 1 if a stream was not forwarded
 * completely. Names for --only: flat, paced, memory, start, and the targets. --messages: only targets with the Messages API. All traffic stays on this machine.
 */

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    messages: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "string" },
  },
});

const effort = options.quick
  ? {
      flat: { rounds: 3, duration: 250, warmUp: 250, kinds: ["text", "tools"] as const },
      paced: { rounds: 3, window: 500, ramp: 200, kinds: ["text"] as const },
      memory: { stops: [1000], settling: 700 },
      start: { rounds: 3 },
      limit: 90,
    }
  : {
      flat: { rounds: 10, duration: 450, warmUp: 700, kinds: ["text", "tools"] as const },
      paced: { rounds: 6, window: 1200, ramp: 300, kinds: ["text", "tools"] as const },
      memory: { stops: [1000, 5000], settling: 2000 },
      start: { rounds: 5 },
      limit: 480,
    };

type Load = Pick<LoadOrder, "shape" | "streams" | "run">;
type Section = (typeof sections)[number];

/** Milliseconds between two chunks of a paced stream. */
const pace = 40;
const title = { text: "Text", tools: "Tool calls" };
const sections = ["flat", "paced", "memory", "start"] as const;
const { selectedSections, selectedTargets } = selectSections(options.only?.split(",") ?? []);
/** Targets that have failed are removed. */
let activeTargets = selectedTargets;
const notes: string[] = [];
const failures: string[] = [];

if (process.platform !== "linux") {
  console.error("The bench reads processor time and memory from /proc: it needs Linux.");
  process.exit(1);
}
console.log(`${machineDescription}${options.quick ? ", quick run: fewer and shorter rounds" : ""}`);
console.log(
  "Medians of interleaved rounds and ratios of medians; ± is half the interquartile range. Lower is better.",
);

const load = describeLoad();
if (load !== undefined) notes.push(`other programs were running (${load} at the start)`);

const startedAt = performance.now();
const environment = createBenchEnvironment((effort.limit + 30) * 1000);

try {
  const processes = await startBenchProcesses(environment);
  const loads = await measureLoads(processes);
  const stops = listStreamCounts();
  const memory = selectedSections.has("memory")
    ? await measureMemory(
        environment,
        processes,
        activeTargets,
        { ...effort.memory, stops },
        skipTarget,
      )
    : [];
  if (memory.length > 0) printMemory(memory, stops);
  const start = selectedSections.has("start")
    ? await measureStart(
        environment,
        activeTargets,
        processes.upstreamPort,
        effort.start.rounds,
        skipTarget,
      )
    : [];
  if (start.length > 0) printStart(start);

  const goals = evaluateGoals(loads, memory, start);
  printSummary(loads, memory, start);
  for (const note of notes) console.log(`  Note: ${note}`);
  for (const failure of failures) console.log(`  FAILED: ${failure}`);
  console.log(`\nGoals (after ${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
  printGoals(goals);
  const figures = {
    machine: machineDescription,
    quick: options.quick,
    loads,
    memory,
    start,
    goals,
    notes,
    failures,
  };
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  if (failures.length > 0) process.exitCode = 1;
} finally {
  environment.close();
}

function selectSections(only: readonly string[]) {
  const isSection = (name: string): name is Section =>
    (sections as readonly string[]).includes(name);
  const isTarget = (name: string) => targets.some((target) => target.name === name);
  const unknown = only.find((name) => !isSection(name) && !isTarget(name));
  if (unknown !== undefined)
    throw new Error(
      `--only ${unknown}: must be one of ${[...sections, ...targets.map(({ name }) => name)].join(", ")}`,
    );
  const named = targets.filter(
    ({ name, isMessages = false }) => only.includes(name) || (options.messages && isMessages),
  );
  const floors = new Set(named.map(({ floor }) => floor));
  return {
    selectedSections: new Set<Section>(only.some(isSection) ? only.filter(isSection) : sections),
    selectedTargets: targets.filter(
      (target) =>
        (named.length === 0 && target.isMessages !== true) ||
        named.includes(target) ||
        floors.has(target.name),
    ),
  };
}

async function measureLoads(processes: BenchProcesses): Promise<MeasuredLoad[]> {
  const { flat, paced } = effort;
  const loads: MeasuredLoad[] = [];
  if (!selectedSections.has("flat") && !selectedSections.has("paced")) return loads;
  const running = await startAll(processes);
  const flatOut = (kind: "text" | "tools", duration: number): Load => ({
    shape: { kind, chunks: 1000, pace: 0 },
    streams: 20,
    run: { mode: "flat", duration },
  });
  // Warm-up, so that everything in Node is compiled.
  for (const kind of flat.kinds) await runRounds(processes, running, flatOut(kind, flat.warmUp), 1);
  for (const kind of selectedSections.has("flat") ? flat.kinds : []) {
    const load = flatOut(kind, flat.duration);
    const summaries = await runRounds(processes, running, load, flat.rounds);
    printLoad(`${title[kind]}: 20 streams flat out, ${flat.rounds} rounds`, summaries);
    loads.push({ name: `flat ${kind}`, summaries });
  }
  for (const kind of selectedSections.has("paced") ? paced.kinds : []) {
    const { ramp, window, rounds } = paced;
    // Long enough for a slow start; the rest after the window is sent immediately.
    const chunks = Math.ceil((ramp + window + 4000) / pace);
    const load: Load = {
      shape: { kind, chunks, pace },
      streams: 200,
      run: { mode: "paced", ramp, window },
    };
    const summaries = await runRounds(processes, running, load, rounds);
    const rate = 1000 / pace;
    printLoad(
      `${title[kind]}: 200 streams of ${rate} chunks a second, ${rounds} rounds`,
      summaries,
    );
    loads.push({ name: `paced ${kind}`, summaries });
  }
  for (const { started } of running) await environment.stop(started);
  return loads;
}

async function startAll(processes: BenchProcesses): Promise<RunningTarget[]> {
  const running: RunningTarget[] = [];
  for (const target of activeTargets) {
    try {
      running.push(await startTarget(environment, target, processes.upstreamPort));
    } catch (error) {
      skipTarget(target, error);
    }
  }
  return running;
}

/** Runs the targets in turns, every other round in reverse: temporary slowdowns of the machine affect all targets. */
async function runRounds(
  processes: BenchProcesses,
  running: readonly RunningTarget[],
  load: Load,
  rounds: number,
): Promise<Summary[]> {
  const rows = new Map<RunningTarget, Row>(
    running.map((process) => [process, { target: process.target, rounds: [] }]),
  );
  for (let round = 0; round < rounds; round += 1) {
    for (const one of round % 2 === 0 ? running : running.toReversed()) {
      if (!activeTargets.includes(one.target)) continue;
      try {
        rows.get(one)?.rounds.push(await processes.runLoad(one, load));
      } catch (error) {
        skipTarget(one.target, error);
      }
    }
  }
  return summarize([...rows.values()].filter(({ target }) => activeTargets.includes(target)));
}

/** Each stream needs two file descriptors at the target. */
function listStreamCounts(): number[] {
  const most = Math.floor((readOpenFilesLimit() - 200) / 2);
  const stops = effort.memory.stops.filter((count) => count <= most);
  if (stops.length === effort.memory.stops.length) return stops;
  notes.push(`only ${most} streams can be open at a time: ulimit -n is ${readOpenFilesLimit()}`);
  return [...stops, most];
}

function skipTarget(target: Target, error: unknown): void {
  const why = `${target.title}: ${error instanceof Error ? error.message : String(error)}`;
  if (target.optional === true) notes.push(`skipped: ${why}`);
  else failures.push(why);
  activeTargets = activeTargets.filter((active) => active !== target);
}

function printSummary(
  loads: readonly MeasuredLoad[],
  memory: readonly MemoryRow[],
  start: readonly StartRow[],
): void {
  printTable(
    "Summary: CPU per chunk and memory per stream as multiples of the byte pipe, lag (p50) and start in ms",
    [
      "",
      ...loads.map(({ name }) => name),
      ...loads.map(({ name }) => `lag ${name}`),
      "memory",
      "start",
    ],
    activeTargets.map((target) => {
      const summaries = loads.map(({ summaries }) =>
        summaries.find((summary) => summary.target === target.name),
      );
      return [
        target.title,
        ...summaries.map((summary) => formatRatio(summary?.timesPipe)),
        ...summaries.map((summary) => (summary === undefined ? "–" : formatMs(summary.lag.p50))),
        formatRatio(memory.find((row) => row.target === target)?.timesPipe),
        start.find((row) => row.target === target)?.healthy.toFixed(0) ?? "–",
      ];
    }),
  );
}
