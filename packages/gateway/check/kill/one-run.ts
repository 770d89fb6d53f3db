import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { LogRow, TaskEvent, TaskTree, TaskView } from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";
import type { Counts } from "./counter.ts";
import { follower } from "./follower.ts";
import type { Kit } from "./kit.ts";
import { Person, type Heard, type Patience, type Plot } from "./person.ts";
import { RestartedServer, type Kill } from "./restarted-server.ts";
import type { StoreModule } from "./server.ts";

/** What became of a run, as seen from outside of the server. */
export interface Seen {
  /** Where the servers were killed. */
  killedAt: readonly string[];
  /** What should never have been said or done, whatever the end. */
  faults: readonly string[];
  /** Undefined: the run did not end. */
  end: End | undefined;
  ms: number;
}

export interface End {
  plot: Plot;
  taskId: string;
  /** The client's that was there from the beginning. */
  resumed: TaskTree;
  heard: readonly Heard[];
  decided: Person["decided"];
  canceled: Person["canceled"];
  /** That of one who asks when all is over. */
  fresh: TaskTree;
  view: TaskView;
  log: readonly TaskEvent[];
  /** What the store has, with what no endpoint returns. */
  rows: readonly LogRow[];
  /** All tasks that there are. */
  listed: readonly string[];
  counts: Counts;
}

export interface RunOptions {
  kills: readonly Kill[];
  /** After the first kill; before it all questions wait until nothing goes on without them. */
  patience?: Patience;
  plot?: Plot;
  /** A module that exports `openStore({ folder })`: a path, or the name of a package. */
  store?: string;
  longestMs?: number;
}

let runs = 0;

export async function oneRun(kit: Kit, options: RunOptions): Promise<Seen> {
  const { kills, patience = "at once", plot = "all answered", longestMs = 40_000 } = options;
  const store = specifierOf(options.store ?? "@deltawire/store");
  const began = performance.now();
  const run = `run${(runs += 1)}`;
  const folder = join(kit.folder, run);
  mkdirSync(folder);
  const server = new RestartedServer(kit, { run, folder, store, kills });
  const { faults, killedAt } = server;
  const signal = AbortSignal.any([AbortSignal.timeout(longestMs), server.gaveUp]);
  const address = (): string | undefined => server.url;
  const person = new Person({
    address,
    counts: () => kit.counts(run),
    patience: () => (killedAt.length === 0 ? "when it waits" : patience),
    plot,
    onFault: (fault) => faults.push(fault),
  });
  try {
    await person.see(run, signal);
    const seen = person.hasSeenTheEnd ? await endOf(kit, run, person, address, signal) : undefined;
    if (seen === undefined) faults.push(`it did not end: ${whereItStands(person)}`);
    const ms = performance.now() - began;
    await server.stop();
    const end = seen && { ...seen, plot, rows: await rowsOf(store, folder, seen.taskId) };
    return { killedAt, faults, end, ms };
  } finally {
    person.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function specifierOf(store: string): string {
  const file = resolve(store);
  return existsSync(file) ? pathToFileURL(file).href : store;
}

async function endOf(
  kit: Kit,
  run: string,
  person: Person,
  address: () => string | undefined,
  signal: AbortSignal,
): Promise<Omit<End, "rows" | "plot"> | undefined> {
  const { taskId, tree: resumed } = person;
  const get = (path: string): Promise<string | undefined> => asked(address, path, signal);
  const view = await get(`/api/tasks/${taskId}`);
  const log = await get(`/api/tasks/${taskId}/events?after=-1&replay=all`);
  const listed = await get("/api/tasks");
  const fresh = await freshTree(taskId, address, signal);
  if (!resumed || !fresh || view === undefined || log === undefined || listed === undefined)
    return undefined;
  return {
    taskId,
    resumed,
    heard: person.heard,
    decided: person.decided,
    canceled: person.canceled,
    fresh,
    view: JSON.parse(view) as TaskView,
    log: eventsOf(log),
    listed: (JSON.parse(listed) as { data: { task_id: string }[] }).data.map((one) => one.task_id),
    counts: await kit.counts(run),
  };
}

async function rowsOf(module: string, folder: string, taskId: string): Promise<LogRow[]> {
  const stores = (await import(module)) as StoreModule;
  const store = await stores.openStore({ folder });
  try {
    return await store.read(taskId, -1, Number.MAX_SAFE_INTEGER);
  } finally {
    await store.close();
  }
}

/** A server that goes down meanwhile is asked again when it is back. */
async function asked(
  address: () => string | undefined,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (; !signal.aborted; await sleep(10)) {
    const url = address();
    if (url === undefined) continue;
    try {
      const reply = await fetch(url + path, { signal });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`${path}: ${text}`);
      return text;
    } catch (error) {
      if (address() === url && !(error instanceof TypeError)) throw error;
    }
  }
  return undefined;
}

async function freshTree(
  taskId: string,
  address: () => string | undefined,
  signal: AbortSignal,
): Promise<TaskTree | undefined> {
  const client = follower(address);
  try {
    client.follow(taskId);
    while (client.connection(taskId)?.state !== "ended" && !signal.aborted) await sleep(2);
    return client.tree(taskId);
  } finally {
    client.close();
  }
}

function eventsOf(stream: string): TaskEvent[] {
  const frames: SseEvent[] = [];
  new SseDecoder({ maxEventLength: Number.POSITIVE_INFINITY }).push(stream, frames);
  return frames
    .map(({ data }) => JSON.parse(data) as TaskEvent)
    .filter((event) => "sequence_number" in event);
}

function whereItStands({ tree, taskId, heard, decided }: Person): string {
  const status = tree?.tasks[taskId]?.status ?? "not started";
  const last = heard.slice(-5).map(({ type }) => type);
  const answered = new Set(decided.map(({ approval_id }) => approval_id));
  const lost = (tree?.approvals ?? [])
    .filter((one) => one.status === "pending" && answered.has(one.approval_id))
    .map((one) => `; the decision of ${one.approval_id} was acknowledged and is lost`);
  return `${status}, after ${last.join(", ")}${lost.join("")}`;
}
