import { setImmediate } from "node:timers/promises";
import type { TaskRequest } from "@deltawire/agent";
import { RuntimeError } from "@deltawire/agent/basics";
import {
  emptyTree,
  hasEnded,
  Reducer,
  buildTaskView,
  statusFromEventType,
  withContent,
  type LogEntry,
  type TaskCreation,
  type TaskEvent,
  type TaskState,
  type TaskTree,
  type TaskView,
} from "@deltawire/tasks";
import type { TaskInputBody } from "@deltawire/tasks/chats";
import { findRecovery, type TaskRecovery } from "./streams/find-recovery.ts";
import type { TaskFeed } from "./streams/task-stream-writer.ts";
import { IdempotentRequests } from "./idempotent-requests.ts";
import type { TaskRecords, TaskRuntime } from "./task-runtime.ts";

export interface TaskServiceOptions {
  runtime: TaskRuntime;
  records: TaskRecords;
  /** Called for failures that are not reported to a client. */
  onFailure: (message: string, cause: unknown) => void;
  /** Delay before old tasks are first removed; default 10 seconds, because a gateway may never run for an hour. */
  firstPruneDelayMs?: number;
  /** Interval at which old tasks are removed; default 1 hour. */
  pruneIntervalMs?: number;
}

export interface StartTaskOptions extends TaskCreation {
  /** Requests with the same key start one task. */
  idempotencyKey?: string | undefined;
}

const logPageSize = 1000;
const maxCachedRecoveries = 1000;
const defaultFirstPruneDelayMs = 10_000;
const defaultPruneIntervalMs = 60 * 60 * 1000;

/** Tasks as clients see them, whether they run in this process, wait to be resumed or have ended. */
export class TaskService {
  readonly runtime: TaskRuntime;
  readonly records: TaskRecords;
  readonly idempotentRequests: IdempotentRequests;
  readonly #onFailure: TaskServiceOptions["onFailure"];
  readonly #pruneTimers: NodeJS.Timeout[];
  /** Running reductions by root task. Concurrent requests for the same task share one. */
  readonly #reductions = new Map<string, Promise<TaskTree>>();
  readonly #recoveries = new Map<string, { recovery: TaskRecovery; isFinal: boolean }>();

