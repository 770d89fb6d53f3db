import type { EventClient } from "./connection/event-client.ts";
import type { ConnectionInfo, Schedule } from "./connection/reconnecting-stream.ts";
import type { StreamEvent, TaskEvent } from "./events.ts";
import type { OutputItem, RetractedItem } from "./items.ts";
import type { TaskTree, TaskView } from "./state.ts";
import {
  singleTaskClient,
  TaskFollower,
  type Connect,
  type FollowOptions,
} from "./task-follower.ts";
import { taskView } from "./view.ts";

export type TaskStoreOptions = {
  schedule: Schedule;
  /** Receives each event of a task that is followed, and of its sub-agents, before the store applies it. */
  onEvent?: (rootTaskId: string, event: TaskEvent | StreamEvent) => void;
} & (
  | {
      /** All tasks on the one connection of a client, which `followChats` can share. */
      client: EventClient;
    }
  | {
      /** A connection for each task. */
      connect: Connect;
      /** Spreads the waits, so that the readers of a server that comes back do not all come at once: `Math.random`. */
      random?: () => number;
    }
);

export interface TaskStoreClient {
  /** Begins to follow; does nothing for a task that is followed already. */
  follow(taskId: string, options?: FollowOptions): void;
  /** Lets go of the connection and of what was known. Subscribers stay, and are told. */
  unfollow(taskId: string): void;
  /** Undefined before the first event and for a task that nobody follows. */
  tree(taskId: string): TaskTree | undefined;
  /** The same object as long as nothing has changed. */
  view(taskId: string): TaskView | undefined;
  /** An item of the task, or of one below it. */
  item(taskId: string, itemId: string): OutputItem | RetractedItem | undefined;
  connection(taskId: string): ConnectionInfo | undefined;
  /** Told once a batch, of changes in the tree and in the connection. */
  subscribe(taskId: string, listener: () => void): () => void;
  /** Told only when this item is another object than before. */
  subscribeItem(taskId: string, itemId: string, listener: () => void): () => void;
  close(): void;
}

/**
 * Follows tasks, reconnects where each of them got to, and notifies subscribers once for all that came before a timer of
 * 0 ms. It has no platform: a page hands in its own.
 *
 * ```ts
 * const schedule = (ms, run) => {
 *   const timer = setTimeout(run, ms);
 *   return () => clearTimeout(timer);
 * };
 * const transport = eventsOverFetch(globalThis, { base: "" });
 * const client = new EventClient({ transport, schedule, random: Math.random });
 * const store = createTaskStore({ client, schedule });
 * client.open();
 * store.follow("task_1");
 * store.subscribe("task_1", () => draw(store.view("task_1")));
 * ```
 */
export function createTaskStore(options: TaskStoreOptions): TaskStoreClient {
  return new Store(options);
}

class Store implements TaskStoreClient {
  readonly #options: TaskStoreOptions;
  readonly #tasks = new Map<string, Followed>();
  readonly #heard = new Set<string>();
  #cancelFlush: (() => void) | undefined;

  constructor(options: TaskStoreOptions) {
    this.#options = options;
  }

