import { parseArgs } from "node:util";
import { printGoals, type Goal } from "../../../bench/report.ts";
import { machineDescription, printMeasurementWarnings } from "../../../bench/machine.ts";
import { createBenchEnvironment, waitForMessage } from "../../../bench/processes.ts";
import { measureCatchUp } from "./tasks/catch-up.ts";
import { measureMemory } from "./tasks/memory.ts";
import { buildNodeArguments, startModel, startGatewayProcess } from "./tasks/gateway-process.ts";
import { measureThroughput } from "./tasks/throughput.ts";

/*
 * npm run bench:tasks [-- --quick] [-- --only NAME,…]
 *
 * A measurement, not a test: it prints which goals are met and exits with 0 either way; with 1 if a stream was not complete.
 * Names for --only: pure, log, gateway, memory. All traffic stays on this machine.
 */

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string" } },
});
const sections = ["pure", "log", "gateway", "memory"] as const;
const selectedSections = new Set<string>(options.only?.split(",") ?? sections);
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
console.log(`${machineDescription}${options.quick ? ", quick run: fewer and shorter rounds" : ""}`);
console.log(
  "Medians of interleaved rounds; ± is half the interquartile range. Without disk and network it is CPU time.",
);

const startedAt = performance.now();
const environment = createBenchEnvironment(effort.limit * 1000);
printMeasurementWarnings(environment.folder);

try {
  const goals: Goal[] = [];
  if (selectedSections.has("pure")) {
    const quick = options.quick ? ["--quick"] : [];
    goals.push(...(await runInProcess("pure", "../../../tasks/bench/bench.ts", ...quick)));
  }
  if (selectedSections.has("log"))
    goals.push(...(await runInProcess("log", "log.ts", environment.folder, String(effort.log))));
  if (selectedSections.has("gateway") || selectedSections.has("memory"))
    goals.push(...(await measureOverHttp()));
  console.log(`\nGoals (after ${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
  printGoals(goals);
} finally {
  environment.close();
}

/** Runs a part in a new process. It prints its tables and sends its goals. */
async function runInProcess(name: string, file: string, ...args: string[]): Promise<Goal[]> {
  const started = environment.start(name, buildNodeArguments(file, ...args), { ipc: true });
  const { goals } = (await waitForMessage(started)) as { goals: Goal[] };
  process.stdout.write(started.log());
  await environment.stop(started);
  return goals;
}

async function measureOverHttp(): Promise<Goal[]> {
  const goals: Goal[] = [];
  const { talk, rounds } = effort.throughput;
  const modelPort = await startModel(environment);
  if (selectedSections.has("gateway")) {
    const gatewayProcess = await startGatewayProcess(environment, "gateway", modelPort);
    goals.push(...(await measureThroughput(gatewayProcess, talk, rounds)));
    goals.push(
      ...(await measureCatchUp(environment, gatewayProcess, "talk-10-9990", effort.catchUp)),
    );
    await environment.stop(gatewayProcess.started);
  }
  if (selectedSections.has("memory")) {
    const gatewayProcess = await startGatewayProcess(environment, "idle", modelPort);
    await measureMemory(environment, gatewayProcess, effort.idle);
    await environment.stop(gatewayProcess.started);
  }
  return goals;
}