  constructor({ runtime, records, onFailure, ...options }: TaskServiceOptions) {
    const {
      firstPruneDelayMs = defaultFirstPruneDelayMs,
      pruneIntervalMs = defaultPruneIntervalMs,
    } = options;
    this.runtime = runtime;
    this.records = records;
    this.idempotentRequests = new IdempotentRequests(records);
    this.#onFailure = onFailure;
    const prune = async (): Promise<void> => {
      try {
        // Only one of several processes removes old tasks. Claimed for half the interval, because their timers are not in step.
        if (await records.claimJob("prune", pruneIntervalMs / 2)) await records.prune();
      } catch (error) {
        onFailure("could not remove old tasks", error);
      }
    };
    this.#pruneTimers = [
      setTimeout(() => void prune(), firstPruneDelayMs).unref(),
      setInterval(() => void prune(), pruneIntervalMs).unref(),
    ];
  }

  /** Starts a task, or returns the one that an earlier request with the same key has started. */
  async start(
    request: TaskRequest,
    { idempotencyKey, ...creation }: StartTaskOptions = {},
  ): Promise<{ taskId: string; isNew: boolean }> {
    if (idempotencyKey === undefined)
      return { taskId: await this.runtime.start(request, undefined, creation), isNew: true };
    return this.idempotentRequests.run(idempotencyKey, request, async (taskId) => {
      if ((await this.records.findRootTask(taskId)) !== undefined) return { taskId, isNew: false };
      try {
        return { taskId: await this.runtime.start(request, taskId, creation), isNew: true };
      } catch (error) {
        // Another process has received the same request.
        if (error instanceof RuntimeError && error.code === "id_taken")
          return { taskId, isNew: false };
        throw error;
      }
    });
  }

  /**
   * Sends input to a task. Input with a key is sent only once: the log shows whether the task already has it, even after the task
   * has ended.
   */
  async addInput(
    taskId: string,
    { input, delivery }: TaskInputBody,
    key?: string,
  ): Promise<"added" | "already_added" | "ended" | "unknown"> {
    if (key === undefined) return this.runtime.input(taskId, input, delivery);
    const addOnce = async (id: string) => {
      const inputs = (await this.findTask(taskId))?.state.inputs ?? [];
      if (inputs.some(({ item }) => item.id === id)) return "already_added";
      return this.runtime.input(taskId, input, delivery, id);
    };
    return this.idempotentRequests.run(key, ["input", taskId, input, delivery], addOnce, {
      idPrefix: "in",
    });
  }

  /** Saves the state of a root task if it has ended, so that its log need not be reduced again. */
  async saveEnd(rootTaskId: string, state: TaskTree): Promise<void> {
    if (hasEnded(state.tasks[rootTaskId]?.status)) await this.#saveSnapshot(rootTaskId, state);
  }

  /** Resolves when the task has ended, or after the timeout. */
  async waitForEnd(taskId: string, timeoutMs: number): Promise<void> {
    const rootTaskId = await this.records.findRootTask(taskId);
    if (rootTaskId === undefined) return;
    const { promise: endPromise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    const unsubscribe = this.runtime.subscribe(rootTaskId, (entries, { status }) => {
      const isEnd = ({ event }: LogEntry): boolean =>
        event.task_id === taskId && hasEnded(statusFromEventType(event.type));
      if (hasEnded(status) || entries.some(isEnd)) resolve();
    });
    try {
      // It may have ended before the subscription.
      const tree = await this.loadTree(rootTaskId);
      if (!hasEnded(tree.tasks[taskId]?.status)) await endPromise;
    } finally {
      clearTimeout(timer);
      unsubscribe();
    }
  }

  /** Loads the view of a root task or of a sub-agent's task. Returns undefined if the task is unknown. */
  async loadView(taskId: string): Promise<TaskView | undefined> {
    return (await this.findTask(taskId))?.view;
  }

  /** Loads the view of a task, and the state from which it was built. Returns undefined if the task is unknown. */
  async findTask(taskId: string): Promise<{ view: TaskView; state: TaskState } | undefined> {
    const rootTaskId = await this.records.findRootTask(taskId);
    if (rootTaskId === undefined) return undefined;
    const tree = await this.loadTree(rootTaskId);
    const state = Object.hasOwn(tree.tasks, taskId) ? tree.tasks[taskId] : undefined;
    return state && { view: buildTaskView(tree, taskId), state };
  }

  /** Loads the view with the `content` of messages and results, even if the task was created without it. */
  async loadViewWithContent(taskId: string): Promise<TaskView | undefined> {
    const rootTaskId = await this.records.findRootTask(taskId);
    if (rootTaskId === undefined) return undefined;
    const { state, contentOf } = await this.runtime.contents(rootTaskId);
    if (!Object.hasOwn(state.tasks, taskId)) return undefined;
    return withContent(buildTaskView(state, taskId), contentOf);
  }

  /** Loads the state of a root task, which must exist. */
  async loadTree(rootTaskId: string): Promise<TaskTree> {
    const liveTree = this.runtime.live(rootTaskId);
    if (liveTree !== undefined) return liveTree;
    const runningReduction = this.#reductions.get(rootTaskId);
    if (runningReduction !== undefined) return runningReduction;
    const reduction = this.#reduceLog(rootTaskId).finally(() =>
      this.#reductions.delete(rootTaskId),
    );
    this.#reductions.set(rootTaskId, reduction);
    return reduction;
  }

  /** Creates the source of the task's event streams. */
  createFeed(rootTaskId: string): TaskFeed {
    const { runtime, records } = this;
    return {
      rootTaskId,
      runtime,
      records,
      loadTree: () => this.loadTree(rootTaskId),
      loadRecovery: () => this.#loadRecovery(rootTaskId),
    };
  }

  close(): void {
    for (const timer of this.#pruneTimers) clearTimeout(timer);
  }

  async #reduceLog(rootTaskId: string): Promise<TaskTree> {
    const snapshot = await this.records.snapshot(rootTaskId);
    const savedTree = snapshot === undefined ? emptyTree : (JSON.parse(snapshot.json) as TaskTree);
    const reducer = new Reducer(savedTree);
    for (;;) {
      const rows = await this.records.read(rootTaskId, reducer.head, logPageSize);
      for (const { json } of rows) reducer.apply(JSON.parse(json) as TaskEvent);
      if (rows.length < logPageSize) break;
      // Lets other work run between the pages of a long log.
      await setImmediate();
    }
    const tree = reducer.state;
    if (tree.head > savedTree.head && hasEnded(tree.tasks[rootTaskId]?.status))
      await this.#saveSnapshot(rootTaskId, tree);
    return tree;
  }

  /** A failure is only reported, because the log can be reduced again. */
  async #saveSnapshot(rootTaskId: string, tree: TaskTree): Promise<void> {
    try {
      await this.records.saveSnapshot(rootTaskId, tree.head, JSON.stringify(tree));
    } catch (error) {
      this.#onFailure("could not save the state of an ended task", error);
    }
  }

  async #loadRecovery(rootTaskId: string): Promise<TaskRecovery> {
    const liveTree = this.runtime.live(rootTaskId);
    const cached = this.#recoveries.get(rootTaskId);
    // A task that another process runs may be resumed at any time, which changes its epoch.
    const liveEpoch = liveTree?.tasks[rootTaskId]?.epoch;
    if (cached !== undefined && (cached.isFinal || cached.recovery.epoch === liveEpoch))
      return cached.recovery;
    const tree = liveTree ?? (await this.loadTree(rootTaskId));
    const recovery = await findRecovery(rootTaskId, tree, this.records);
    const isFinal = hasEnded(tree.tasks[rootTaskId]?.status);
    if (liveTree === undefined && !isFinal) return recovery;
    this.#recoveries.set(rootTaskId, { recovery, isFinal });
    const [oldest] = this.#recoveries.keys();
    if (this.#recoveries.size > maxCachedRecoveries && oldest !== undefined)
      this.#recoveries.delete(oldest);
    return recovery;
  }
}
