import {
  progressChange,
  type ProgressReport,
  type Schedule,
  type StreamEvent,
  type TaskEvent,
} from "@deltawire/tasks";
import { cell, type Cell, type WritableCell } from "../cell.ts";
import type { Progress } from "./page.ts";

interface Told extends Progress {
  /** Whose call or model it is. */
  readonly taskId: string;
}

type ByKey = Readonly<Record<string, Told>>;

/** What tools and models tell of how far they are, until they are done. By root task, shown once a frame. */
export class TaskProgress {
  readonly #schedule: Schedule;
  readonly #cells = new Map<string, WritableCell<ByKey>>();
  /** What was told since the last frame. */
  readonly #next = new Map<string, ByKey>();
  #cancelFlush: (() => void) | undefined;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  of(rootTaskId: string): Cell<ByKey> {
    return this.#cell(rootTaskId);
  }

  hear(rootTaskId: string, event: TaskEvent | StreamEvent): void {
    // What is still under way is told once more behind it.
    if (event.type === "task.snapshot") return this.#show(rootTaskId, {});
    const change = progressChange(event);
    switch (change?.is) {
      case "report":
        return this.#put(rootTaskId, change.key, toldIn(change.report));
      case "done":
        return this.#keepOnly(rootTaskId, (key) => key !== change.key);
      case "ended":
        return this.#keepOnly(rootTaskId, (_key, { taskId }) => taskId !== change.task_id);
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

  #put(root: string, key: string, told: Told): void {
    this.#show(root, { ...this.#latest(root), [key]: told });
  }

  #keepOnly(root: string, isKept: (key: string, told: Told) => boolean): void {
    const latest = Object.entries(this.#latest(root));
    const kept = latest.filter(([key, told]) => isKept(key, told));
    if (kept.length < latest.length) this.#show(root, Object.fromEntries(kept));
  }

  #latest(root: string): ByKey {
    return this.#next.get(root) ?? this.#cell(root).get();
  }

  #show(root: string, next: ByKey): void {
    this.#next.set(root, next);
    this.#cancelFlush ??= this.#schedule(0, () => {
      this.#cancelFlush = undefined;
      for (const [id, latest] of this.#next) this.#cell(id).set(latest);
      this.#next.clear();
    });
  }

  #cell(root: string): WritableCell<ByKey> {
    let found = this.#cells.get(root);
    if (found === undefined) {
      found = cell<ByKey>({});
      this.#cells.set(root, found);
    }
    return found;
  }
}

function toldIn(report: ProgressReport): Told {
  const { task_id: taskId, message = "" } = report;
  if (report.type === "task.warning") return { taskId, message, again: { failed: report.attempt } };
  return { taskId, message, fraction: report.fraction };
}
