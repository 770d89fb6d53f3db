/*
 * npm run check:cluster [-- --minutes NUMBER] [--seed NUMBER] [--processes NUMBER] [--without-redis]
 * Starts gateways on one PostgreSQL and one Redis server, all of them real processes, and lets users work with them: tasks that write, run
 * tools, wait for approvals, have sub-agents, or are canceled, and chats. Every request goes to a random process. Meanwhile
 * processes are killed with -9, suspended (briefly, and for longer than their lease), and stopped for an update; PostgreSQL is
 * ended like a failing machine; Redis is killed and suspended. Several of these happen at the same time. Then everything runs
 * again, and
 *   every task that a process has accepted has reached its end, and so have the answers to messages of chats: completed, or
 *   interrupted if the process was killed before it had accepted the message and stored the task;
 *   tools that must run once ran at most once: exactly once if they were approved, not at all if they were denied or stopped before
 *   their start, and as the user found in the ledger if they were interrupted;
 *   all followers and all processes have the same state hash of every task, and the same chats; no follower has a gap left in the
 *   numbers of events;
 *   the tasks of a failed process were held by others within ten seconds.
 * Prints the number of faults, tasks, events, takeovers, and calls. Exits with 1 if any of this is wrong. The seed determines the
 * series of faults and tasks, but not their timing.
 */
