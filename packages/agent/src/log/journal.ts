import type { AppendOptions, LogEntry, TaskLog, TaskTree } from "@deltawire/tasks";

export interface JournalOptions {
  log: TaskLog;
  rootTaskId: string;
  lease?: AppendOptions["lease"];
  /** Stored with the first batch of a new task. */
  creation?: AppendOptions["creation"];
  /** Returns the state after all events written so far. */
  getState: () => TaskTree;
  /** Called after a batch was stored, with the state at the end of the batch. */
  onStored: (entries: readonly LogEntry[], state: TaskTree) => void;
  /** Called if a batch could not be stored. Nothing more is written after that. */
  onFailed: (error: unknown) => void;
}

/** Events that a power failure may lose, because they occur again when the round is repeated. */
const transientEventTypes = new Set([
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
 * Writes the events of a task to its log: synchronously into a queue, then to the store in batches, at most one per turn of the
 * event loop. Subscribers receive an event only after it is stored.
 */
export class Journal {
  readonly #options: JournalOptions;
  #pendingEntries: LogEntry[] = [];
  #replacements: LogEntry[] = [];
  /** True if a power failure must not lose the queued entries. */
  #mustBeDurable = false;
  #writtenHead = -1;
  #storedHead = -1;
  #isFlushing = false;
  #failure: { error: unknown } | undefined;
  #waiters: { number: number; resolve: () => void; reject: (error: unknown) => void }[] = [];

  constructor(options: JournalOptions, head: number) {
    this.#options = options;
    this.#writtenHead = head;
    this.#storedHead = head;
  }

  /** Queues an entry. `replacement` replaces an earlier entry in the same transaction. */
  write(entry: LogEntry, replacement?: LogEntry): void {
    if (replacement !== undefined) this.#addReplacement(replacement);
    this.#pendingEntries.push(entry);
    this.#mustBeDurable ||= !transientEventTypes.has(entry.event.type);
    this.#writtenHead = entry.event.sequence_number;
    if (this.#isFlushing || this.#failure !== undefined) return;
    this.#isFlushing = true;
    setImmediate(() => void this.#flush());
  }

  /** Resolves when everything written so far is stored. */
  whenStored(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(toError(this.#failure.error));
    if (this.#storedHead >= this.#writtenHead) return Promise.resolve();
    const number = this.#writtenHead;
    return new Promise((resolve, reject) => this.#waiters.push({ number, resolve, reject }));
  }

  #addReplacement(replacement: LogEntry): void {
    const { sequence_number: number } = replacement.event;
    const index = this.#pendingEntries.findIndex(({ event }) => event.sequence_number === number);
    // The original is still queued, so it is never stored.
    if (index >= 0) this.#pendingEntries[index] = replacement;
    else this.#replacements.push(replacement);
  }

  async #flush(): Promise<void> {
    const { log, rootTaskId, lease, getState, onStored, onFailed } = this.#options;
    try {
      while (this.#pendingEntries.length > 0) {
        const entries = this.#pendingEntries;
        const replacements = this.#replacements;
        const durable = this.#mustBeDurable;
        const currentState = getState();
        this.#pendingEntries = [];
        this.#replacements = [];
        this.#mustBeDurable = false;
        const creation = this.#storedHead < 0 ? this.#options.creation : undefined;
        await log.append(rootTaskId, entries, {
          durable,
          replacements,
          ...(lease === undefined ? {} : { lease }),
          ...(creation === undefined ? {} : { creation }),
        });
        this.#storedHead = currentState.head;
        onStored(entries, currentState);
        const storedWaiters = this.#waiters.filter(({ number }) => number <= this.#storedHead);
        this.#waiters = this.#waiters.filter(({ number }) => number > this.#storedHead);
        for (const { resolve } of storedWaiters) resolve();
      }
      this.#isFlushing = false;
    } catch (error) {
      this.#failure = { error };
      for (const { reject } of this.#waiters.splice(0)) reject(error);
      onFailed(error);
    }
  }
}

function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
