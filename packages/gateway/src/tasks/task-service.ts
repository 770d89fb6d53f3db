import { setImmediate } from "node:timers/promises";
import type { TaskRequest } from "@deltawire/agent";
import {
  emptyTree,
  hasEnded,
  Reducer,
  taskView,
  withContent,
  type TaskEvent,
  type TaskState,
  type TaskStatus,
  type TaskTree,
  type TaskView,
} from "@deltawire/tasks";
import type { TaskInputBody } from "@deltawire/tasks/chats";
import { recoveryOf, type Recovery } from "./follow/recoveries.ts";
import type { TaskFeed } from "./follow/task-follower.ts";
import { KeyedRequests } from "./keyed-requests.ts";
import type { TaskRecords, TaskRuntime } from "./task-runtime.ts";

export interface TaskServiceOptions {
  runtime: TaskRuntime;
  records: TaskRecords;
  /** What failed behind the back of all clients. */
  onFailure: (message: string, cause: unknown) => void;
  /** A root task begins, waits for a person, goes on or ends. */
  onStatus?: (rootTaskId: string, state: TaskTree) => void;
  now?: () => number;
  /** When what is too old is removed: soon after the start, for a gateway that never runs for an hour, and then each hour. */
  firstPruneMs?: number;
  pruneMs?: number;
}

const rowsAtOnce = 1000;
const mostRecoveries = 1000;
const tenSeconds = 10_000;
const hour = 60 * 60 * 1000;

/** Tasks as clients see them, whether they run in this process, will be taken up again or have ended. */
export class TaskService {
  readonly runtime: TaskRuntime;
  readonly records: TaskRecords;
  readonly keyed: KeyedRequests;
  readonly #onFailure: TaskServiceOptions["onFailure"];
  readonly #onStatus: TaskServiceOptions["onStatus"];
  readonly #pruning: NodeJS.Timeout[];
  readonly #watched = new Map<string, () => void>();
  /** Reductions under way: several who ask for a task wait for the same. */
  readonly #reducing = new Map<string, Promise<TaskTree>>();
  readonly #recoveries = new Map<string, Recovery>();

  constructor({ runtime, records, onFailure, ...options }: TaskServiceOptions) {
    const { now = Date.now, firstPruneMs = tenSeconds, pruneMs = hour } = options;
    this.runtime = runtime;
    this.records = records;
    this.keyed = new KeyedRequests(records);
    this.#onFailure = onFailure;
    this.#onStatus = options.onStatus;
    const prune = (): void => {
      records
        .prune(now())
        .catch((error: unknown) => onFailure("old tasks could not be removed", error));
    };
    this.#pruning = [setTimeout(prune, firstPruneMs).unref(), setInterval(prune, pruneMs).unref()];
  }

