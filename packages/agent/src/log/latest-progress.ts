import type { LogEntry, TaskEvent } from "@deltawire/tasks";

/** Of all that one root task tells, as JSON: a few thousand reports. */
const mostLetters = 256 * 1024;

/**
 * How far the calls and the models of a tree are: the last that each has told, until it is done. It is no part of a task's
 * state, so whoever comes in between would not know.
 */
export class LatestProgress {
  /** By call, or by the task whose model it is; the latest last. */
  readonly #reports = new Map<string, LogEntry>();
  #letters = 0;

  get events(): TaskEvent[] {
    return [...this.#reports.values()].map(({ event }) => event);
  }

  note(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.#noteOne(entry);
  }

  #noteOne(entry: LogEntry): void {
    const { event } = entry;
    switch (event.type) {
      case "task.tool_execution.progress":
        return this.#keep(ofCall(event), entry);
      case "task.round.progress":
        return this.#keep(ofModel(event), entry);
      case "task.warning":
        if (event.retry_in_ms !== undefined) this.#keep(ofModel(event), entry);
        return undefined;
      case "task.tool_execution.done":
        return this.#drop(ofCall(event));
      case "task.output_item.added":
      case "task.round.done":
        return this.#drop(ofModel(event));
      case "task.completed":
      case "task.failed":
      case "task.canceled":
      case "task.expired":
        for (const [of, told] of this.#reports)
          if (told.event.task_id === event.task_id) this.#drop(of);
        return undefined;
      default:
        return undefined;
    }
  }

  #keep(of: string, entry: LogEntry): void {
    this.#drop(of);
    this.#reports.set(of, entry);
    this.#letters += entry.json.length;
    for (const [oldest] of this.#reports) {
      if (this.#letters <= mostLetters) return;
      this.#drop(oldest);
    }
  }

  #drop(of: string): void {
    this.#letters -= this.#reports.get(of)?.json.length ?? 0;
    this.#reports.delete(of);
  }
}

/** The task of a sub-agent has the id of its call. */
const ofCall = ({ call_id }: { call_id: string }): string => `call ${call_id}`;
const ofModel = ({ task_id }: { task_id: string }): string => `model of ${task_id}`;
