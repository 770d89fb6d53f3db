import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import type { BenchEnvironment, StartedProcess } from "../../../../bench/processes.ts";
import { printTable } from "../../../../bench/report.ts";
import { connectToPostgres } from "../../../../test/postgres-server.ts";
import { MeasuredCluster } from "./measured-cluster.ts";

export interface TaskCostOptions {
  environment: BenchEnvironment;
  modelPort: number;
  clients: StartedProcess;
  /** The model of each task. */
  model: string;
  tasks: number;
  createDatabase: () => Promise<string>;
  redisUrl: string | undefined;
}

const gatewayCount = 2;
const idleMs = 3000;

interface DatabaseCounters {
  statements: number;
  transactions: number;
  walBytes: number;
  storedBytes: number;
}

/** Counting statements takes time, so it is only enabled while it is needed. */
export async function trackStatements(url: string, isTracking: boolean): Promise<void> {
  const client = await connectToPostgres(url);
  await client.query(`ALTER SYSTEM SET pg_stat_statements.track = ${isTracking ? "top" : "none"}`);
  await client.query("SELECT pg_reload_conf()");
  await client.end();
}

/** Prints what tasks that are followed on another gateway cost in PostgreSQL, without what idle gateways cost in the same time. */
export async function measureCost(options: TaskCostOptions): Promise<void> {
  const buses = options.redisUrl === undefined ? [undefined] : [undefined, options.redisUrl];
  const rows: string[][] = [];
  for (const redisUrl of buses) {
    const url = await options.createDatabase();
    const database = await connectToPostgres(url);
    // The statistics are of all databases of the server.
    await database.query("CREATE EXTENSION pg_stat_statements");
    await trackStatements(url, true);
    const { environment, modelPort, clients, model, tasks } = options;
    const cluster = await MeasuredCluster.start(environment, {
      count: gatewayCount,
      store: { url, redisUrl },
      modelPort,
      clients,
      agents: [model],
    });
    try {
      const order = { agent: model, repeats: 1, isFollowedElsewhere: true };
      await cluster.stream({ ...order, streams: gatewayCount });
      const idle = await measure(database, () => sleep(idleMs));
      const busy = await measure(database, async () => {
        await cluster.stream({ ...order, streams: tasks });
      });
      const perTask = (name: keyof DatabaseCounters) =>
        (busy[name] - (idle[name] * busy.ms) / idle.ms) / tasks;
      rows.push([
        redisUrl === undefined ? "PostgreSQL" : "PostgreSQL + Redis",
        perTask("statements").toFixed(0),
        perTask("transactions").toFixed(0),
        formatKb(perTask("walBytes")),
        formatKb(busy.storedBytes / tasks),
        (idle.statements / gatewayCount / (idle.ms / 1000)).toFixed(1),
      ]);
    } finally {
      await cluster.stop();
      await trackStatements(url, false);
      await database.end();
    }
  }
  printTable(
    `Cost of a task in PostgreSQL: ${options.tasks} tasks at the same time, 300 deltas in 3 s each, followed on another of ${gatewayCount} gateways`,
    ["", "statements", "transactions", "WAL kB", "stored kB", "idle statements/s per gateway"],
    rows,
  );
}

async function measure(
  database: Client,
  run: () => Promise<void>,
): Promise<DatabaseCounters & { ms: number }> {
  const before = await readCounters(database);
  const startedAt = performance.now();
  await run();
  const ms = performance.now() - startedAt;
  // PostgreSQL reports transactions with a delay of up to a second.
  await sleep(1100);
  const after = await readCounters(database);
  return {
    statements: after.statements - before.statements,
    transactions: after.transactions - before.transactions,
    walBytes: after.walBytes - before.walBytes,
    storedBytes: after.storedBytes - before.storedBytes,
    ms: ms + 1100,
  };
}

async function readCounters(database: Client): Promise<DatabaseCounters> {
  const { rows } = await database.query<Record<keyof DatabaseCounters, string>>(
    `SELECT
      (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
        WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())) AS "statements",
      (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS "transactions",
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS "walBytes",
      pg_database_size(current_database()) AS "storedBytes"`,
  );
  const [row] = rows;
  return {
    statements: Number(row?.statements),
    transactions: Number(row?.transactions),
    walBytes: Number(row?.walBytes),
    storedBytes: Number(row?.storedBytes),
  };
}

function formatKb(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