  follow(taskId: string, options: FollowOptions = {}): void {
    const task = this.#task(taskId);
    if (task.follower !== undefined) return;
    const client = this.#client();
    task.follower = new TaskFollower({
      ...options,
      taskId,
      client,
      onEvent: (event) => this.#options.onEvent?.(taskId, event),
      onChange: () => this.#hear(taskId),
    });
    if (!("client" in this.#options)) client.open();
    show(task);
    this.#hear(taskId);
  }

  unfollow(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task?.follower === undefined) return;
    task.follower.close();
    task.follower = undefined;
    show(task);
    this.#hear(taskId);
  }

  tree(taskId: string): TaskTree | undefined {
    return this.#tasks.get(taskId)?.tree;
  }

  view(taskId: string): TaskView | undefined {
    const task = this.#tasks.get(taskId);
    if (task?.tree?.tasks[taskId] === undefined) return undefined;
    task.view ??= taskView(task.tree, taskId);
    return task.view;
  }

  item(taskId: string, itemId: string): OutputItem | RetractedItem | undefined {
    const tree = this.tree(taskId);
    return tree === undefined ? undefined : at(tree, placeOf(tree, itemId));
  }

  connection(taskId: string): ConnectionInfo | undefined {
    return this.#tasks.get(taskId)?.connection;
  }

  subscribe(taskId: string, listener: () => void): () => void {
    return this.#add(taskId, this.#task(taskId).listeners, { tell: listener });
  }

  subscribeItem(taskId: string, itemId: string, listener: () => void): () => void {
    const seen = this.item(taskId, itemId);
    const own = { tell: listener, itemId, seen, place: undefined };
    return this.#add(taskId, this.#task(taskId).itemListeners, own);
  }

  close(): void {
    for (const task of this.#tasks.values()) {
      task.follower?.close();
      task.listeners.clear();
      task.itemListeners.clear();
    }
    this.#tasks.clear();
    this.#heard.clear();
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
  }

  #client(): EventClient {
    if ("client" in this.#options) return this.#options.client;
    const { connect, schedule, random = () => 1 } = this.#options;
    return singleTaskClient(connect, { schedule, random });
  }

  #task(taskId: string): Followed {
    let task = this.#tasks.get(taskId);
    if (task === undefined) {
      task = { isUntold: false, listeners: new Set(), itemListeners: new Set() };
      this.#tasks.set(taskId, task);
    }
    return task;
  }

  #add<T>(taskId: string, listeners: Set<T>, listener: T): () => void {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      this.#forgetIfIdle(taskId);
    };
  }

  #forgetIfIdle(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task?.follower !== undefined) return;
    if (task?.listeners.size === 0 && task.itemListeners.size === 0) this.#tasks.delete(taskId);
  }

  #hear(taskId: string): void {
    this.#heard.add(taskId);
    this.#cancelFlush ??= this.#options.schedule(0, () => this.#flush());
  }

  #flush(): void {
    this.#cancelFlush = undefined;
    const changed: Followed[] = [];
    for (const taskId of this.#heard) {
      const task = this.#tasks.get(taskId);
      if (task === undefined) continue;
      show(task);
      if (task.isUntold) changed.push(task);
      task.isUntold = false;
      this.#forgetIfIdle(taskId);
    }
    this.#heard.clear();
    // All show what is new before the first is told.
    for (const { tree, listeners, itemListeners } of changed) {
      for (const listener of itemListeners) if (hasChanged(listener, tree)) listener.tell();
      for (const listener of listeners) listener.tell();
    }
  }
}

/** A task and what the page sees of it, which is what there was at the last flush. */
interface Followed {
  follower?: TaskFollower | undefined;
  tree?: TaskTree | undefined;
  view?: TaskView | undefined;
  connection?: ConnectionInfo | undefined;
  isUntold: boolean;
  readonly listeners: Set<{ tell: () => void }>;
  readonly itemListeners: Set<ItemListener>;
}

interface ItemListener {
  readonly tell: () => void;
  readonly itemId: string;
  seen: OutputItem | RetractedItem | undefined;
  place: ItemPlace | undefined;
}

interface ItemPlace {
  task_id: string;
  index: number;
}

/** From here on the page sees what there is now. */
function show(task: Followed): void {
  const tree = task.follower?.tree.head === -1 ? undefined : task.follower?.tree;
  const connection = task.follower?.connection;
  if (tree === task.tree && connection === task.connection) return;
  if (tree !== task.tree) task.view = undefined;
  task.tree = tree;
  task.connection = connection;
  task.isUntold = true;
}

function hasChanged(listener: ItemListener, tree: TaskTree | undefined): boolean {
  let item = tree && at(tree, listener.place);
  if (tree !== undefined && item?.id !== listener.itemId) {
    listener.place = placeOf(tree, listener.itemId);
    item = at(tree, listener.place);
  }
  if (item === listener.seen) return false;
  listener.seen = item;
  return true;
}

/** Found once: an item never leaves its place. */
function placeOf(tree: TaskTree, itemId: string): ItemPlace | undefined {
  for (const { task_id, output } of Object.values(tree.tasks)) {
    const index = output.findLastIndex((item) => item.id === itemId);
    if (index !== -1) return { task_id, index };
  }
  return undefined;
}

function at(tree: TaskTree, place: ItemPlace | undefined): OutputItem | RetractedItem | undefined {
  return place && tree.tasks[place.task_id]?.output[place.index];
}
