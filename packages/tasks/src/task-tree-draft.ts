import type { Block, OutputItem } from "./items.ts";
import type { TaskApproval, TaskReference, TaskState, TaskTree } from "./state.ts";

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

type ItemOfType<T extends OutputItem["type"]> = Extract<OutputItem, { type: T }>;

/** The item that an event changes. */
export interface ItemPosition {
  task_id: string;
  output_index: number;
}

/**
 * A mutable draft of a tree. Objects that were created since the last `publish` are owned and changed in place; published
 * objects and objects from events are copied before the first change. So a batch of deltas copies each object on the path to the
 * changed part only once, and unchanged objects are reused.
 */
export class TaskTreeDraft {
  head: number;
  rootTaskId: string;
  #tasks: Record<string, TaskState>;
  #references: readonly TaskReference[];
  #approvals: readonly TaskApproval[];
  #publishedTree: TaskTree;
  readonly #ownedObjects = new Set<object>();
  /** The last used task, if it is owned: most events are about the same task. */
  #lastTask: Mutable<TaskState> | undefined;

  constructor(from: TaskTree) {
    this.head = from.head;
    this.rootTaskId = from.root_task_id;
    this.#tasks = from.tasks;
    this.#references = from.references;
    this.#approvals = from.approvals;
    this.#publishedTree = from;
  }

  publish(): TaskTree {
    if (this.#publishedTree.head === this.head) return this.#publishedTree;
    this.#ownedObjects.clear();
    this.#lastTask = undefined;
    this.#publishedTree = {
      root_task_id: this.rootTaskId,
      head: this.head,
      tasks: this.#tasks,
      references: this.#references,
      approvals: this.#approvals,
    };
    return this.#publishedTree;
  }

  addTask(task: TaskState): void {
    if (Object.hasOwn(this.#tasks, task.task_id)) return;
    // Not an assignment: the id may be `__proto__`.
    this.#tasks = this.markOwned({ ...this.#tasks, [task.task_id]: this.markOwned(task) });
  }

  /** Returns the owned task. */
  ownTask(id: string): Mutable<TaskState> | undefined {
    if (this.#lastTask?.task_id === id) return this.#lastTask;
    const task = Object.hasOwn(this.#tasks, id) ? this.#tasks[id] : undefined;
    if (task === undefined) return undefined;
    this.#tasks = this.ownObject(this.#tasks);
    this.#lastTask = this.ownObject(task);
    this.#tasks[id] = this.#lastTask;
    return this.#lastTask;
  }

  /** Returns the owned item if it has one of the types. */
  ownItem<T extends OutputItem["type"]>(
    position: ItemPosition,
    ...types: T[]
  ): ItemOfType<T> | undefined {
    const task = this.ownTask(position.task_id);
    const item = task?.output[position.output_index];
    if (task === undefined || item === undefined) return undefined;
    if (!(types as string[]).includes(item.type)) return undefined;
    const output = this.ownList(task.output);
    const ownedItem = this.ownObject(item);
    task.output = output;
    output[position.output_index] = ownedItem;
    return ownedItem as ItemOfType<T>;
  }

  /** Returns the owned list of blocks of a message or a result. */
  ownBlocks(position: ItemPosition): Block[] | undefined {
    const item = this.ownItem(position, "message", "tool_result");
    if (item === undefined) return undefined;
    // Only views have items among the blocks.
    const blocks = this.ownList(item.block_list as Block[]);
    item.block_list = blocks;
    return blocks;
  }

  ownReferences(): TaskReference[] {
    const references = this.ownList(this.#references);
    this.#references = references;
    return references;
  }

  ownApprovals(): TaskApproval[] {
    const approvals = this.ownList(this.#approvals);
    this.#approvals = approvals;
    return approvals;
  }

  /** Returns the object itself if it is owned, otherwise an owned copy. */
  ownObject<T extends object>(value: T): Mutable<T> {
    return this.#ownedObjects.has(value) ? value : this.markOwned({ ...value });
  }

  /** Like `ownObject`; `undefined` becomes an empty list. */
  ownList<T>(value: readonly T[] | undefined): T[] {
    if (value !== undefined && this.#ownedObjects.has(value)) return value as T[];
    return this.markOwned(value === undefined ? [] : value.slice());
  }

  markOwned<T extends object>(value: T): T {
    this.#ownedObjects.add(value);
    return value;
  }
}
