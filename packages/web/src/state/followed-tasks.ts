import {
  backoff,
  createTaskStore,
  type EventClient,
  type TaskStoreClient,
  type TaskTree,
} from "@deltawire/tasks";
import type { World } from "../browser/world.ts";
import type { Cell } from "../cell.ts";
import type { Progress } from "./page.ts";
import { TaskProgress } from "./task-progress.ts";

export interface FollowedTasksOptions {
  readonly client: EventClient;
  readonly world: Pick<World, "schedule" | "random">;
  /** One of the trees is another one now, or is followed no longer. */
  readonly onChange: () => void;
}

interface Followed {
  readonly letGo: () => void;
  refusals: number;
  cancelRetry?: (() => void) | undefined;
  cancelEnd?: (() => void) | undefined;
}

/** A chat names the task of an answer a moment before there is one. */
const mostRefusals = 6;
/** A task that has ended is let go when what it has come to is shown from the chat. */
const letGoAfterMs = 1000;

/** The tasks of all answers that run in chats that are shown. */
export class FollowedTasks {
  readonly #store: TaskStoreClient;
  readonly #progress: TaskProgress;
  readonly #world: FollowedTasksOptions["world"];
  readonly #onChange: () => void;
  readonly #followed = new Map<string, Followed>();
  readonly #cells = new Map<string, Cell<TaskTree | undefined>>();

  constructor({ client, world, onChange }: FollowedTasksOptions) {
    const { schedule } = world;
    this.#world = world;
    this.#onChange = onChange;
    this.#progress = new TaskProgress(schedule);
    this.#store = createTaskStore({
      client,
      schedule,
      onEvent: (rootTaskId, event) => {
        this.#progress.hear(rootTaskId, event);
        if (event.type === "task.stream.refused") this.#tryAgain(rootTaskId);
      },
    });
  }

  tree(taskId: string): Cell<TaskTree | undefined> {
    let found = this.#cells.get(taskId);
    if (found === undefined) {
      found = {
        get: () => this.#store.tree(taskId),
        subscribe: (listener) => this.#store.subscribe(taskId, listener),
      };
      this.#cells.set(taskId, found);
    }
    return found;
  }

  progress(taskId: string): Cell<Readonly<Record<string, Progress>>> {
    return this.#progress.of(taskId);
  }

  /** Those of which something is known. */
  trees(): TaskTree[] {
    return [...this.#followed.keys()].flatMap((taskId) => this.#store.tree(taskId) ?? []);
  }

  follow(taskId: string): void {
    const known = this.#followed.get(taskId);
    if (known !== undefined) {
      known.cancelEnd?.();
      known.cancelEnd = undefined;
      return;
    }
    const letGo = this.#store.subscribe(taskId, this.#onChange);
    this.#followed.set(taskId, { letGo, refusals: 0 });
    this.#store.follow(taskId);
  }

  /** Not in this frame: something may still be drawn from it. */
  unfollowSoon(taskId: string): void {
    const known = this.#followed.get(taskId);
    if (known === undefined || known.cancelEnd !== undefined) return;
    known.cancelEnd = this.#world.schedule(letGoAfterMs, () => this.unfollow(taskId));
  }

  unfollow(taskId: string): void {
    const known = this.#followed.get(taskId);
    if (known === undefined) return;
    known.cancelEnd?.();
    known.cancelRetry?.();
    this.#followed.delete(taskId);
    this.#cells.delete(taskId);
    this.#progress.forget(taskId);
    known.letGo();
    this.#store.unfollow(taskId);
    this.#onChange();
  }

  close(): void {
    for (const { cancelEnd, cancelRetry } of this.#followed.values()) {
      cancelEnd?.();
      cancelRetry?.();
    }
    this.#followed.clear();
    this.#progress.close();
    this.#store.close();
  }

  #tryAgain(taskId: string): void {
    const { schedule, random } = this.#world;
    const known = this.#followed.get(taskId);
    if (known === undefined || known.refusals === mostRefusals) return;
    known.refusals += 1;
    known.cancelRetry = schedule(backoff(known.refusals, random()), () => {
      this.#store.unfollow(taskId);
      this.#store.follow(taskId);
    });
  }
}
