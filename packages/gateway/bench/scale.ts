/*
 * npm run bench:scale [-- --quick] [-- --only NAME,…] [-- --streams N]
 *
 * What 1, 2 and 4 processes carry on one PostgreSQL server, with and without Redis, beside SQLite in the same run. Starts all
 * servers itself. Prints, with the CPU cores that each part used:
 *   stored     events per second that processes append to the store, without models and HTTP
 *   followed   events per second from a model through gateways to clients that follow on another gateway
 *   lag        milliseconds from the model's write of a delta to its arrival at a client, at the pace of models;
 *              `--streams` sets the number of streams (20)
 *   cost       statements, bytes of the write-ahead log and stored bytes per task; statements of idle gateways
 * A measurement, not a test: it prints which goals are met and exits with 0 either way; with 1 if events are missing.
 */
import { parseArgs } from "node:util";
import { machineDescription, printMeasurementWarnings } from "../../../bench/machine.ts";
import { median } from "../../../bench/measure.ts";
import {
  createBenchEnvironment,
  waitForMessage,
  buildNodeCommand,
  type StartedProcess,
} from "../../../bench/processes.ts";
import { formatMs, formatRatio, printGoals, printTable, type Goal } from "../../../bench/report.ts";
import { connectToPostgres, startPostgres } from "../../../test/postgres-server.ts";
import { explainMissingRedis, startRedis } from "../../../test/redis-server.ts";
import {
  findDescendants,
  formatCpu,
  startCpuMeasurement,
  type CpuUsage,
} from "./scale/cpu-usage.ts";
import {
  MeasuredCluster,
  createSqliteStore,
  startStampedModel,
  startStreamClients,
  type ClusterStore,
} from "./scale/measured-cluster.ts";
import { measureCost, trackStatements } from "./scale/task-cost.ts";
import type { StoreWriterOptions } from "./scale/store-writer.ts";

const sections = ["stored", "followed", "lag", "cost"] as const;
const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    streams: { type: "string", default: "20" },
  },
});
const selectedSections = new Set<string>(options.only?.split(",") ?? sections);
const effort = options.quick
  ? { rounds: 1, storeMs: 1000, tasks: 1, lagSeconds: 2, costTasks: 10, limit: 120 }
  : { rounds: 3, storeMs: 2500, tasks: 3, lagSeconds: 6, costTasks: 50, limit: 600 };
/** Tasks that append or stream at the same time. */
const storeTasks = 100;
const fastStreams = 16;
const pacedStreams = Number(options.streams);
/** Deltas a second of one stream: a fast model. */
const pace = 50;
const models = {
  fast: "stream-0-2000",
  paced: `stream-${pace}-${pace * effort.lagSeconds}`,
  cost: "stream-100-300",
};
const goals: Goal[] = [];

if (process.platform !== "linux") {
  console.error("The bench reads CPU times from /proc: it needs Linux.");
  process.exit(1);
}
console.log(`${machineDescription}${options.quick ? ", quick run: one short round" : ""}`);
const startedAt = performance.now();
const environment = createBenchEnvironment(effort.limit * 1000);
printMeasurementWarnings(environment.folder);
const postgres = await startPostgres({
  settings: { shared_preload_libraries: "pg_stat_statements" },
});
await trackStatements(postgres.url, false);
const missingRedis = await explainMissingRedis();
const redis = missingRedis === undefined ? await startRedis() : undefined;
if (missingRedis !== undefined) console.log(`Without Redis: ${missingRedis}`);
let databaseCount = 0;
try {
  if (selectedSections.has("stored")) await measureStored();
  if (["followed", "lag", "cost"].some((name) => selectedSections.has(name))) {
    const model = await startStampedModel(environment);
    const clients = await startStreamClients(environment);
    const parts: StreamParts = { modelPort: model.port, clients };
    const others = { model: () => [model.started.pid], clients: () => [clients.pid] };
    if (selectedSections.has("followed")) await measureFollowed(parts, others);
    if (selectedSections.has("lag")) await measureLag(parts, others);
    if (selectedSections.has("cost"))
      await measureCost({
        ...parts,
        environment,
        model: models.cost,
        tasks: effort.costTasks,
        createDatabase,
        redisUrl: redis?.url,
      });
  }
  console.log(`\nGoals (after ${((performance.now() - startedAt) / 1000).toFixed(0)} s)`);
  printGoals(goals);
} finally {
  environment.close();
  await postgres.stop();
  await redis?.stop();
}

