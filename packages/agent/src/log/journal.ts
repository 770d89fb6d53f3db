import type { LogEntry, TaskLog, TaskTree } from "@deltawire/tasks";

export interface JournalOptions {
  log: TaskLog;
  rootTaskId: string;
  /** The reduction of all that has been written so far. */
  state: () => TaskTree;
  /** A batch is kept; `state` is the reduction up to its end. */
  onKept: (entries: readonly LogEntry[], state: TaskTree) => void;
  /** A batch could not be kept; nothing more will be written. */
  onFailed: (error: unknown) => void;
}

/** What may be lost with the power of the machine, because it is said again when the model is asked again. */
const fleeting = new Set([
  "task.text.delta",
  "task.reasoning_summary_text.delta",
  "task.reasoning_text.delta",
  "task.tool_call_arguments.delta",
  "task.text.annotation.added",
  "task.tool_execution.progress",
  "task.round.progress",
  "task.warning",
]);

/**
 * The way of a task's events into the log: written without waiting, kept in batches, one a turn of the event loop at the
 * most. Nobody hears of an event before it is kept.
 */
export class Journal {
  readonly #options: JournalOptions;
  #pending: LogEntry[] = [];
  #replaced: LogEntry[] = [];
  #durable = false;
  #written = -1;
  #kept = -1;
  #running = false;
  #failure: { error: unknown } | undefined;
  #waiting: { number: number; resolve: () => void; reject: (error: unknown) => void }[] = [];

  constructor(options: JournalOptions, head: number) {
    this.#options = options;
    this.#written = head;
    this.#kept = head;
  }

  /** `instead` takes the place of an earlier entry when this one is kept, and neither happens without the other. */
  write(entry: LogEntry, instead?: LogEntry): void {
    if (instead !== undefined) this.#replace(instead);
    this.#pending.push(entry);
    this.#durable ||= !fleeting.has(entry.event.type);
    this.#written = entry.event.sequence_number;
    if (this.#running || this.#failure !== undefined) return;
    this.#running = true;
    setImmediate(() => void this.#keep());
  }

  /** Resolves when all that was written before is kept. */
  settled(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(asError(this.#failure.error));
    if (this.#kept >= this.#written) return Promise.resolve();
    const number = this.#written;
    return new Promise((resolve, reject) => this.#waiting.push({ number, resolve, reject }));
  }

  #replace(instead: LogEntry): void {
    const { sequence_number: number } = instead.event;
    const at = this.#pending.findIndex(({ event }) => event.sequence_number === number);
    // What nobody has heard of yet is never heard.
    if (at >= 0) this.#pending[at] = instead;
    else this.#replaced.push(instead);
  }

  async #keep(): Promise<void> {
    const { log, rootTaskId, state, onKept, onFailed } = this.#options;
    try {
      while (this.#pending.length > 0) {
        const entries = this.#pending;
        const replaced = this.#replaced;
        const durable = this.#durable;
        const now = state();
        this.#pending = [];
        this.#replaced = [];
        this.#durable = false;
        await log.append(rootTaskId, entries, { durable, replaced });
        this.#kept = now.head;
        onKept(entries, now);
        const met = this.#waiting.filter(({ number }) => number <= this.#kept);
        this.#waiting = this.#waiting.filter(({ number }) => number > this.#kept);
        for (const { resolve } of met) resolve();
      }
      this.#running = false;
    } catch (error) {
      this.#failure = { error };
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      onFailed(error);
    }
  }
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
