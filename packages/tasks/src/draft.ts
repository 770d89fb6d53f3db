import type { Block, OutputItem } from "./items.ts";
import type { TaskApproval, TaskReference, TaskState, TaskTree } from "./state.ts";

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

type ItemOf<T extends OutputItem["type"]> = Extract<OutputItem, { type: T }>;

/** Where an event belongs. */
export interface Place {
  task_id: string;
  output_index: number;
}

/**
 * A tree that is being changed. What was made since the last `publish` is owned and changed in place; anything else,
 * published or out of an event, is copied at its first touch. So a batch of deltas costs one copy of the path to them,
 * and what nobody touched stays the same object.
 */
export class Draft {
  head: number;
  rootTaskId: string;
  #tasks: Record<string, TaskState>;
  #references: readonly TaskReference[];
  #approvals: readonly TaskApproval[];
  #published: TaskTree;
  readonly #owned = new Set<object>();
  /** The task that was touched last, if it is owned: most events are about the same one. */
  #task: Mutable<TaskState> | undefined;

  constructor(from: TaskTree) {
    this.head = from.head;
    this.rootTaskId = from.root_task_id;
    this.#tasks = from.tasks;
    this.#references = from.references;
    this.#approvals = from.approvals;
    this.#published = from;
  }

  publish(): TaskTree {
    if (this.#published.head === this.head) return this.#published;
    this.#owned.clear();
    this.#task = undefined;
    this.#published = {
      root_task_id: this.rootTaskId,
      head: this.head,
      tasks: this.#tasks,
      references: this.#references,
      approvals: this.#approvals,
    };
    return this.#published;
  }

  addTask(task: TaskState): void {
    if (Object.hasOwn(this.#tasks, task.task_id)) return;
    // A spread, because an assignment to the name `__proto__` would not make a task.
    this.#tasks = this.own({ ...this.#tasks, [task.task_id]: this.own(task) });
  }

  task(id: string): Mutable<TaskState> | undefined {
    if (this.#task?.task_id === id) return this.#task;
    const task = Object.hasOwn(this.#tasks, id) ? this.#tasks[id] : undefined;
    if (task === undefined) return undefined;
    this.#tasks = this.object(this.#tasks);
    this.#task = this.object(task);
    this.#tasks[id] = this.#task;
    return this.#task;
  }

  item<T extends OutputItem["type"]>(place: Place, ...types: T[]): ItemOf<T> | undefined {
    const task = this.task(place.task_id);
    const item = task?.output[place.output_index];
    if (task === undefined || item === undefined) return undefined;
    if (!(types as string[]).includes(item.type)) return undefined;
    const output = this.list(task.output);
    const owned = this.object(item);
    task.output = output;
    output[place.output_index] = owned;
    return owned as ItemOf<T>;
  }

  blocks(place: Place): Block[] | undefined {
    const item = this.item(place, "message", "tool_result");
    if (item === undefined) return undefined;
    // Items stand among the blocks in views only.
    const blocks = this.list(item.block_list as Block[]);
    item.block_list = blocks;
    return blocks;
  }

  references(): TaskReference[] {
    const references = this.list(this.#references);
    this.#references = references;
    return references;
  }

  approvals(): TaskApproval[] {
    const approvals = this.list(this.#approvals);
    this.#approvals = approvals;
    return approvals;
  }

  object<T extends object>(value: T): Mutable<T> {
    return this.#owned.has(value) ? value : this.own({ ...value });
  }

  list<T>(value: readonly T[] | undefined): T[] {
    if (value !== undefined && this.#owned.has(value)) return value as T[];
    return this.own(value === undefined ? [] : value.slice());
  }

  own<T extends object>(value: T): T {
    this.#owned.add(value);
    return value;
  }
}
