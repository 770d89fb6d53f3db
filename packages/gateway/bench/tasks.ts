import { parseArgs } from "node:util";
import { printGoals, type Goal } from "../../../bench/report.ts";
import { machine, printDoubts } from "../../../bench/machine.ts";
import { guardedWorkshop, nextMessage } from "../../../bench/processes.ts";
import { measureCatchUp } from "./tasks/catch-up.ts";
import { measureMemory } from "./tasks/memory.ts";
import { nodeFile, startModel, startScene } from "./tasks/scene.ts";
import { measureThroughput } from "./tasks/throughput.ts";

/*
 * npm run bench:tasks [-- --quick] [-- --only NAME,…]
 *
 * A measurement, not a test: it says which goals are met and ends with 0 either way; with 1 if a stream was not whole.
 * Names for --only: pure, log, gateway, memory. All traffic stays on this machine.
 */

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string" } },
});
const sections = ["pure", "log", "gateway", "memory"] as const;
const wanted = new Set<string>(options.only?.split(",") ?? sections);
const effort = options.quick
  ? ({
      log: 2,
      throughput: { talk: "talk-5-2000", rounds: 2 },
      catchUp: 2,
      idle: 200,
      limit: 180,
    } as const)
  : ({
      log: 7,
      throughput: { talk: "talk-5-4000", rounds: 5 },
      catchUp: 5,
      idle: 1000,
      limit: 420,
    } as const);

if (process.platform !== "linux") {
  console.error("The bench reads memory from /proc: it needs Linux.");
  process.exit(1);
}
console.log(`${machine}${options.quick ? ", quick run: fewer and shorter rounds" : ""}`);
console.log(
  "Medians of interleaved rounds; ± is half the distance of the quartiles. Without disk and network it is processor time.",
);

const begun = performance.now();
const workshop = guardedWorkshop(effort.limit * 1000);
printDoubts(workshop.folder);

try {
  const goals: Goal[] = [];
  if (wanted.has("pure")) {
    const quick = options.quick ? ["--quick"] : [];
    goals.push(...(await ranApart("pure", "../../../tasks/bench/bench.ts", ...quick)));
  }
  if (wanted.has("log"))
    goals.push(...(await ranApart("log", "log.ts", workshop.folder, String(effort.log))));
  if (wanted.has("gateway") || wanted.has("memory")) goals.push(...(await behindHttp()));
  console.log(`\nGoals (after ${((performance.now() - begun) / 1000).toFixed(0)} s)`);
  printGoals(goals);
} finally {
  workshop.close();
}

/** A part that prints its tables and then tells its goals, in a process that did nothing else. */
async function ranApart(name: string, file: string, ...args: string[]): Promise<Goal[]> {
  const started = workshop.start(name, nodeFile(file, ...args), { ipc: true });
  const { goals } = (await nextMessage(started)) as { goals: Goal[] };
  process.stdout.write(started.log());
  await workshop.stop(started);
  return goals;
}

async function behindHttp(): Promise<Goal[]> {
  const goals: Goal[] = [];
  const { talk, rounds } = effort.throughput;
  const modelPort = await startModel(workshop);
  if (wanted.has("gateway")) {
    const scene = await startScene(workshop, "gateway", modelPort);
    goals.push(...(await measureThroughput(scene, talk, rounds)));
    goals.push(...(await measureCatchUp(workshop, scene, "talk-10-9990", effort.catchUp)));
    await workshop.stop(scene.started);
  }
  if (wanted.has("memory")) {
    const scene = await startScene(workshop, "idle", modelPort);
    await measureMemory(workshop, scene, effort.idle);
    await workshop.stop(scene.started);
  }
  return goals;
}
