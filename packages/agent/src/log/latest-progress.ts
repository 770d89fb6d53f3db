import { progressChange, type LogEntry, type TaskEvent } from "@deltawire/tasks";

/** Of all that one root task tells, as JSON: a few thousand reports. */
const mostLetters = 256 * 1024;

/**
 * How far the calls and the models of a tree are: the last that each has told, until it is done. It is no part of a task's
 * state, so whoever comes in between would not know.
 */
export class LatestProgress {
  /** The latest last. */
  readonly #reports = new Map<string, LogEntry>();
  #letters = 0;

  get events(): TaskEvent[] {
    return [...this.#reports.values()].map(({ event }) => event);
  }

  note(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.#noteOne(entry);
  }

  #noteOne(entry: LogEntry): void {
    const change = progressChange(entry.event);
    switch (change?.is) {
      case "report":
        return this.#keep(change.key, entry);
      case "done":
        return this.#drop(change.key);
      case "ended":
        for (const [key, { event }] of this.#reports)
          if (event.task_id === change.task_id) this.#drop(key);
        return undefined;
      default:
        return undefined;
    }
  }

  #keep(key: string, entry: LogEntry): void {
    this.#drop(key);
    this.#reports.set(key, entry);
    this.#letters += entry.json.length;
    for (const [oldest] of this.#reports) {
      if (this.#letters <= mostLetters) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#letters -= this.#reports.get(key)?.json.length ?? 0;
    this.#reports.delete(key);
  }
}
