import type { EventClient } from "./connection/event-client.ts";
import type { ConnectionInfo, Schedule } from "./connection/reconnecting-stream.ts";
import type { StreamEvent, TaskEvent } from "./events.ts";
import type { OutputItem, RetractedItem } from "./items.ts";
import type { TaskTree, TaskView } from "./state.ts";
import {
  createSingleTaskClient,
  TaskFollower,
  type ConnectTask,
  type FollowTaskOptions,
} from "./task-follower.ts";
import { buildTaskView } from "./task-view.ts";

export type TaskStoreOptions = {
  schedule: Schedule;
  /** Called with each event of a followed task and of its sub-agents, before the store applies the event. */
  onEvent?: (rootTaskId: string, event: TaskEvent | StreamEvent) => void;
} & (
  | {
      /** One shared connection for all tasks; `followChats` can use it too. */
      client: EventClient;
    }
  | {
      /** A connection for each task. */
      connect: ConnectTask;
      /** Source of jitter, so that clients do not all reconnect at once, such as `Math.random`. Default: no jitter. */
      random?: () => number;
    }
);

export interface TaskStore {
  /** Starts to follow a task. No effect if it is already followed. */
  follow(taskId: string, options?: FollowTaskOptions): void;
  /** Closes the connection and drops the state. Subscribers stay, and are notified. */
  unfollow(taskId: string): void;
  /** Undefined before the first event, and for a task that is not followed. */
  tree(taskId: string): TaskTree | undefined;
  /** Returns the same object until something changes. */
  view(taskId: string): TaskView | undefined;
  /** Finds an item of the task or of a sub-agent. */
  item(taskId: string, itemId: string): OutputItem | RetractedItem | undefined;
  connection(taskId: string): ConnectionInfo | undefined;
  /** Calls the listener once per batch of changes of the tree or the connection. */
  subscribe(taskId: string, listener: () => void): () => void;
  /** Calls the listener only when this item has changed. */
  subscribeItem(taskId: string, itemId: string, listener: () => void): () => void;
  close(): void;
}

/**
 * Follows tasks and resumes each of them after a reconnect. Events are batched with a timer of 0 ms, and subscribers are
 * notified once per batch. Independent of the platform: timers and `fetch` are passed in.
 *
 * ```ts
 * const schedule = (ms, run) => {
 *   const timer = setTimeout(run, ms);
 *   return () => clearTimeout(timer);
 * };
 * const transport = createFetchTransport(globalThis, { baseUrl: "" });
 * const client = new EventClient({ transport, schedule, random: Math.random });
 * const store = createTaskStore({ client, schedule });
 * client.open();
 * store.follow("task_1");
 * store.subscribe("task_1", () => render(store.view("task_1")));
 * ```
 */
export function createTaskStore(options: TaskStoreOptions): TaskStore {
  return new DefaultTaskStore(options);
}

class DefaultTaskStore implements TaskStore {
  readonly #options: TaskStoreOptions;
  readonly #tasks = new Map<string, FollowedTask>();
  readonly #changedTaskIds = new Set<string>();
  #cancelFlush: (() => void) | undefined;

  constructor(options: TaskStoreOptions) {
    this.#options = options;
  }

  follow(taskId: string, options: FollowTaskOptions = {}): void {
    const task = this.#getOrCreateTask(taskId);
    if (task.follower !== undefined) return;
    const client = this.#getClient();
    task.follower = new TaskFollower({
      ...options,
      taskId,
      client,
      onEvent: (event) => this.#options.onEvent?.(taskId, event),
      onChange: () => this.#markChanged(taskId),
    });
    if (!("client" in this.#options)) client.open();
    publishState(task);
    this.#markChanged(taskId);
  }

  unfollow(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task?.follower === undefined) return;
    task.follower.close();
    task.follower = undefined;
    publishState(task);
    this.#markChanged(taskId);
  }

  tree(taskId: string): TaskTree | undefined {
    return this.#tasks.get(taskId)?.tree;
  }

  view(taskId: string): TaskView | undefined {
    const task = this.#tasks.get(taskId);
    if (task?.tree?.tasks[taskId] === undefined) return undefined;
    task.view ??= buildTaskView(task.tree, taskId);
    return task.view;
  }

  item(taskId: string, itemId: string): OutputItem | RetractedItem | undefined {
    const tree = this.tree(taskId);
    return tree === undefined ? undefined : getItemAt(tree, findItemLocation(tree, itemId));
  }

  connection(taskId: string): ConnectionInfo | undefined {
    return this.#tasks.get(taskId)?.connection;
  }

  subscribe(taskId: string, listener: () => void): () => void {
    return this.#addListener(taskId, this.#getOrCreateTask(taskId).listeners, { notify: listener });
  }

  subscribeItem(taskId: string, itemId: string, listener: () => void): () => void {
    const lastItem = this.item(taskId, itemId);
    const itemListener = { notify: listener, itemId, lastItem, location: undefined };
    return this.#addListener(taskId, this.#getOrCreateTask(taskId).itemListeners, itemListener);
  }

  close(): void {
    for (const task of this.#tasks.values()) {
      task.follower?.close();
      task.listeners.clear();
      task.itemListeners.clear();
    }
    this.#tasks.clear();
    this.#changedTaskIds.clear();
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
  }

  #getClient(): EventClient {
    if ("client" in this.#options) return this.#options.client;
    const { connect, schedule, random = () => 1 } = this.#options;
    return createSingleTaskClient(connect, { schedule, random });
  }

  #getOrCreateTask(taskId: string): FollowedTask {
    let task = this.#tasks.get(taskId);
    if (task === undefined) {
      task = { hasUnreportedChange: false, listeners: new Set(), itemListeners: new Set() };
      this.#tasks.set(taskId, task);
    }
    return task;
  }

