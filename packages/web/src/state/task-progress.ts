import {
  toProgressChange,
  type ProgressReport,
  type Schedule,
  type StreamEvent,
  type TaskEvent,
} from "@deltawire/tasks";
import { createCell, type Cell, type WritableCell } from "../cell.ts";
import type { ProgressState } from "./app-store.ts";

interface TaskProgressEntry extends ProgressState {
  /** The task that the call or model belongs to. */
  readonly taskId: string;
}

type ProgressByKey = Readonly<Record<string, TaskProgressEntry>>;

/** Progress reports of running tools and models by root task, published once per frame. */
export class TaskProgress {
  readonly #schedule: Schedule;
  readonly #cells = new Map<string, WritableCell<ProgressByKey>>();
  /** States that are published in the next frame, by root task id. */
  readonly #unpublished = new Map<string, ProgressByKey>();
  #cancelFlush: (() => void) | undefined;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  get(rootTaskId: string): Cell<ProgressByKey> {
    return this.#getCell(rootTaskId);
  }

  handleEvent(rootTaskId: string, event: TaskEvent | StreamEvent): void {
    // After a snapshot, the reports of all running calls are sent again.
    if (event.type === "task.snapshot") return this.#publishSoon(rootTaskId, {});
    const change = toProgressChange(event);
    switch (change?.type) {
      case "report":
        return this.#put(rootTaskId, change.key, toProgressEntry(change.report));
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
    this.#unpublished.delete(rootTaskId);
  }

  close(): void {
    this.#cancelFlush?.();
    this.#cells.clear();
    this.#unpublished.clear();
  }

  #put(root: string, key: string, entry: TaskProgressEntry): void {
    this.#publishSoon(root, { ...this.#getLatest(root), [key]: entry });
  }

  #keepOnly(root: string, shouldKeep: (key: string, entry: TaskProgressEntry) => boolean): void {
    const latest = Object.entries(this.#getLatest(root));
    const remainingEntries = latest.filter(([key, entry]) => shouldKeep(key, entry));
    if (remainingEntries.length < latest.length)
      this.#publishSoon(root, Object.fromEntries(remainingEntries));
  }

  #getLatest(root: string): ProgressByKey {
    return this.#unpublished.get(root) ?? this.#getCell(root).get();
  }

  #publishSoon(root: string, next: ProgressByKey): void {
    this.#unpublished.set(root, next);
    this.#cancelFlush ??= this.#schedule(0, () => {
      this.#cancelFlush = undefined;
      for (const [id, latest] of this.#unpublished) this.#getCell(id).set(latest);
      this.#unpublished.clear();
    });
  }

  #getCell(root: string): WritableCell<ProgressByKey> {
    let cell = this.#cells.get(root);
    if (cell === undefined) {
      cell = createCell<ProgressByKey>({});
      this.#cells.set(root, cell);
    }
    return cell;
  }
}

function toProgressEntry(report: ProgressReport): TaskProgressEntry {
  const { task_id: taskId, message = "" } = report;
  if (report.type === "task.warning")
    return { taskId, message, retry: { failedAttempts: report.attempt } };
  return { taskId, message, fraction: report.fraction };
}
