import type { Schedule, StreamEvent, TaskEvent } from "@deltawire/tasks";
import { cell, type Cell, type WritableCell } from "./cell.ts";
import type { Progress } from "./page.ts";

type ById = Readonly<Record<string, Progress>>;

/** What tools and models tell of how far they are, until they are done. By root task, shown once a frame. */
export class TaskProgress {
  readonly #schedule: Schedule;
  readonly #cells = new Map<string, WritableCell<ById>>();
  /** What was told since the last frame. */
  readonly #next = new Map<string, ById>();
  #cancelFlush: (() => void) | undefined;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  of(rootTaskId: string): Cell<ById> {
    return this.#cell(rootTaskId);
  }

  hear(rootTaskId: string, event: TaskEvent | StreamEvent): void {
    switch (event.type) {
      case "task.tool_execution.progress":
        return this.#put(rootTaskId, event.call_id, event);
      case "task.round.progress":
        return this.#put(rootTaskId, event.task_id, event);
      case "task.warning":
        // The model is asked again after a while, and until then nothing else is heard of it.
        if (event.retry_in_ms === undefined) return undefined;
        return this.#put(rootTaskId, event.task_id, {
          message: event.message,
          again: { failed: event.attempt },
        });
      case "task.snapshot":
        // What is still under way is told once more behind it.
        return this.#show(rootTaskId, {});
      case "task.tool_execution.done":
        return this.#drop(rootTaskId, event.call_id);
      case "task.output_item.added":
      case "task.round.done":
      case "task.completed":
      case "task.failed":
      case "task.canceled":
      case "task.expired":
        return this.#drop(rootTaskId, event.task_id);
      default:
        return undefined;
    }
  }

  forget(rootTaskId: string): void {
    this.#cells.delete(rootTaskId);
    this.#next.delete(rootTaskId);
  }

  close(): void {
    this.#cancelFlush?.();
    this.#cells.clear();
    this.#next.clear();
  }

  #put(root: string, id: string, told: Partial<Progress>): void {
    const { message = "", fraction, again } = told;
    this.#show(root, { ...this.#latest(root), [id]: { message, fraction, again } });
  }

  #drop(root: string, id: string): void {
    const latest = this.#latest(root);
    if (!Object.hasOwn(latest, id)) return;
    const { [id]: _done, ...rest } = latest;
    this.#show(root, rest);
  }

  #latest(root: string): ById {
    return this.#next.get(root) ?? this.#cell(root).get();
  }

  #show(root: string, next: ById): void {
    this.#next.set(root, next);
    this.#cancelFlush ??= this.#schedule(0, () => {
      this.#cancelFlush = undefined;
      for (const [id, latest] of this.#next) this.#cell(id).set(latest);
      this.#next.clear();
    });
  }

  #cell(root: string): WritableCell<ById> {
    let found = this.#cells.get(root);
    if (found === undefined) {
      found = cell<ById>({});
      this.#cells.set(root, found);
    }
    return found;
  }
}
