import { hash } from "node:crypto";
import {
  coalesce,
  encodeTaskEvent,
  hasEnded,
  protocolVersion,
  snapshotOf,
  type LogEntry,
  type LogRow,
  type ProgressReport,
  type StreamEvent,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import { mostReplayed, openingOf } from "./cursors.ts";
import type { EventConnection, StreamSource } from "./event-connection.ts";
import type { TaskRecords, TaskRuntime } from "../task-runtime.ts";

/** What a follower reads from. */
export interface TaskFeed {
  rootTaskId: string;
  runtime: Pick<TaskRuntime, "progress" | "subscribe">;
  records: Pick<TaskRecords, "head" | "read">;
  /** The state as of now, of a task that runs or has ended. */
  tree(): Promise<TaskTree>;
  /** How often it was taken up after a crash, and the first number that was written since. */
  recovery(): Promise<{ epoch: number; recovered_at?: number }>;
}

export interface FollowOptions {
  after: number | undefined;
  /** Never a snapshot instead of events. */
  replayAll: boolean;
  heartbeatMs: number;
  /** What a reader sends back to go on behind this event. */
  idOf: (sequenceNumber: number) => string | number;
}

/** A reader that has fallen further behind than this is given the whole. */
const slowest = { events: 1000, bytes: 1024 * 1024 };
/** Characters of events that are written when they happen; more waits for its share of a turn of the event loop. */
const writtenAtOnce = 16 * 1024;
/** What is read and written at once. A row may be a word or a picture, so the last page says how many fit. */
const page = { bytes: 256 * 1024, mostRows: 1000, firstRows: 100 };

/**
 * One task on one connection. What cannot be written at once is not kept, only counted: the log has it, and it is read
 * from there when the connection has room. So there is neither a gap nor a double between the log and what is live.
 */
export class TaskFollower implements StreamSource {
  readonly #task: TaskFeed;
  readonly #options: FollowOptions;
  readonly #connection: EventConnection;
  readonly #unsubscribe: () => void;
  #state: "opening" | "catching up" | "live" = "opening";
  /** Everything up to here has been written. */
  #sent: number;
  /** The last number that is known to be in the log. */
  #head = -1;
  #oldest = 0;
  #endsAt: number | undefined;
  #isStepping = false;
  #pageRows = page.firstRows;
  /** How much has happened since it last could write. */
  #missedBytes = 0;
  /** The next events, if they are too large to be written at once. All followers share them. */
  #next: readonly LogEntry[] = [];

  constructor(task: TaskFeed, options: FollowOptions, connection: EventConnection) {
    this.#task = task;
    this.#options = options;
    this.#connection = connection;
    this.#sent = options.after ?? -1;
    this.#unsubscribe = task.runtime.subscribe(task.rootTaskId, (entries, state) =>
      this.#happened(entries, state),
    );
  }

  /** Looks up where the log ends; false where there is none. Whatever is written from now on is heard of. */
  async find(): Promise<boolean> {
    const kept = await this.#task.records.head(this.#task.rootTaskId);
    if (kept === undefined) return false;
    this.#oldest = kept.oldest;
    this.#head = Math.max(this.#head, kept.head);
    if (hasEnded(kept.status)) this.#endsAt = kept.head;
    return true;
  }

  /** Undefined before anything was written to a reader who has nothing. */
  get cursor(): number | undefined {
    return this.#state === "opening" ? this.#options.after : this.#sent;
  }

  /** Whether the reader had the last event before it came here. */
  get isOverBefore(): boolean {
    return this.#options.after !== undefined && this.#options.after === this.#endsAt;
  }

  get isBehind(): boolean {
    return this.#state === "opening" || this.#sent < this.#head;
  }

  get isOver(): boolean {
    return this.#state !== "opening" && this.#endsAt !== undefined && this.#sent >= this.#endsAt;
  }

  async step(): Promise<void> {
    this.#isStepping = true;
    try {
      if (this.#state === "opening") await this.#open();
      else if (this.#next.length > 0) this.#writeNext();
      else if (this.#isTooFarBehind()) await this.#startOver("slow consumer");
      else if (this.#state === "live") await this.#catchUp();
      else await this.#replay();
    } finally {
      this.#isStepping = false;
    }
    if (this.#sent < this.#head) return;
    this.#state = "live";
    this.#missedBytes = 0;
  }

  sign(): string {
    if (this.isOver) return "";
    return frame({ type: "task.heartbeat", task_id: this.#task.rootTaskId, head: this.#head });
  }

  /** To be called once, whatever became of it. */
  release(): void {
    this.#unsubscribe();
  }

  #happened(entries: readonly LogEntry[], state: TaskTree): void {
    const isCurrent = this.#state === "live" && !this.#isStepping && this.#sent >= this.#head;
    if (hasEnded(state.tasks[this.#task.rootTaskId]?.status)) this.#endsAt = state.head;
    this.#head = Math.max(this.#head, state.head);
    const news = entries.filter(({ event }) => event.sequence_number > this.#sent);
    const [first] = news;
    if (first === undefined) return;
    const length = news.reduce((sum, { json }) => sum + json.length, 0);
    if (isCurrent && this.#connection.takesMore && first.event.sequence_number === this.#sent + 1) {
      this.#next = news;
      if (length <= writtenAtOnce) this.#writeNext();
    } else this.#missedBytes += length;
    this.#connection.wake();
  }

  #writeNext(): void {
    const frames = this.#next.map(({ event, json }) => this.#framed(json, event.sequence_number));
    this.#next = [];
    this.#connection.write(frames.join(""));
  }

  async #open(): Promise<void> {
    const { rootTaskId } = this.#task;
    const { after, replayAll, heartbeatMs } = this.#options;
    const recovery = await this.#task.recovery();
    const head = this.#head;
    const opening = openingOf(after, { head, oldest: this.#oldest, replayAll });
    const opened = frame({
      type: "task.stream.opened",
      task_id: rootTaskId,
      protocol_version: protocolVersion,
      head,
      oldest: this.#oldest,
      heartbeat_ms: heartbeatMs,
      index_unit: "utf16",
      ...(opening.is === "replay" ? { resumed_from: opening.after } : {}),
      ...recovery,
    });
    if (opening.is === "snapshot") await this.#startOver(opening.resync, opened);
    else this.#connection.write(opened + this.#progress());
    this.#state = "catching up";
  }

  /** Tells the whole, in place of what has not been told. */
  async #startOver(why: string | undefined, before = ""): Promise<void> {
    const { rootTaskId } = this.#task;
    const tree = await this.#task.tree();
    const resync =
      why === undefined
        ? ""
        : frame({
            type: "task.resync_required",
            task_id: rootTaskId,
            reason: why,
            head: this.#head,
          });
    this.#sent = tree.head;
    this.#head = Math.max(this.#head, tree.head);
    this.#missedBytes = 0;
    const snapshot: StreamEvent = {
      type: "task.snapshot",
      task_id: rootTaskId,
      ...snapshotOf(tree, (text) => hash("sha256", text)),
    };
    const whole = this.#framed(JSON.stringify(snapshot), tree.head);
    this.#connection.write(before + resync + whole + this.#progress());
  }

  /** How far calls and models are, which no state tells. Without a number: it may be said again, and changes nothing. */
  #progress(): string {
    const { runtime, rootTaskId } = this.#task;
    return runtime
      .progress(rootTaskId)
      .filter((event) => event.sequence_number <= this.#sent)
      .map(({ sequence_number: _number, ...report }) => frame(report as ProgressReport))
      .join("");
  }

  #isTooFarBehind(): boolean {
    if (this.#options.replayAll) return false;
    const events = this.#head - this.#sent;
    if (this.#state === "catching up") return events > mostReplayed;
    return events > slowest.events || this.#missedBytes > slowest.bytes;
  }

  async #replay(): Promise<void> {
    const rows = await this.#read(this.#pageRows);
    let text = "";
    for (const { json, sequence_number: number } of rows) text += this.#framed(json, number);
    this.#connection.write(text);
  }

  /** What a reader missed while its connection was full, neighbouring deltas joined. */
  async #catchUp(): Promise<void> {
    const rows = await this.#read(this.#options.replayAll ? this.#pageRows : slowest.events);
    const texts = new Map<TaskEvent, string>();
    for (const { json } of rows) texts.set(JSON.parse(json) as TaskEvent, json);
    let text = "";
    for (const event of coalesce([...texts.keys()]))
      text += this.#framed(texts.get(event) ?? JSON.stringify(event), event.sequence_number);
    this.#connection.write(text);
  }

  async #read(limit: number): Promise<LogRow[]> {
    const { records, rootTaskId } = this.#task;
    const rows = await records.read(rootTaskId, this.#sent, limit);
    if (rows.length === 0)
      throw new Error(`the log of ${rootTaskId} ends before number ${this.#head}`);
    const bytes = rows.reduce((sum, { json }) => sum + json.length, 0);
    this.#missedBytes = Math.max(0, this.#missedBytes - bytes);
    const fitting = Math.floor((page.bytes * rows.length) / bytes);
    this.#pageRows = Math.min(page.mostRows, Math.max(1, fitting));
    return rows;
  }

  #framed(json: string, number: number): string {
    this.#sent = number;
    return encodeTaskEvent(json, this.#options.idOf(number));
  }
}

function frame(event: StreamEvent): string {
  return encodeTaskEvent(JSON.stringify(event), undefined);
}
