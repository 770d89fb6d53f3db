import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { LogRow, TaskEvent, TaskTree, TaskView } from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";
import type { Counts } from "./counter.ts";
import { createFollower } from "./follower.ts";
import type { KillHarness } from "./kill-harness.ts";
import { TestUser, type ReceivedEvent, type AnswerTiming, type Scenario } from "./test-user.ts";
import { RestartedServer, type Kill } from "./restarted-server.ts";
import type { StoreModule } from "./server.ts";

/** The result of one run of the scripted task, as observed by its client. */
export interface RunResult {
  /** Where the server was killed, in order. */
  killedAt: readonly string[];
  /** What is wrong regardless of the final state. */
  faults: readonly string[];
  /** Undefined if the task did not end. */
  finalState: FinalState | undefined;
  ms: number;
}

export interface FinalState {
  scenario: Scenario;
  taskId: string;
  /** The state of the client that followed the task from the start. */
  resumedTree: TaskTree;
  receivedEvents: readonly ReceivedEvent[];
  acknowledgedDecisions: TestUser["acknowledgedDecisions"];
  canceledTaskIds: TestUser["canceledTaskIds"];
  /** The state of a client that connects after the end. */
  freshTree: TaskTree;
  view: TaskView;
  log: readonly TaskEvent[];
  /** The stored log, including data that no endpoint returns. */
  rows: readonly LogRow[];
  /** Ids of all tasks. */
  taskIds: readonly string[];
  counts: Counts;
}

export interface RunOptions {
  kills: readonly Kill[];
  /** Applies after the first kill. Before it, the user decides only when the task waits. */
  answerTiming?: AnswerTiming;
  scenario?: Scenario;
  /** A module that exports `openStore({ folder })`: a path, or the name of a package. */
  store?: string;
  timeoutMs?: number;
}

let runCount = 0;

export async function runOnce(harness: KillHarness, options: RunOptions): Promise<RunResult> {
  const {
    kills,
    answerTiming = "immediately",
    scenario = "all answered",
    timeoutMs = 40_000,
  } = options;
  const store = toSpecifier(options.store ?? "@deltawire/store");
  const startedAt = performance.now();
  const run = `run${(runCount += 1)}`;
  const folder = join(harness.folder, run);
  mkdirSync(folder);
  const server = new RestartedServer(harness, { run, folder, store, kills });
  const { faults, killedAt } = server;
  const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), server.abandoned]);
  const getServerUrl = (): string | undefined => server.url;
  const user = new TestUser({
    getServerUrl,
    readCounts: () => harness.readCounts(run),
    answerTiming: () => (killedAt.length === 0 ? "when it waits" : answerTiming),
    scenario,
    onFault: (fault) => faults.push(fault),
  });
  try {
    await user.completeTask(run, signal);
    const state = user.hasReceivedEnd
      ? await readFinalState(harness, run, user, getServerUrl, signal)
      : undefined;
    if (state === undefined) faults.push(`the task did not end: ${describeProgress(user)}`);
    const ms = performance.now() - startedAt;
    await server.stop();
    const finalState = state && {
      ...state,
      scenario,
      rows: await readLogRows(store, folder, state.taskId),
    };
    return { killedAt, faults, finalState, ms };
  } finally {
    user.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function toSpecifier(store: string): string {
  const file = resolve(store);
  return existsSync(file) ? pathToFileURL(file).href : store;
}

async function readFinalState(
  harness: KillHarness,
  run: string,
  user: TestUser,
  getServerUrl: () => string | undefined,
  signal: AbortSignal,
): Promise<Omit<FinalState, "rows" | "scenario"> | undefined> {
  const { taskId, tree: resumedTree } = user;
  const fetchText = (path: string): Promise<string | undefined> =>
    requestJson(getServerUrl, path, signal);
  const view = await fetchText(`/api/tasks/${taskId}`);
  const log = await fetchText(`/api/tasks/${taskId}/events?after=-1&replay=all`);
  const taskList = await fetchText("/api/tasks");
  const freshTree = await fetchFreshTree(taskId, getServerUrl, signal);
  if (
    !resumedTree ||
    !freshTree ||
    view === undefined ||
    log === undefined ||
    taskList === undefined
  )
    return undefined;
  return {
    taskId,
    resumedTree,
    receivedEvents: user.receivedEvents,
    acknowledgedDecisions: user.acknowledgedDecisions,
    canceledTaskIds: user.canceledTaskIds,
    freshTree,
    view: JSON.parse(view) as TaskView,
    log: parseEvents(log),
    taskIds: (JSON.parse(taskList) as { data: { task_id: string }[] }).data.map(
      ({ task_id }) => task_id,
    ),
    counts: await harness.readCounts(run),
  };
}

async function readLogRows(module: string, folder: string, taskId: string): Promise<LogRow[]> {
  const stores = (await import(module)) as StoreModule;
  const store = await stores.openStore({ folder });
  try {
    return await store.read(taskId, -1, Number.MAX_SAFE_INTEGER);
  } finally {
    await store.close();
  }
}

/** Repeats the request until a server that is down is up again. Undefined if the signal is aborted. */
async function requestJson(
  getServerUrl: () => string | undefined,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (; !signal.aborted; await sleep(10)) {
    const url = getServerUrl();
    if (url === undefined) continue;
    try {
      const reply = await fetch(url + path, { signal });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`${path}: ${text}`);
      return text;
    } catch (error) {
      if (getServerUrl() === url && !(error instanceof TypeError)) throw error;
    }
  }
  return undefined;
}

async function fetchFreshTree(
  taskId: string,
  getServerUrl: () => string | undefined,
  signal: AbortSignal,
): Promise<TaskTree | undefined> {
  const client = createFollower(getServerUrl);
  try {
    client.follow(taskId);
    while (client.connection(taskId)?.state !== "ended" && !signal.aborted) await sleep(2);
    return client.tree(taskId);
  } finally {
    client.close();
  }
}

function parseEvents(stream: string): TaskEvent[] {
  const frames: SseEvent[] = [];
  new SseDecoder({ maxEventLength: Number.POSITIVE_INFINITY }).push(stream, frames);
  return frames
    .map(({ data }) => JSON.parse(data) as TaskEvent)
    .filter((event) => "sequence_number" in event);
}

function describeProgress({
  tree,
  taskId,
  receivedEvents,
  acknowledgedDecisions,
}: TestUser): string {
  const status = tree?.tasks[taskId]?.status ?? "not started";
  const lastTypes = receivedEvents.slice(-5).map(({ type }) => type);
  const decidedIds = new Set(acknowledgedDecisions.map(({ approval_id }) => approval_id));
  const lostDecisions = (tree?.approvals ?? [])
    .filter((approval) => approval.status === "pending" && decidedIds.has(approval.approval_id))
    .map((approval) => `; the decision of ${approval.approval_id} was acknowledged but is lost`);
  return `${status}, after ${lastTypes.join(", ")}${lostDecisions.join("")}`;
}
