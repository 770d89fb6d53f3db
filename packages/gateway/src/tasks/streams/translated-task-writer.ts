import { coalesce, type LogEntry, type TaskEvent } from "@deltawire/tasks";
import type { EventConnection, StreamSource } from "./event-connection.ts";
import type { TaskFeed } from "./task-stream-writer.ts";

/** Translates a task to another protocol for one client. Receives all events, starting with the first. */
export interface TaskTranslator {
  /** Returns the text to send; empty if there is none. */
  translate(events: readonly TaskEvent[]): string;
  /** Called when all events so far have been translated. Returns more text to send; empty if there is none. */
  onCaughtUp(): string;
  /** Returns the text that keeps an idle connection open. */
  formatKeepAlive(): string;
  /** True if nothing more will be sent, even if the task continues. */
  readonly isDone: boolean;
}

const logPageSize = 500;

/**
 * Streams a translated task on one connection. As in `TaskStreamWriter`, events that the connection does not accept are
 * not buffered, but read from the log when there is room.
 */
export class TranslatedTaskWriter implements StreamSource {
  readonly #task: TaskFeed;
  readonly #translator: TaskTranslator;
  readonly #connection: Pick<EventConnection, "canWrite" | "write" | "wake">;
  readonly #unsubscribe: () => void;
  /** Number of the last event that was written. */
  #lastSentNumber = -1;
  /** Number of the last known event in the log. */
  #head = -1;
  /** Number of the last event that the runtime has delivered. */
  #deliveredHead = -1;
  /** True if events were translated that the store has lost. */
  #hasLostEvents = false;
  #isWriting = false;

  constructor(
    task: TaskFeed,
    translator: TaskTranslator,
    connection: Pick<EventConnection, "canWrite" | "write" | "wake">,
  ) {
    this.#task = task;
    this.#translator = translator;
    this.#connection = connection;
    this.#unsubscribe = task.runtime.subscribe(task.rootTaskId, (entries, { head }) =>
      this.#onEntries(entries, head),
    );
  }

  /** Loads the number of the last event in the log. Returns false if there is no log. */
  async loadHead(): Promise<boolean> {
    const logHead = await this.#task.records.head(this.#task.rootTaskId);
    if (logHead === undefined) return false;
    this.#head = Math.max(this.#head, logHead.head);
    return true;
  }

  get isBehind(): boolean {
    return !this.#translator.isDone && (this.#hasLostEvents || this.#lastSentNumber < this.#head);
  }

  get isDone(): boolean {
    return this.#translator.isDone;
  }

  async writeNext(): Promise<void> {
    const { records, rootTaskId } = this.#task;
    if (this.#hasLostEvents)
      throw new Error(`the store lost events of ${rootTaskId} that had been sent to a client`);
    this.#isWriting = true;
    try {
      const rows = await records.read(rootTaskId, this.#lastSentNumber, logPageSize);
      if (rows.length === 0)
        throw new Error(`the log of ${rootTaskId} ends before number ${this.#head}`);
      this.#writeEvents(coalesce(rows.map(({ json }) => JSON.parse(json) as TaskEvent)));
    } finally {
      this.#isWriting = false;
    }
  }

  formatKeepAlive(): string {
    return this.#translator.formatKeepAlive();
  }

  /** Must be called once, even after a failure. */
  release(): void {
    this.#unsubscribe();
  }

  #onEntries(entries: readonly LogEntry[], head: number): void {
    if (head < this.#deliveredHead && head < this.#lastSentNumber) {
      this.#hasLostEvents = true;
      this.#connection.wake();
    }
    this.#deliveredHead = head;
    if (head <= this.#lastSentNumber || this.#translator.isDone) return;
    const isCurrent = !this.#isWriting && this.#lastSentNumber >= this.#head;
    const newEvents = entries.flatMap(({ event }) =>
      event.sequence_number > this.#lastSentNumber ? [event] : [],
    );
    this.#head = Math.max(this.#head, head);
    if (
      isCurrent &&
      this.#connection.canWrite &&
      newEvents[0]?.sequence_number === this.#lastSentNumber + 1
    )
      this.#writeEvents(newEvents);
    this.#connection.wake();
  }

  #writeEvents(events: readonly TaskEvent[]): void {
    this.#lastSentNumber = events.at(-1)?.sequence_number ?? this.#lastSentNumber;
    let text = this.#translator.translate(events);
    if (this.#lastSentNumber >= this.#head && !this.#translator.isDone)
      text += this.#translator.onCaughtUp();
    if (text !== "") this.#connection.write(text);
  }
}