import { availableParallelism, loadavg } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { machineDescription } from "../../../bench/machine.ts";
import { quantile } from "../../../bench/measure.ts";
import { Cluster } from "../../../test/cluster/cluster.ts";
import type { ClusterProcess } from "../../../test/cluster/cluster-process.ts";
import { createClusterFollower } from "../../../test/cluster/cluster-follower.ts";
import { explainMissingRedis } from "../../../test/redis-server.ts";
import { createSeededRandom } from "../../../test/seeded-random.ts";
import { Approver } from "./cluster/approver.ts";
import { faultKinds, FaultInjector } from "./cluster/fault-injector.ts";
import { judgeCluster, judgeFollowers } from "./cluster/judge-cluster.ts";
import { LoadBalancer } from "./cluster/load-balancer.ts";
import { Takeovers } from "./cluster/takeovers.ts";
import { Workload } from "./cluster/workload.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    processes: { type: "string", default: "4" },
    "without-redis": { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const userCount = 12;
const followerCount = 6;
const progressMs = 5000;
const maxToolMs = 2000;
/** How many lines of each process are printed if the check hangs. */
const loggedLines = 10;
/** A longer run counts as hung. */
const maxMinutes = minutes + 5;

const startedAt = performance.now();
const loopDelay = monitorEventLoopDelay();
loopDelay.enable();
const faults: string[] = [];
const onFault = (fault: string) => {
  faults.push(fault);
  console.log(`FAILED ${fault} (${formatLoad()})`);
};
const missingRedis = values["without-redis"] ? "--without-redis" : await explainMissingRedis();
console.log(machineDescription);
if (missingRedis !== undefined) console.log(`Without Redis: ${missingRedis}`);

const cluster = await Cluster.start({
  processes: 0,
  paceMs: 4,
  // Long enough that some processes end while a tool runs.
  getToolDelayMs: () => Math.random() * maxToolMs,
  redis: missingRedis === undefined,
});
const stop = async (reason: string) => {
  console.log(`FAILED: ${reason}`);
  await cluster.stop();
  process.exit(1);
};
let listRunning = (): readonly string[] => [];
const hungTimer = setTimeout(() => {
  console.log([...listRunning(), ...cluster.processes.map(describeProcess)].join("\n"));
  void stop(`not done after ${maxMinutes} minutes`);
}, maxMinutes * 60_000);
process.once("SIGINT", () => void stop("interrupted"));
process.once("SIGTERM", () => void stop("terminated"));
try {
  await check();
} catch (error) {
  onFault(error instanceof Error ? String(error.stack) : String(error));
} finally {
  await cluster.stop();
  clearTimeout(hungTimer);
}
console.log(
  `${faults.length === 0 ? "ok" : `${faults.length} FAILED`}, seed ${seed}, in ${formatSeconds()}`,
);
process.exitCode = faults.length === 0 ? 0 : 1;

async function check(): Promise<void> {
  // Each part has its own random numbers, so that the timing of one does not change the choices of another.
  const [balancerRandom, workloadRandom, approverRandom, injectorRandom] = [0, 1, 2, 3].map(
    (part) => createSeededRandom(seed * 4 + part),
  ) as [Random, Random, Random, Random];
  const takeovers = new Takeovers(cluster, onFault);
  for (let count = 0; count < Number(values.processes); count += 1)
    await takeovers.start(await cluster.addProcess());
  const balancer = new LoadBalancer(cluster.processes, balancerRandom);
  const followers = Array.from({ length: followerCount }, () =>
    createClusterFollower(() => balancer.pick().url),
  );
  const approver = new Approver({
    balancer,
    ledger: cluster.ledger,
    random: approverRandom,
    onFault,
  });
  const injector = new FaultInjector({
    cluster,
    balancer,
    takeovers,
    random: injectorRandom,
    onFault,
  });
  listRunning = () => injector.listRunning();
  const workload = new Workload({
    balancer,
    followers,
    random: workloadRandom,
    users: userCount,
    onFault,
  });
  const countEvents = () => followers.reduce((sum, { eventCount }) => sum + eventCount, 0);
  const progress = setInterval(() => {
    const ended = workload.tasks.filter(({ outcome }) => outcome !== undefined).length;
    const failureCount = [...injector.counts.values()].reduce((sum, count) => sum + count, 0);
    console.log(
      `${formatSeconds().padStart(6)}  ${ended} of ${workload.tasks.length} tasks ended, ${workload.chatIds.length} chats, ` +
        `${approver.decisionCount} decisions, ${countEvents()} events received, ${failureCount} failures, ${takeovers.measurements.length} takeovers`,
    );
  }, progressMs);
  try {
    approver.start();
    injector.start();
    const loadEndsAt = performance.now() + minutes * 60_000;
    const failuresEnd = setTimeout(() => void injector.stop().catch(onFault), minutes * 60_000);
    await workload.run(loadEndsAt);
    clearTimeout(failuresEnd);
    await injector.stop();
  } finally {
    clearInterval(progress);
    await approver.stop();
  }
  const judgement = await judgeCluster(cluster, workload);
  const missingEvents = judgeFollowers(followers);
  [...judgement.faults, ...missingEvents].forEach(onFault);

  const outcomes = workload.tasks.map(({ outcome }) => outcome?.status ?? "lost");
  const countOutcomes = (status: string) => outcomes.filter((outcome) => outcome === status).length;
  const takeoverTimes = takeovers.measurements
    .filter(({ hadOutage }) => !hadOutage)
    .map(({ ms }) => ms);
  const takenOverTaskCount = takeovers.measurements.reduce((sum, { tasks }) => sum + tasks, 0);
  const gaps = followers.flatMap((follower) => follower.gaps).length;
  printLine(
    "failures",
    faultKinds.map((kind) => `${kind} ${injector.counts.get(kind) ?? 0}`).join(", "),
  );
  printLine(
    "tasks",
    `${outcomes.length} accepted, ${countOutcomes("completed")} completed, ${countOutcomes("canceled")} canceled, ${countOutcomes("lost")} lost`,
  );
  printLine(
    "chats",
    `${workload.chatIds.length} with ${workload.acceptedTaskIds.size} accepted messages; ${judgement.interruptedAnswers} answers interrupted before their messages were accepted`,
  );
  printLine("events", `${countEvents()} received by two followers of each task`);
  printLine(
    "takeovers",
    `${takeovers.measurements.length} of ${takenOverTaskCount} tasks, p50 ${formatMs(quantile(takeoverTimes, 0.5))}, max ${formatMs(Math.max(...takeoverTimes))} ` +
      `(${takeovers.measurements.length - takeoverTimes.length} during a restart of PostgreSQL not counted)`,
  );
  printLine(
    "tool calls",
    `${cluster.ledger.callCount}, repeated ${cluster.ledger.listRepeated().length}; ${approver.decisionCount} decisions, ${approver.reconciliationCount} of them about interrupted calls`,
  );
  printLine(
    "rules",
    `a tool runs exactly once, or never if it was denied or stopped before its start; ${judgement.uncertainCalls} calls were stopped ` +
      `while they ran, and ran once or never. An answer may only be interrupted if its message was not accepted and its task not stored`,
  );
  printLine(
    "load",
    `${formatLoad()}; timers of the check were up to ${formatMs(loopDelay.max / 1e6)} late`,
  );
  printLine(
    "state hashes",
    `${judgement.comparedHashes} compared, ${judgement.differentHashes} different`,
  );
  printLine(
    "numbering",
    `${gaps} events out of order, when followers started over; ${missingEvents.length} gaps remained`,
  );
  for (const follower of followers) follower.close();
}

type Random = () => number;

/** On a busy machine, takeovers take longer. */
function formatLoad(): string {
  return `load average ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`;
}

function describeProcess({ name, isRunning, log }: ClusterProcess): string {
  const lastLines = log.trimEnd().split("\n").slice(-loggedLines).join("\n  ");
  return `${name} ${isRunning ? "is running" : "has exited"}:\n  ${lastLines}`;
}

function printLine(name: string, text: string): void {
  console.log(`  ${name.padEnd(14)} ${text}`);
}

function formatMs(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function formatSeconds(): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
}