type PidGroups = Record<string, () => number[]>;

interface StreamParts {
  modelPort: number;
  clients: StartedProcess;
}

/** Each variant has a database of its own, so that none works on the tables of another. */
async function createDatabase(): Promise<string> {
  databaseCount += 1;
  const client = await connectToPostgres(postgres.url);
  await client.query(`CREATE DATABASE bench_${databaseCount}`);
  await client.end();
  const url = new URL(postgres.url);
  url.pathname = `/bench_${databaseCount}`;
  return url.href;
}

async function measureStored(): Promise<void> {
  const variants = [
    { name: "SQLite, 1 process", processes: 1, isShared: false },
    ...[1, 2, 4].map((processes) => ({
      name: `PostgreSQL, ${processes} process${processes > 1 ? "es" : ""}`,
      processes,
      isShared: true,
    })),
  ];
  const rows: string[][] = [];
  const rates = new Map<string, number>();
  for (const { name, processes, isShared } of variants) {
    const place = isShared
      ? { url: await createDatabase() }
      : createSqliteStore(environment, "stored");
    const writers = await startWriters(processes, place);
    const results: { rate: number; cpu: CpuUsage }[] = [];
    for (let round = 0; round <= effort.rounds; round += 1) {
      const result = await runWriters(writers, isShared);
      // The first round includes the warm-up.
      if (round > 0) results.push(result);
    }
    await Promise.all(writers.map((writer) => environment.stop(writer)));
    const rate = median(results.map(({ rate }) => rate));
    rates.set(name, rate);
    const sqlite = rates.get("SQLite, 1 process") ?? NaN;
    rows.push([
      name,
      format(rate),
      formatRatio(rate / sqlite),
      formatCpu(results.at(-1)?.cpu ?? {}),
    ]);
  }
  printTable(
    `Events stored per second, ${storeTasks} tasks in batches of 20 (median of ${effort.rounds})`,
    ["", "events/s", "x SQLite", "cores"],
    rows,
  );
  const rate = rates.get("PostgreSQL, 1 process") ?? NaN;
  goals.push({
    description: "≥ 20,000 events a second stored in PostgreSQL by one process",
    isMet: rate >= 20_000,
    measured: format(rate),
  });
}

async function startWriters(
  count: number,
  place: Pick<StoreWriterOptions, "url" | "path">,
): Promise<StartedProcess[]> {
  const program = buildNodeCommand(import.meta.resolve("./scale/store-writer.ts"));
  const writers: StartedProcess[] = [];
  for (let index = 0; index < count; index += 1) {
    const writer = environment.start(`writer-${index}`, program, { ipc: true });
    writer.child.send({ open: { ...place, name: `writer${index}` } });
    await waitForMessage(writer);
    writers.push(writer);
  }
  return writers;
}

