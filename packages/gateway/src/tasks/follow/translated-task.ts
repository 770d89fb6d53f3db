import { coalesce, type LogEntry, type TaskEvent } from "@deltawire/tasks";
import type { EventConnection, StreamSource } from "./event-connection.ts";
import type { TaskFeed } from "./task-follower.ts";

/** A task in the words of another protocol, for one reader. It hears of every event, from the first on. */
export interface TaskTranslator {
  /** What they become; "" where they say nothing. */
  translate(events: readonly TaskEvent[]): string;
  /** Nothing more is known for now. */
  pause(): string;
  /** What says that the stream lives. */
  sign(): string;
  /** There is nothing more to tell, though the task may go on. */
  readonly isOver: boolean;
}

const rowsAtOnce = 500;

/**
 * A task on a connection, told by a translator. As with `TaskFollower`, what the connection does not take is not kept: it is
 * read from the log when there is room.
 */
export class TranslatedTask implements StreamSource {
  readonly #task: TaskFeed;
  readonly #translator: TaskTranslator;
  readonly #connection: Pick<EventConnection, "takesMore" | "write" | "wake">;
  readonly #unsubscribe: () => void;
  /** The last number that was told, and the last that is known to be in the log. */
  #told = -1;
  #head = -1;
  #isStepping = false;

  constructor(
    task: TaskFeed,
    translator: TaskTranslator,
    connection: Pick<EventConnection, "takesMore" | "write" | "wake">,
  ) {
    this.#task = task;
    this.#translator = translator;
    this.#connection = connection;
    this.#unsubscribe = task.runtime.subscribe(task.rootTaskId, (entries) =>
      this.#happened(entries),
    );
  }

  /** Looks up where the log ends; false where there is none. */
  async find(): Promise<boolean> {
    const kept = await this.#task.records.head(this.#task.rootTaskId);
    if (kept === undefined) return false;
    this.#head = Math.max(this.#head, kept.head);
    return true;
  }

  get isBehind(): boolean {
    return !this.#translator.isOver && this.#told < this.#head;
  }

  get isOver(): boolean {
    return this.#translator.isOver;
  }

  async step(): Promise<void> {
    const { records, rootTaskId } = this.#task;
    this.#isStepping = true;
    try {
      const rows = await records.read(rootTaskId, this.#told, rowsAtOnce);
      if (rows.length === 0)
        throw new Error(`the log of ${rootTaskId} ends before number ${this.#head}`);
      this.#tell(coalesce(rows.map(({ json }) => JSON.parse(json) as TaskEvent)));
    } finally {
      this.#isStepping = false;
    }
  }

  sign(): string {
    return this.#translator.sign();
  }

  /** To be called once, whatever became of it. */
  release(): void {
    this.#unsubscribe();
  }

  #happened(entries: readonly LogEntry[]): void {
    const isCurrent = !this.#isStepping && this.#told >= this.#head;
    const news = entries.flatMap(({ event }) =>
      event.sequence_number > this.#told ? [event] : [],
    );
    const [first, last] = [news[0], news.at(-1)];
    if (first === undefined || last === undefined || this.#translator.isOver) return;
    this.#head = Math.max(this.#head, last.sequence_number);
    if (isCurrent && this.#connection.takesMore && first.sequence_number === this.#told + 1)
      this.#tell(news);
    this.#connection.wake();
  }

  #tell(events: readonly TaskEvent[]): void {
    this.#told = events.at(-1)?.sequence_number ?? this.#told;
    let text = this.#translator.translate(events);
    if (this.#told >= this.#head && !this.#translator.isOver) text += this.#translator.pause();
    if (text !== "") this.#connection.write(text);
  }
}
