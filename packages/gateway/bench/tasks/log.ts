import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { defineAgent, Runtime, type Model } from "@deltawire/agent";
import { openStore } from "@deltawire/store";
import { hasEnded, TreeWriter, type LogEntry, type TaskStatus } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { type Goal, printTable, formatRatio } from "../../../../bench/report.ts";
import { median, relativeQuartileRange } from "../../../../bench/measure.ts";

/*
 * Measures the log in a separate process: appends in batches compared with bare SQLite, and an in-process runtime with a model
 * without delays. Arguments: a folder, the number of rounds. Prints its tables and sends its goals.
 */

const [folder = "", rounds = "3"] = process.argv.slice(2);
const events = 10_000;
const batch = 100;

interface Way {
  name: string;
  events: number;
  /** Not timed; returns the function to be timed. */
  prepare: (round: number) => () => Promise<void> | void;
}

const store = await openStore({ path: join(folder, "appends.db") });
const bare = openBareDatabase(join(folder, "bare.db"));
const goals = await measureAppends();
await measureRuntime();
bare.close();
await store.close();
process.send?.({ goals });
process.disconnect?.();

async function measureAppends(): Promise<Goal[]> {
  const [ours, bareDurable, file, fleeting, bareFleeting] = await measureInTurns([
    { name: "store, durable", events, prepare: (nth) => append(`task_durable_${nth}`, true) },
    { name: "bare SQLite, durable", events, prepare: (nth) => insert(nth, true) },
    { name: "a plain file, fsync after each batch", events, prepare: write },
    { name: "store, not durable", events, prepare: (nth) => append(`task_fleeting_${nth}`, false) },
    { name: "bare SQLite, not durable", events, prepare: (nth) => insert(nth, false) },
  ]);
  const rows = [
    [ours, bareDurable],
    [bareDurable, bareDurable],
    [file, bareDurable],
    [fleeting, bareFleeting],
    [bareFleeting, bareFleeting],
  ];
  printTable(
    `Appends of ${events.toLocaleString("en")} events in batches of ${batch}, each awaited; durable is as fast as the disk`,
    ["", "events/s", "ms a batch", "x bare SQLite"],
    rows.map(([one, floor]) => [
      one?.name ?? "",
      `${one?.rate.toFixed(0)} ±${((one?.spread ?? NaN) * 50).toFixed(0)}%`,
      ((batch * 1000) / (one?.rate ?? NaN)).toFixed(2),
      formatRatio((floor?.rate ?? NaN) / (one?.rate ?? NaN)),
    ]),
  );
  return [
    {
      description: "≥ 20,000 events a second appended durably, in batches of 100",
      isMet: (ours?.rate ?? NaN) >= 20_000,
      measured: `${ours?.rate.toFixed(0)}, a plain file with fsync ${file?.rate.toFixed(0)}`,
    },
  ];
}

async function measureRuntime(): Promise<void> {
  const deltas = 20_000;
  const results = await measureInTurns(
    [
      { tasks: 1, size: 1 },
      { tasks: 50, size: 1 },
      { tasks: 1, size: 16 },
      { tasks: 1, size: 256 },
    ].map(({ tasks, size }): Way => {
      const model = createModel(deltas / tasks, size);
      const name = `${tasks === 1 ? "one task" : `${tasks} tasks at once`}, read by read of ${size}`;
      return { name, events: deltas, prepare: () => () => runTasks(model, tasks) };
    }),
  );
  printTable(
    `A runtime in process: writer, journal, SQLite, a listener; answers of ${deltas.toLocaleString("en")} deltas in all`,
    ["", "events/s", "µs an event"],
    results.map(({ name, rate, spread }) => [
      name,
      `${rate.toFixed(0)} ±${(spread * 50).toFixed(0)}%`,
      (1e6 / rate).toFixed(1),
    ]),
  );
}

/** Every other round is in reverse order; the first round does not count. */
async function measureInTurns(ways: readonly Way[]) {
  const rates = new Map(ways.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round <= Number(rounds); round += 1) {
    for (const { name, events, prepare } of round % 2 === 0 ? ways : ways.toReversed()) {
      const run = prepare(round);
      globalThis.gc?.();
      const startedAt = performance.now();
      await run();
      const rate = (events / (performance.now() - startedAt)) * 1000;
      if (round > 0) rates.get(name)?.push(rate);
    }
  }
  return [...rates].map(([name, all]) => ({
    name,
    rate: median(all),
    spread: relativeQuartileRange(all),
  }));
}