  #addListener<T>(taskId: string, listeners: Set<T>, listener: T): () => void {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      this.#deleteIfIdle(taskId);
    };
  }

  #deleteIfIdle(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task?.follower !== undefined) return;
    if (task?.listeners.size === 0 && task.itemListeners.size === 0) this.#tasks.delete(taskId);
  }

  #markChanged(taskId: string): void {
    this.#changedTaskIds.add(taskId);
    this.#cancelFlush ??= this.#options.schedule(0, () => this.#flush());
  }

  #flush(): void {
    this.#cancelFlush = undefined;
    const changedTasks: FollowedTask[] = [];
    for (const taskId of this.#changedTaskIds) {
      const task = this.#tasks.get(taskId);
      if (task === undefined) continue;
      publishState(task);
      if (task.hasUnreportedChange) changedTasks.push(task);
      task.hasUnreportedChange = false;
      this.#deleteIfIdle(taskId);
    }
    this.#changedTaskIds.clear();
    // All tasks are published before the first listener is called.
    for (const { tree, listeners, itemListeners } of changedTasks) {
      for (const listener of itemListeners) if (detectItemChange(listener, tree)) listener.notify();
      for (const listener of listeners) listener.notify();
    }
  }
}

/** A task with the state that was published at the last flush. */
interface FollowedTask {
  follower?: TaskFollower | undefined;
  tree?: TaskTree | undefined;
  view?: TaskView | undefined;
  connection?: ConnectionInfo | undefined;
  hasUnreportedChange: boolean;
  readonly listeners: Set<{ notify: () => void }>;
  readonly itemListeners: Set<ItemListener>;
}

interface ItemListener {
  readonly notify: () => void;
  readonly itemId: string;
  lastItem: OutputItem | RetractedItem | undefined;
  location: ItemLocation | undefined;
}

interface ItemLocation {
  task_id: string;
  index: number;
}

/** Makes the current state visible to `tree`, `view` and `connection`. */
function publishState(task: FollowedTask): void {
  const tree = task.follower?.tree.head === -1 ? undefined : task.follower?.tree;
  const connection = task.follower?.connection;
  if (tree === task.tree && connection === task.connection) return;
  if (tree !== task.tree) task.view = undefined;
  task.tree = tree;
  task.connection = connection;
  task.hasUnreportedChange = true;
}

function detectItemChange(listener: ItemListener, tree: TaskTree | undefined): boolean {
  let item = tree && getItemAt(tree, listener.location);
  if (tree !== undefined && item?.id !== listener.itemId) {
    listener.location = findItemLocation(tree, listener.itemId);
    item = getItemAt(tree, listener.location);
  }
  if (item === listener.lastItem) return false;
  listener.lastItem = item;
  return true;
}

/** The result can be cached: an item never moves. */
function findItemLocation(tree: TaskTree, itemId: string): ItemLocation | undefined {
  for (const { task_id, output } of Object.values(tree.tasks)) {
    const index = output.findLastIndex((item) => item.id === itemId);
    if (index !== -1) return { task_id, index };
  }
  return undefined;
}

function getItemAt(
  tree: TaskTree,
  location: ItemLocation | undefined,
): OutputItem | RetractedItem | undefined {
  return location && tree.tasks[location.task_id]?.output[location.index];
}
