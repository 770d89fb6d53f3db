import { hash } from "node:crypto";
import type { LogHead } from "@deltawire/agent";
import {
  coalesce,
  encodeTaskEvent,
  hasEnded,
  protocolVersion,
  createSnapshot,
  type LogEntry,
  type LogRow,
  type ProgressReport,
  type StreamEvent,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import { maxReplayedEvents, chooseStreamStart } from "./cursors.ts";
import type { EventConnection, StreamSource } from "./event-connection.ts";
import type { TaskRecovery } from "./find-recovery.ts";
import type { TaskRecords, TaskRuntime } from "../task-runtime.ts";

/** The source of a task's event stream. */
export interface TaskFeed {
  rootTaskId: string;
  runtime: Pick<TaskRuntime, "progress" | "subscribe">;
  records: Pick<TaskRecords, "head" | "read">;
  /** Loads the current state of a running or ended task. */
  loadTree(): Promise<TaskTree>;
  loadRecovery(): Promise<TaskRecovery>;
}

export interface TaskStreamWriterOptions {
  after: number | undefined;
  /** Never send a snapshot to a client that is far behind. */
  replayAll: boolean;
  heartbeatMs: number;
  /** Returns the event id with which a client resumes after this event. */
  formatId: (sequenceNumber: number) => string | number;
}

/** A client that is further behind receives a snapshot. Lengths are in characters. */
const slowReaderLimits = { events: 1000, length: 1024 * 1024 };
/** Events with at most this many characters are written when they happen; longer ones wait for the event loop budget. */
const maxImmediateLength = 16 * 1024;
/**
 * How much is read and written at once. A row may be a word or an image, so the length of the rows on the last page determines
 * the number of rows on the next.
 */
const pageLimits = { length: 256 * 1024, maxRows: 1000, initialRows: 100 };

/**
 * Streams one task on one connection. Events that cannot be written immediately are not buffered, only counted: they are read
 * from the log when the connection has room. So no event is lost or repeated between the log and live events.
 */
export class TaskStreamWriter implements StreamSource {
  readonly #task: TaskFeed;
  readonly #options: TaskStreamWriterOptions;
  readonly #connection: EventConnection;
  readonly #unsubscribe: () => void;
  #state: "opening" | "replaying" | "live" = "opening";
  /** Number of the last event that was written; -1 before the first. */
  #lastSentNumber: number;
  /** Number of the last known event in the log. */
  #head = -1;
  /** Number of the last event that the runtime has delivered. */
  #deliveredHead = -1;
  /** True if the client has events that the store has lost. */
  #mustResync = false;
  /** Number of the oldest event in the log. */
  #oldestNumber = 0;
  /** Number of the last event of an ended task. */
  #endNumber: number | undefined;
  #isWriting = false;
  #pageRows = pageLimits.initialRows;
  /** Length of the events that could not be written when they happened. */
  #missedLength = 0;
  /** The next events, if they are too long to be written immediately. Shared by all streams of the task. */
  #pendingEntries: readonly LogEntry[] = [];

  constructor(task: TaskFeed, options: TaskStreamWriterOptions, connection: EventConnection) {
    this.#task = task;
    this.#options = options;
    this.#connection = connection;
    this.#lastSentNumber = options.after ?? -1;
    this.#unsubscribe = task.runtime.subscribe(task.rootTaskId, (entries, logHead) =>
      this.#onEntries(entries, logHead),
    );
  }

  /** Loads the number of the last event in the log. Returns false if there is no log. Later events are received by subscription. */
  async loadHead(): Promise<boolean> {
    const logHead = await this.#task.records.head(this.#task.rootTaskId);
    if (logHead === undefined) return false;
    this.#oldestNumber = logHead.oldest;
    this.#head = Math.max(this.#head, logHead.head);
    if (hasEnded(logHead.status)) this.#endNumber = logHead.head;
    return true;
  }

  /** Undefined for a client without events until the first event is written. */
  get cursor(): number | undefined {
    return this.#state === "opening" ? this.#options.after : this.#lastSentNumber;
  }

  /** True if the client already had the last event of the task when it connected. */
  get wasDoneBefore(): boolean {
    return this.#options.after !== undefined && this.#options.after === this.#endNumber;
  }

  get isBehind(): boolean {
    return this.#state === "opening" || this.#mustResync || this.#lastSentNumber < this.#head;
  }

  get isDone(): boolean {
    return (
      this.#state !== "opening" &&
      !this.#mustResync &&
      this.#endNumber !== undefined &&
      this.#lastSentNumber >= this.#endNumber
    );
  }

  async writeNext(): Promise<void> {
    this.#isWriting = true;
    try {
      if (this.#state === "opening") await this.#open();
      else if (this.#mustResync) await this.#writeSnapshot("expired_cursor");
      else if (this.#pendingEntries.length > 0) this.#writePending();
      else if (this.#isTooFarBehind()) await this.#writeSnapshot("slow_consumer");
      else if (this.#state === "live") await this.#catchUp();
      else await this.#replay();
    } finally {
      this.#isWriting = false;
    }
    if (this.#lastSentNumber < this.#head) return;
    this.#state = "live";
    this.#missedLength = 0;
  }

  formatKeepAlive(): string {
    if (this.isDone) return "";
    return formatFrame({
      type: "task.heartbeat",
      task_id: this.#task.rootTaskId,
      head: this.#head,
    });
  }

  /** Must be called once, even after a failure. */
  release(): void {
    this.#unsubscribe();
  }

  #onEntries(entries: readonly LogEntry[], { head, status }: LogHead): void {
    const hasLostEvents = head < this.#deliveredHead;
    this.#deliveredHead = head;
    if (hasLostEvents) return this.#rewind({ head, status });
    const isCurrent =
      this.#state === "live" && !this.#isWriting && this.#lastSentNumber >= this.#head;
    if (hasEnded(status)) this.#endNumber = head;
    this.#head = Math.max(this.#head, head);
    // Always wakes the connection: the events written so far may include the end of the task.
    if (head <= this.#lastSentNumber) return this.#connection.wake();
    const newEntries = entries.filter(({ event }) => event.sequence_number > this.#lastSentNumber);
    const length = newEntries.reduce((sum, { json }) => sum + json.length, 0);
    if (
      isCurrent &&
      this.#connection.canWrite &&
      newEntries[0]?.event.sequence_number === this.#lastSentNumber + 1
    ) {
      this.#pendingEntries = newEntries;
      if (length <= maxImmediateLength) this.#writePending();
    } else this.#missedLength += length;
    this.#connection.wake();
  }

  #rewind({ head, status }: LogHead): void {
    this.#mustResync = true;
    this.#head = head;
    this.#endNumber = hasEnded(status) ? head : undefined;
    this.#pendingEntries = [];
    this.#connection.wake();
  }

  #writePending(): void {
    const frames = this.#pendingEntries.map(({ event, json }) =>
      this.#frameAndAdvance(json, event.sequence_number),
    );
    this.#pendingEntries = [];
    this.#connection.write(frames.join(""));
  }

  async #open(): Promise<void> {
    const { rootTaskId } = this.#task;
    const { after, replayAll, heartbeatMs } = this.#options;
    const recovery = await this.#task.loadRecovery();
    const head = this.#head;
    const start = chooseStreamStart(after, { head, oldest: this.#oldestNumber, replayAll });
    const openedFrame = formatFrame({
      type: "task.stream.opened",
      task_id: rootTaskId,
      protocol_version: protocolVersion,
      head,
      oldest: this.#oldestNumber,
      heartbeat_ms: heartbeatMs,
      index_unit: "utf16",
      ...(start.type === "replay" ? { resumed_from: start.after } : {}),
      ...recovery,
    });
    if (start.type === "snapshot") await this.#writeSnapshot(start.resyncReason, openedFrame);
    else {
      const progress = await this.#task.runtime.progress(rootTaskId);
      this.#connection.write(openedFrame + this.#formatProgress(progress));
    }
    this.#state = "replaying";
  }

  /** Sends a snapshot instead of the missing events. */
  async #writeSnapshot(resyncReason: string | undefined, prefix = ""): Promise<void> {
    const { rootTaskId } = this.#task;
    this.#mustResync = false;
    const tree = await this.#task.loadTree();
    const progress = await this.#task.runtime.progress(rootTaskId);
    const resyncFrame =
      resyncReason === undefined
        ? ""
        : formatFrame({
            type: "task.resync_required",
            task_id: rootTaskId,
            reason: resyncReason,
            head: this.#head,
          });
    this.#lastSentNumber = tree.head;
    this.#head = Math.max(this.#head, tree.head);
    this.#missedLength = 0;
    const snapshot: StreamEvent = {
      type: "task.snapshot",
      task_id: rootTaskId,
      ...createSnapshot(tree, (text) => hash("sha256", text)),
    };
    const snapshotFrame = this.#frameAndAdvance(JSON.stringify(snapshot), tree.head);
    this.#connection.write(prefix + resyncFrame + snapshotFrame + this.#formatProgress(progress));
  }

  /** Formats the progress of calls and models, which snapshots do not contain. Without event ids, because repeating it is harmless. */
  #formatProgress(reports: readonly TaskEvent[]): string {
    return reports
      .filter((event) => event.sequence_number <= this.#lastSentNumber)
      .map(({ sequence_number: _number, ...report }) => formatFrame(report as ProgressReport))
      .join("");
  }

  #isTooFarBehind(): boolean {
    if (this.#options.replayAll) return false;
    const missedEvents = this.#head - this.#lastSentNumber;
    if (this.#state === "replaying") return missedEvents > maxReplayedEvents;
    return missedEvents > slowReaderLimits.events || this.#missedLength > slowReaderLimits.length;
  }

  async #replay(): Promise<void> {
    const rows = await this.#read(this.#pageRows);
    let text = "";
    for (const { json, sequence_number: number } of rows)
      text += this.#frameAndAdvance(json, number);
    this.#connection.write(text);
  }

  /** Writes what the client missed while its connection was full, with adjacent deltas joined. */
  async #catchUp(): Promise<void> {
    const rows = await this.#read(
      this.#options.replayAll ? this.#pageRows : slowReaderLimits.events,
    );
    const jsonByEvent = new Map<TaskEvent, string>();
    for (const { json } of rows) jsonByEvent.set(JSON.parse(json) as TaskEvent, json);
    let text = "";
    for (const event of coalesce([...jsonByEvent.keys()]))
      text += this.#frameAndAdvance(
        jsonByEvent.get(event) ?? JSON.stringify(event),
        event.sequence_number,
      );
    this.#connection.write(text);
  }

  async #read(limit: number): Promise<LogRow[]> {
    const { records, rootTaskId } = this.#task;
    const rows = await records.read(rootTaskId, this.#lastSentNumber, limit);
    if (rows.length === 0)
      throw new Error(`the log of ${rootTaskId} ends before number ${this.#head}`);
    const length = rows.reduce((sum, { json }) => sum + json.length, 0);
    this.#missedLength = Math.max(0, this.#missedLength - length);
    const fittingRows = Math.floor((pageLimits.length * rows.length) / length);
    this.#pageRows = Math.min(pageLimits.maxRows, Math.max(1, fittingRows));
    return rows;
  }

  #frameAndAdvance(json: string, number: number): string {
    this.#lastSentNumber = number;
    return encodeTaskEvent(json, this.#options.formatId(number));
  }
}

function formatFrame(event: StreamEvent): string {
  return encodeTaskEvent(JSON.stringify(event), undefined);
}
