/*
 * npm run bench:store [-- --quick]
 * Events per second appended to a SQLite file and to PostgreSQL (a server that it starts), each beside a lower bound in the
 * same round: an INSERT of the same rows without tasks, order and references. Prints goals.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore, type Store } from "@deltawire/store";
import type { LogEntry, TaskEvent } from "@deltawire/tasks";
import { Pool } from "pg";
import { machineDescription, printMeasurementWarnings } from "../../../bench/machine.ts";
import { median } from "../../../bench/measure.ts";
import { formatRatio, printGoals, printTable } from "../../../bench/report.ts";
import { startPostgres } from "../../../test/postgres-server.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const roundMs = values.quick ? 700 : 2000;
const rounds = values.quick ? 3 : 5;
let taskCount = 0;

interface Workload {
  name: string;
  tasks: number;
  batch: number;
  durable: boolean;
}

const workloads: readonly Workload[] = [
  { name: "100 tasks, batches of 20", tasks: 100, batch: 20, durable: false },
  { name: "100 tasks, one event each time", tasks: 100, batch: 1, durable: false },
  { name: "1 task, batches of 100", tasks: 1, batch: 100, durable: false },
  { name: "100 tasks, batches of 20, durable", tasks: 100, batch: 20, durable: true },
  { name: "1 task, one event each time, durable", tasks: 1, batch: 1, durable: true },
];

/** Appends a batch of events of a task, which begin with this number. */
type Append = (task: string, first: number, workload: Workload) => Promise<void>;

const folder = await mkdtemp(join(tmpdir(), "deltawire-bench-"));
const postgres = await startPostgres();
const sqliteStore = await openStore({ path: join(folder, "bench.db") });
const postgresStore = await openStore({ url: postgres.url });
const pool = new Pool({ connectionString: postgres.url, max: 10 });
pool.on("error", () => {}); // the server ends its connections when it stops
try {
  console.log(machineDescription);
  printMeasurementWarnings(folder);
  await pool.query(
    "CREATE TABLE bare (task TEXT, number INTEGER, json TEXT, PRIMARY KEY (task, number))",
  );
  const candidates = {
    postgres: appendTo(postgresStore),
    bare: appendToBareTable,
    sqlite: appendTo(sqliteStore),
  };
  const rows: string[][] = [];
  let postgresRate = 0;
  for (const workload of workloads) {
    const rates: Record<keyof typeof candidates, number[]> = { postgres: [], bare: [], sqlite: [] };
    for (let round = 0; round < rounds; round += 1)
      for (const name of ["postgres", "bare", "sqlite"] as const)
        rates[name].push(await measure(candidates[name], workload));
    const [ours, bare, sqlite] = [rates.postgres, rates.bare, rates.sqlite].map(median);
    if (workload === workloads[0]) postgresRate = ours ?? 0;
    rows.push([
      workload.name,
      ...[ours, bare, sqlite].map((rate) => Math.round(rate ?? NaN).toLocaleString("en")),
      formatRatio((ours ?? NaN) / (bare ?? NaN)),
    ]);
  }
  printTable(
    `Events per second (median of ${rounds} rounds)`,
    ["", "PostgreSQL", "bare INSERT", "SQLite", "PostgreSQL x bare"],
    rows,
  );
  printGoals([
    {
      description: "≥ 20,000 events a second stored in PostgreSQL by one process",
      isMet: postgresRate >= 20_000,
      measured: Math.round(postgresRate).toLocaleString("en"),
    },
  ]);
} finally {
  await Promise.all([sqliteStore.close(), postgresStore.close(), pool.end()]);
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Returns the events per second that all tasks together append, each awaiting its previous batch. */
async function measure(append: Append, workload: Workload): Promise<number> {
  const tasks = Array.from({ length: workload.tasks }, () => `task_${(taskCount += 1)}`);
  await Promise.all(tasks.map((task) => append(task, 0, { ...workload, batch: 1 })));
  const startedAt = performance.now();
  let count = 0;
  await Promise.all(
    tasks.map(async (task) => {
      for (let first = 1; performance.now() - startedAt < roundMs; first += workload.batch) {
        await append(task, first, workload);
        count += workload.batch;
      }
    }),
  );
  return count / ((performance.now() - startedAt) / 1000);
}

function appendTo(store: Store): Append {
  return (task, first, { batch, durable }) =>
    store.append(task, buildEntries(task, first, batch), { durable });
}

async function appendToBareTable(
  task: string,
  first: number,
  { batch, durable }: Workload,
): Promise<void> {
  const entries = buildEntries(task, first, batch);
  const client = await pool.connect();
  try {
    await client.query(durable ? "BEGIN" : "BEGIN; SET LOCAL synchronous_commit = off");
    await client.query({
      name: "bare",
      text: "INSERT INTO bare SELECT * FROM unnest($1::text[], $2::integer[], $3::text[])",
      values: [
        entries.map(() => task),
        entries.map(({ event }) => event.sequence_number),
        entries.map(({ json }) => json),
      ],
    });
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}

function buildEntries(task: string, first: number, count: number): LogEntry[] {
  return Array.from({ length: count }, (_, index): LogEntry => {
    const event = buildEvent(task, first + index);
    return { event, json: JSON.stringify(event) };
  });
}

function buildEvent(task: string, number: number): TaskEvent {
  const common = { task_id: task, sequence_number: number };
  if (number > 0)
    return { type: "task.warning", ...common, code: "retry", message: "x".repeat(150) };
  const info = { root_task_id: task, attempt: 1, depth: 0, agent: "a", model: "m", limits: {} };
  const created = { created_at: "2026-01-02T03:04:05Z", protocol_version: "1.0" };
  return { type: "task.created", ...common, task: { ...info, ...created, status: "created" } };
}