  /** Starts a task, or finds the one that the same request has started before. */
  async start(request: TaskRequest, key?: string): Promise<{ taskId: string; isNew: boolean }> {
    if (key === undefined) return { taskId: await this.#started(request), isNew: true };
    return this.keyed.run(key, request, async (taskId) => {
      if ((await this.records.rootOf(taskId)) !== undefined) return { taskId, isNew: false };
      return { taskId: await this.#started(request, taskId), isNew: true };
    });
  }

  /** Tells a task something, with a key once: whether it was told before is asked of its log, also when it has ended. */
  async tell(
    taskId: string,
    { input, delivery }: TaskInputBody,
    key?: string,
  ): Promise<"added" | "added before" | "ended" | "unknown"> {
    if (key === undefined) return this.runtime.input(taskId, input, delivery);
    const tellOnce = async (id: string) => {
      const inputs = (await this.seen(taskId))?.state.inputs ?? [];
      if (inputs.some(({ item }) => item.id === id)) return "added before";
      return this.runtime.input(taskId, input, delivery, id);
    };
    return this.keyed.run(key, ["input", taskId, input, delivery], tellOnce, "in");
  }

  /**
   * Keeps the state of a root task once it has ended, so that nobody has to add up its log again. Also of one that is yet
   * to be taken up.
   */
  watch(rootTaskId: string): void {
    if (this.#watched.has(rootTaskId)) return;
    let last: TaskStatus | undefined;
    const stop = this.runtime.subscribe(rootTaskId, (_entries, state) => {
      const status = state.tasks[rootTaskId]?.status;
      if (status !== last) this.#onStatus?.(rootTaskId, state);
      last = status;
      if (!hasEnded(status)) return;
      this.#unwatch(rootTaskId);
      void this.#keep(rootTaskId, state);
    });
    this.#watched.set(rootTaskId, stop);
  }

  /** Resolves when a task that runs here has ended, or when that has taken too long. */
  async ended(taskId: string, longestMs: number): Promise<void> {
    const rootTaskId = await this.records.rootOf(taskId);
    const live = rootTaskId === undefined ? undefined : this.runtime.live(rootTaskId);
    if (rootTaskId === undefined || live === undefined) return;
    if (hasEnded(live.tasks[taskId]?.status)) return;
    let stop: (() => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, longestMs);
      stop = this.runtime.subscribe(rootTaskId, (_entries, state) => {
        if (hasEnded(state.tasks[taskId]?.status)) resolve();
      });
    });
    clearTimeout(timer);
    stop?.();
  }

  /** Of a root task or a sub-agent's; undefined for one that nobody knows. */
  async view(taskId: string): Promise<TaskView | undefined> {
    return (await this.seen(taskId))?.view;
  }

  /** The same, with the state that it is a view of. */
  async seen(taskId: string): Promise<{ view: TaskView; state: TaskState } | undefined> {
    const rootTaskId = await this.records.rootOf(taskId);
    if (rootTaskId === undefined) return undefined;
    const tree = await this.tree(rootTaskId);
    const state = Object.hasOwn(tree.tasks, taskId) ? tree.tasks[taskId] : undefined;
    return state && { view: taskView(tree, taskId), state };
  }

  /** The view with the `content` of messages and results, also where the task was created without it. */
  async viewWithContent(taskId: string): Promise<TaskView | undefined> {
    const rootTaskId = await this.records.rootOf(taskId);
    if (rootTaskId === undefined) return undefined;
    const { state, contentOf } = await this.runtime.contents(rootTaskId);
    if (!Object.hasOwn(state.tasks, taskId)) return undefined;
    return withContent(taskView(state, taskId), contentOf);
  }

  /** The state of a root task that is known to be there. */
  async tree(rootTaskId: string): Promise<TaskTree> {
    const live = this.runtime.live(rootTaskId);
    if (live !== undefined) return live;
    const underWay = this.#reducing.get(rootTaskId);
    if (underWay !== undefined) return underWay;
    const reducing = this.#reduced(rootTaskId).finally(() => this.#reducing.delete(rootTaskId));
    this.#reducing.set(rootTaskId, reducing);
    return reducing;
  }

  /** What somebody who follows a root task reads from. */
  feed(rootTaskId: string): TaskFeed {
    const { runtime, records } = this;
    return {
      rootTaskId,
      runtime,
      records,
      tree: () => this.tree(rootTaskId),
      recovery: () => this.#recovery(rootTaskId),
    };
  }

  close(): void {
    for (const timer of this.#pruning) clearTimeout(timer);
    for (const rootTaskId of this.#watched.keys()) this.#unwatch(rootTaskId);
  }

  async #started(request: TaskRequest, id?: string): Promise<string> {
    const taskId = await this.runtime.start(request, id);
    this.watch(taskId);
    // It may have ended before anybody listened; then the first who asks for it adds it up.
    if (this.runtime.live(taskId) === undefined) this.#unwatch(taskId);
    return taskId;
  }

  #unwatch(rootTaskId: string): void {
    this.#watched.get(rootTaskId)?.();
    this.#watched.delete(rootTaskId);
  }

  async #reduced(rootTaskId: string): Promise<TaskTree> {
    const saved = await this.records.snapshot(rootTaskId);
    const from = saved === undefined ? emptyTree : (JSON.parse(saved.json) as TaskTree);
    const reducer = new Reducer(from);
    for (;;) {
      const rows = await this.records.read(rootTaskId, reducer.head, rowsAtOnce);
      for (const { json } of rows) reducer.apply(JSON.parse(json) as TaskEvent);
      if (rows.length < rowsAtOnce) break;
      // Others have their turn between the pages of a long log.
      await setImmediate();
    }
    const tree = reducer.state;
    if (tree.head > from.head && hasEnded(tree.tasks[rootTaskId]?.status))
      await this.#keep(rootTaskId, tree);
    return tree;
  }

  /** Without it a log is added up once more, and nothing is lost. */
  async #keep(rootTaskId: string, tree: TaskTree): Promise<void> {
    try {
      await this.records.saveSnapshot(rootTaskId, tree.head, JSON.stringify(tree));
    } catch (error) {
      this.#onFailure("the state of a task that has ended could not be kept", error);
    }
  }

  async #recovery(rootTaskId: string): Promise<Recovery> {
    const live = this.runtime.live(rootTaskId);
    const known = this.#recoveries.get(rootTaskId);
    if (known !== undefined && (live?.tasks[rootTaskId]?.epoch ?? known.epoch) === known.epoch)
      return known;
    const tree = live ?? (await this.tree(rootTaskId));
    const found = await recoveryOf(rootTaskId, tree, this.records);
    // One that waits to be taken up again will be of another epoch then.
    if (live === undefined && !hasEnded(tree.tasks[rootTaskId]?.status)) return found;
    this.#recoveries.set(rootTaskId, found);
    const [oldest] = this.#recoveries.keys();
    if (this.#recoveries.size > mostRecoveries && oldest !== undefined)
      this.#recoveries.delete(oldest);
    return found;
  }
}
