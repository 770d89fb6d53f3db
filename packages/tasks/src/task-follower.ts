import { TaskError } from "./error.ts";
import { protocolVersion, type StreamEvent, type TaskEvent } from "./events.ts";
import { emptyTree, Reducer } from "./reducer.ts";
import { treeOf } from "./snapshot.ts";
import type { TaskTree } from "./state.ts";
import { hasEnded, statusAfter } from "./task-status.ts";

export interface Cursor {
  task_id: string;
  /** Send what comes after this number; undefined asks for a snapshot. */
  after: number | undefined;
}

export interface StreamHandlers {
  event: (event: TaskEvent | StreamEvent) => void;
  /** The connection is over, which says nothing about the task. */
  closed: (reason?: string) => void;
  /** It is of no use to try again: there is no such task, or it is not for this reader. */
  refused: (reason: string) => void;
}

/** Opens a stream. Nothing that it tells after `close` is heard. */
export type Connect = (cursor: Cursor, handlers: StreamHandlers) => { close(): void };

/** Calls once, later; what it returns takes the call back. */
export type Schedule = (ms: number, run: () => void) => () => void;

export type ConnectionState =
  | "connecting"
  | "live"
  | "waiting" // for its next try
  | "ended" // the task is over
  | "refused"; // nothing can be had from this server

export interface ConnectionInfo {
  readonly state: ConnectionState;
  /** Why it is waiting or refused; the last status of a task that has ended. */
  readonly reason?: string;
}

export interface FollowOptions {
  /** -1 asks for every event from the first on, where the server would send a snapshot. */
  after?: number;
  /** What is already known, of a page that was drawn on the server: only what came later is asked for. */
  from?: TaskTree;
}

interface TaskFollowerOptions extends FollowOptions {
  taskId: string;
  connect: Connect;
  schedule: Schedule;
  random: () => number;
  /** Something came, or the connection changed; `heard` is to be called soon, once for all of it. */
  onChange: () => void;
}

const firstWaitMs = 200;
const longestWaitMs = 10_000;
const usualHeartbeatMs = 15_000;

/** One task on one connection after the other, until the task is over. */
export class TaskFollower {
  readonly #options: TaskFollowerOptions;
  #reducer: Reducer;
  #connection: ConnectionInfo = { state: "connecting" };
  /** What is open now. Whatever an earlier one still says is not heard. */
  #stream: { close(): void } | undefined;
  #cancelRetry: (() => void) | undefined;
  #cancelWatch: (() => void) | undefined;
  #heartbeatMs = usualHeartbeatMs;
  /** What is held is nothing to go on from: the server has to begin with a snapshot, or with event 0. */
  #startsAnew: boolean;
  #epoch = 0;
  #failures = 0;

