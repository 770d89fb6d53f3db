import {
  backoffMs,
  createTaskStore,
  type EventClient,
  type TaskStore,
  type TaskTree,
} from "@deltawire/tasks";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";
import type { Cell } from "../cell.ts";
import type { ProgressState } from "./app-store.ts";
import { TaskProgress } from "./task-progress.ts";

export interface FollowedTasksOptions {
  readonly client: EventClient;
  readonly environment: Pick<BrowserEnvironment, "schedule" | "random">;
  /** Called when a tree has changed or is no longer followed. */
  readonly onChange: () => void;
}

interface FollowedTask {
  readonly unsubscribe: () => void;
  rejections: number;
  cancelRetry?: (() => void) | undefined;
  cancelUnfollow?: (() => void) | undefined;
}

/** A chat may contain the id of a task a moment before the task exists, so rejections are retried. */
const maxRejections = 6;
/** An ended task is followed until its answer is rendered from the chat. */
const unfollowDelayMs = 1000;

/** Follows the tasks of the running answers in open chats. */
export class FollowedTasks {
  readonly #store: TaskStore;
  readonly #progress: TaskProgress;
  readonly #environment: FollowedTasksOptions["environment"];
  readonly #onChange: () => void;
  readonly #followedTasks = new Map<string, FollowedTask>();
  readonly #cells = new Map<string, Cell<TaskTree | undefined>>();

  constructor({ client, environment, onChange }: FollowedTasksOptions) {
    const { schedule } = environment;
    this.#environment = environment;
    this.#onChange = onChange;
    this.#progress = new TaskProgress(schedule);
    this.#store = createTaskStore({
      client,
      schedule,
      onEvent: (rootTaskId, event) => {
        this.#progress.handleEvent(rootTaskId, event);
        if (event.type === "task.stream.rejected") this.#retry(rootTaskId);
      },
    });
  }

  tree(taskId: string): Cell<TaskTree | undefined> {
    let treeCell = this.#cells.get(taskId);
    if (treeCell === undefined) {
      treeCell = {
        get: () => this.#store.tree(taskId),
        subscribe: (listener) => this.#store.subscribe(taskId, listener),
      };
      this.#cells.set(taskId, treeCell);
    }
    return treeCell;
  }

  progress(taskId: string): Cell<Readonly<Record<string, ProgressState>>> {
    return this.#progress.get(taskId);
  }

  /** Returns the trees that are loaded so far. */
  trees(): TaskTree[] {
    return [...this.#followedTasks.keys()].flatMap((taskId) => this.#store.tree(taskId) ?? []);
  }

  follow(taskId: string): void {
    const task = this.#followedTasks.get(taskId);
    if (task !== undefined) {
      task.cancelUnfollow?.();
      task.cancelUnfollow = undefined;
      return;
    }
    const unsubscribe = this.#store.subscribe(taskId, this.#onChange);
    this.#followedTasks.set(taskId, { unsubscribe, rejections: 0 });
    this.#store.follow(taskId);
  }

  /** Delayed, because components may still render the tree. */
  unfollowSoon(taskId: string): void {
    const task = this.#followedTasks.get(taskId);
    if (task === undefined || task.cancelUnfollow !== undefined) return;
    task.cancelUnfollow = this.#environment.schedule(unfollowDelayMs, () => this.unfollow(taskId));
  }

  unfollow(taskId: string): void {
    const task = this.#followedTasks.get(taskId);
    if (task === undefined) return;
    task.cancelUnfollow?.();
    task.cancelRetry?.();
    this.#followedTasks.delete(taskId);
    this.#cells.delete(taskId);
    this.#progress.forget(taskId);
    task.unsubscribe();
    this.#store.unfollow(taskId);
    this.#onChange();
  }

  close(): void {
    for (const { cancelUnfollow, cancelRetry } of this.#followedTasks.values()) {
      cancelUnfollow?.();
      cancelRetry?.();
    }
    this.#followedTasks.clear();
    this.#progress.close();
    this.#store.close();
  }

  #retry(taskId: string): void {
    const { schedule, random } = this.#environment;
    const task = this.#followedTasks.get(taskId);
    if (task === undefined || task.rejections === maxRejections) return;
    task.rejections += 1;
    task.cancelRetry = schedule(backoffMs(task.rejections, random()), () => {
      this.#store.unfollow(taskId);
      this.#store.follow(taskId);
    });
  }
}