function append(rootTaskId: string, durable: boolean): () => Promise<void> {
  const entries = createEntries(rootTaskId);
  return async () => {
    for (let index = 0; index < entries.length; index += batch)
      await store.append(rootTaskId, entries.slice(index, index + batch), { durable });
  };
}

/** The same rows in a bare database, in the same process. */
function insert(round: number, durable: boolean): () => void {
  const entries = createEntries("task_bare");
  const root = round * 2 + (durable ? 1 : 0);
  bare.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
  const row = bare.prepare("INSERT INTO events (root, number, json) VALUES (?, ?, ?)");
  return () => {
    for (let index = 0; index < entries.length; index += batch) {
      bare.exec("BEGIN IMMEDIATE");
      for (const { event, json } of entries.slice(index, index + batch))
        row.run(root, event.sequence_number, json);
      bare.exec("COMMIT");
    }
  };
}

/** Measures the disk alone. */
function write(round: number): () => void {
  const entries = createEntries("task_bare");
  const file = openSync(join(folder, `plain-${round}`), "w");
  return () => {
    for (let index = 0; index < entries.length; index += batch) {
      const lines = entries.slice(index, index + batch).map(({ json }) => json);
      writeSync(file, lines.join("\n"));
      fsyncSync(file);
    }
    closeSync(file);
  };
}

function openBareDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE events (root INTEGER, number INTEGER, json TEXT, PRIMARY KEY (root, number)) WITHOUT ROWID;
  `);
  return database;
}

function createEntries(rootTaskId: string): LogEntry[] {
  const entries: LogEntry[] = [];
  let ids = 0;
  const tree = new TreeWriter({
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    now: () => "2026-01-01T00:00:00.000Z",
    emit: (entry) => entries.push(entry),
  });
  const root_task_id = rootTaskId;
  const info = { root_task_id, attempt: 1, depth: 0, agent: "bench", model: "m", limits: {} };
  const task = tree.create(rootTaskId, info);
  task.working();
  task.roundStarted(1, "m");
  const message = task.message();
  while (entries.length < events) message.delta(" words");
  return entries;
}

async function runTasks(model: Model, count: number): Promise<void> {
  const runtime = new Runtime({
    log: store,
    blobs: store,
    agentFor: () => defineAgent({ name: "bench", instructions: "", model }),
    getModel: () => model,
  });
  await Promise.all(Array.from({ length: count }, () => runTask(runtime)));
  await runtime.close();
}

async function runTask(runtime: Runtime): Promise<void> {
  const id = await runtime.start({ agent: "bench", input: "Go on." });
  const status = await new Promise<string>((resolve) => {
    const checkStatus = (current: TaskStatus | undefined): void => {
      if (current === undefined || hasEnded(current)) resolve(current ?? "missing");
    };
    runtime.subscribe(id, (_entries, logHead) => checkStatus(logHead.status));
    checkStatus(runtime.live(id)?.tasks[id]?.status);
  });
  if (status !== "completed") throw new Error(`the task is ${status}`);
}

/** A model that sends one message in `deltas` deltas, `size` of them at a time, like the reads of a socket. */
function createModel(deltas: number, size: number): Model {
  const place = { item_id: "msg", output_index: 0, content_index: 0 };
  const item = {
    type: "message",
    id: "msg",
    role: "assistant",
    status: "in_progress",
    content: [],
  };
  const events: JsonObject[] = Array.from({ length: deltas }, () => ({
    type: "response.output_text.delta",
    ...place,
    delta: " words",
  }));
  const text = " words".repeat(deltas);
  const content = [{ type: "output_text", text, annotations: [] }];
  const usage = { input_tokens: 900, output_tokens: deltas, total_tokens: deltas + 900 };
  const ending: JsonObject[] = [
    { type: "response.output_text.done", ...place, text },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...item, status: "completed", content },
    },
    { type: "response.completed", response: { usage, output: [] } },
  ];
  return {
    name: "m",
    stream: async function* () {
      yield [{ type: "response.output_item.added", output_index: 0, item }];
      for (let index = 0; index < events.length; index += size) {
        await setImmediate();
        yield events.slice(index, index + size);
      }
      yield ending;
    },
  };
}