  constructor(options: TaskFollowerOptions) {
    const { from = emptyTree, after } = options;
    this.#options = options;
    this.#reducer = new Reducer(from);
    this.#startsAnew = from.head === -1 && after === undefined;
    this.#endWithRoot();
    if (this.#connection.state !== "ended") this.#open();
  }

  get connection(): ConnectionInfo {
    return this.#connection;
  }

  get tree(): TaskTree {
    return this.#reducer.state;
  }

  /** Starts the wait for the next frame. Once a batch, because a timer per frame costs more than the frame. */
  heard(): void {
    if (this.#stream !== undefined) this.#watch();
  }

  close(): void {
    this.#cancelRetry?.();
    this.#hangUp();
  }

  #open(): void {
    const { connect, taskId } = this.#options;
    const stream = { close() {} };
    this.#stream = stream;
    this.#become({ state: "connecting" });
    this.#watch();
    const ifOpen =
      <A extends unknown[]>(handle: (...args: A) => void) =>
      (...args: A) => {
        if (this.#stream === stream) handle(...args);
      };
    const cursor = { task_id: taskId, after: this.#cursor() };
    const handlers: StreamHandlers = {
      event: ifOpen((event) => this.#receive(event)),
      closed: ifOpen((reason = "the connection was closed") => this.#retry(reason)),
      refused: ifOpen((reason) => this.#stop({ state: "refused", reason })),
    };
    try {
      const opened = connect(cursor, handlers);
      if (this.#stream === stream) stream.close = () => opened.close();
      else opened.close(); // it was over before it was handed out
    } catch (error) {
      handlers.closed(messageOf(error));
    }
  }

  #cursor(): number | undefined {
    if (this.#startsAnew) return undefined;
    return this.#reducer.head === -1 ? this.#options.after : this.#reducer.head;
  }

  #receive(event: TaskEvent | StreamEvent): void {
    if (this.#connection.state !== "live") this.#become({ state: "live" });
    else this.#options.onChange();
    try {
      this.#take(event);
    } catch (error) {
      this.#startAnew(messageOf(error));
    }
  }

  #take(event: TaskEvent | StreamEvent): void {
    switch (event.type) {
      case "task.stream.opened":
        return this.#onOpened(event);
      case "task.snapshot":
        this.#reducer = new Reducer(treeOf(event, this.tree));
        this.#startsAnew = false;
        return this.#endWithRoot();
      case "task.heartbeat":
        this.#failures = 0;
        return;
      case "task.resync_required":
        this.#startsAnew = true; // a snapshot or the end follows
        return;
      default:
        return this.#onStored(event);
    }
  }

  #onOpened(event: Extract<StreamEvent, { type: "task.stream.opened" }>): void {
    if (majorOf(event.protocol_version) !== majorOf(protocolVersion))
      return this.#stop({
        state: "refused",
        reason: `the server speaks version ${event.protocol_version} of the task stream, this reader ${protocolVersion}`,
      });
    this.#heartbeatMs = event.heartbeat_ms;
    const { epoch = 0, recovered_at, head } = event;
    const known = Math.max(this.#epoch, this.#rootOf(this.tree)?.epoch ?? 0);
    this.#epoch = epoch;
    const has = this.#reducer.head;
    if (this.#startsAnew || has === -1) return;
    // Of two takeovers only the last tells where it began.
    const isVoid =
      head < has ||
      epoch > known + 1 ||
      (epoch > known && (recovered_at === undefined || recovered_at <= has));
    if (isVoid) this.#startAnew("the server has gone on from before what was seen here");
  }

  #onStored(event: TaskEvent): void {
    if (typeof event.sequence_number !== "number") return; // a word of the connection that is not known yet
    if (this.#startsAnew) {
      if ((event.coalesced_from ?? event.sequence_number) !== 0)
        throw new TaskError("gap", "events came where a snapshot was due");
      this.#reducer = new Reducer();
      this.#startsAnew = false;
    }
    const before = this.#reducer.head;
    this.#reducer.apply(event);
    if (this.#reducer.head > before) this.#failures = 0;
    if (hasEnded(statusAfter(event.type))) this.#endWithRoot();
  }

  #endWithRoot(): void {
    const status = this.#rootOf(this.tree)?.status;
    if (status !== undefined && hasEnded(status)) this.#stop({ state: "ended", reason: status });
  }

  #rootOf(tree: TaskTree) {
    return tree.tasks[tree.root_task_id];
  }

  #startAnew(reason: string): void {
    this.#startsAnew = true;
    this.#retry(reason);
  }

  #retry(reason: string): void {
    this.#hangUp();
    const longest = Math.min(firstWaitMs * 2 ** this.#failures, longestWaitMs);
    this.#failures += 1;
    this.#become({ state: "waiting", reason });
    this.#cancelRetry = this.#options.schedule(longest * (0.5 + this.#options.random() / 2), () =>
      this.#open(),
    );
  }

  #stop(connection: ConnectionInfo): void {
    this.#hangUp();
    this.#become(connection);
  }

  #hangUp(): void {
    this.#cancelWatch?.();
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.close();
  }

  #watch(): void {
    this.#cancelWatch?.();
    const silence = 2.5 * this.#heartbeatMs;
    this.#cancelWatch = this.#options.schedule(silence, () =>
      this.#retry(`nothing was heard for ${silence} ms`),
    );
  }

  #become(connection: ConnectionInfo): void {
    this.#connection = connection;
    this.#options.onChange();
  }
}

function majorOf(version: string): string | undefined {
  return /^(\d+)\./.exec(version)?.[1];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