async function runWriters(
  writers: readonly StartedProcess[],
  isShared: boolean,
): Promise<{ rate: number; cpu: CpuUsage }> {
  const stopMeasurement = startCpuMeasurement({
    writers: () => writers.map(({ pid }) => pid),
    ...(isShared ? { PostgreSQL: () => findDescendants("postgres") } : {}),
  });
  const began = performance.now();
  const counts = await Promise.all(
    writers.map(async (writer) => {
      const answer = waitForMessage(writer);
      writer.child.send({ tasks: storeTasks / writers.length, ms: effort.storeMs });
      return ((await answer) as { events: number }).events;
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  return { rate: counts.reduce((sum, count) => sum + count, 0) / seconds, cpu: stopMeasurement() };
}

interface ClusterVariant {
  name: string;
  processes: number;
  createStore: () => Promise<ClusterStore>;
}

function listClusterVariants(counts: readonly number[]): ClusterVariant[] {
  const buses = redis === undefined ? [undefined] : [undefined, redis.url];
  return [
    {
      name: "SQLite, 1 process",
      processes: 1,
      createStore: () =>
        Promise.resolve(createSqliteStore(environment, `gateway-${performance.now()}`)),
    },
    ...counts.flatMap((processes) =>
      buses.map((redisUrl) => ({
        name: `PostgreSQL${redisUrl === undefined ? "" : " + Redis"}, ${processes} process${processes > 1 ? "es" : ""}`,
        processes,
        createStore: async () => ({ url: await createDatabase(), redisUrl }),
      })),
    ),
  ];
}

async function measureFollowed(parts: StreamParts, others: PidGroups): Promise<void> {
  const rows: string[][] = [];
  let sqlite = NaN;
  for (const variant of listClusterVariants([1, 2, 4])) {
    const { rate, cpu } = await withCluster(variant, parts, others, async (cluster) => {
      const order = { agent: models.fast, streams: fastStreams, isFollowedElsewhere: true };
      await cluster.stream({ ...order, repeats: 1 });
      const { events, elapsedMs } = await cluster.stream({ ...order, repeats: effort.tasks });
      return (events / elapsedMs) * 1000;
    });
    if (Number.isNaN(sqlite)) sqlite = rate;
    rows.push([variant.name, format(rate), formatRatio(rate / sqlite), formatCpu(cpu)]);
  }
  printTable(
    `Events per second from model to follower, ${fastStreams} streams as fast as possible, followed on another gateway`,
    ["", "events/s", "x SQLite", "cores"],
    rows,
  );
}

async function measureLag(parts: StreamParts, others: PidGroups): Promise<void> {
  const rows: string[][] = [];
  const p50s: Record<string, number> = {};
  for (const variant of listClusterVariants([2, 4])) {
    const order = { agent: models.paced, streams: pacedStreams, repeats: 1 };
    let elsewhere = { p50: NaN, p99: NaN };
    const { rate: same, cpu } = await withCluster(variant, parts, others, async (cluster) => {
      const { lags } = await cluster.stream({ ...order, isFollowedElsewhere: false });
      if (variant.processes > 1)
        elsewhere = (await cluster.stream({ ...order, isFollowedElsewhere: true })).lags;
      return lags;
    });
    p50s[variant.name] = elsewhere.p50;
    const cells = [same.p50, same.p99, elsewhere.p50, elsewhere.p99];
    rows.push([
      variant.name,
      ...cells.map((ms) => (Number.isNaN(ms) ? "–" : formatMs(ms))),
      formatCpu(cpu),
    ]);
  }
  printTable(
    `Lag in ms, ${pacedStreams} streams of ${pace} deltas/s, from the model to a client that follows on the same gateway or on another`,
    ["", "same p50", "p99", "other p50", "p99", "cores"],
    rows,
  );
  if (redis !== undefined) goals.push(lagGoal("PostgreSQL + Redis, 2 processes", 20));
  goals.push(lagGoal("PostgreSQL, 2 processes", 250));

  function lagGoal(name: string, limit: number): Goal {
    const p50 = p50s[name] ?? NaN;
    return {
      description: `follower on another process at most ${limit} ms behind the model (p50): ${name}`,
      isMet: p50 <= limit,
      measured: `${formatMs(p50)} ms`,
    };
  }
}

async function withCluster<Rate>(
  { processes, createStore }: ClusterVariant,
  { modelPort, clients }: StreamParts,
  others: PidGroups,
  run: (cluster: MeasuredCluster) => Promise<Rate>,
): Promise<{ rate: Rate; cpu: CpuUsage }> {
  const store = await createStore();
  const agents = [models.fast, models.paced];
  const startOptions = { count: processes, store, modelPort, clients, agents };
  const cluster = await MeasuredCluster.start(environment, startOptions);
  const stopMeasurement = startCpuMeasurement({
    gateways: () => cluster.gateways.map(({ pid }) => pid),
    ...("url" in store ? { PostgreSQL: () => findDescendants("postgres") } : {}),
    ...("url" in store && store.redisUrl !== undefined
      ? { Redis: () => findDescendants("redis-server") }
      : {}),
    ...others,
  });
  try {
    return { rate: await run(cluster), cpu: stopMeasurement() };
  } finally {
    await cluster.stop();
  }
}

function format(rate: number): string {
  return Math.round(rate).toLocaleString("en");
}
