import { TaskError } from "./error.ts";
import { isStored, protocolVersion, type StreamEvent, type TaskEvent } from "./events.ts";
import { EventClient, type Cursor, type Subscription } from "./connection/event-client.ts";
import {
  messageOf,
  type ConnectionInfo,
  type Schedule,
  type TransportHandlers,
} from "./connection/reconnecting-stream.ts";
import { emptyTree, Reducer } from "./reducer.ts";
import { treeOf } from "./snapshot.ts";
import type { TaskTree } from "./state.ts";
import { hasEnded, statusAfter } from "./task-status.ts";

export type StreamHandlers = TransportHandlers<TaskEvent | StreamEvent>;

/** Opens a stream of one task. Nothing that it reports after `close` is heard. */
export type Connect = (cursor: Cursor, handlers: StreamHandlers) => { close(): void };

export interface FollowOptions {
  /** -1 asks for every event from the first on, where the server would send a snapshot. */
  after?: number;
  /** What is already known, of a page that was drawn on the server: only what came later is asked for. */
  from?: TaskTree;
}

interface TaskFollowerOptions extends FollowOptions {
  taskId: string;
  client: EventClient;
  /** Receives each event before it is applied. */
  onEvent: (event: TaskEvent | StreamEvent) => void;
  /** The tree or the connection may have changed. */
  onChange: () => void;
}

/** A client for the stream of a single task. */
export function singleTaskClient(
  connect: Connect,
  options: { schedule: Schedule; random: () => number },
): EventClient {
  return new EventClient({
    ...options,
    transport({ tasks: [cursor] }, handlers) {
      if (cursor === undefined) throw new TaskError("unreadable", "no task is followed");
      return connect(cursor, handlers);
    },
  });
}

/** Applies the events of one task to its tree, until the task is over. */
export class TaskFollower {
  readonly #options: TaskFollowerOptions;
  readonly #subscription: Subscription;
  #reducer: Reducer;
  /** The tree is nothing to go on from: the server has to begin with a snapshot, or with event 0. */
  #startsAnew: boolean;
  #epoch = 0;

  constructor(options: TaskFollowerOptions) {
    const { from = emptyTree, after, taskId, client, onChange } = options;
    this.#options = options;
    this.#reducer = new Reducer(from);
    this.#startsAnew = from.head === -1 && after === undefined;
    this.#subscription = client.followTask(taskId, {
      cursor: () => this.#cursor(),
      includes: (id) => this.tree.tasks[id] !== undefined,
      event: (event) => this.#receive(event),
      onConnection: onChange,
    });
    this.#endWithRoot();
  }

  get connection(): ConnectionInfo {
    return this.#subscription.connection;
  }

  get tree(): TaskTree {
    return this.#reducer.state;
  }

  close(): void {
    this.#subscription.close();
  }

  #cursor(): number | undefined {
    if (this.#startsAnew) return undefined;
    return this.#reducer.head === -1 ? this.#options.after : this.#reducer.head;
  }

  #receive(event: TaskEvent | StreamEvent): void {
    this.#options.onEvent(event);
    this.#options.onChange();
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
        return;
      case "task.resync_required":
        this.#startsAnew = true; // a snapshot or the end follows
        return;
      case "task.stream.refused":
        return this.#subscription.stop({ state: "refused", reason: event.message });
      default:
        // Else it is no part of the state, or a word of the connection that is not known yet.
        if (isStored(event)) this.#onStored(event);
    }
  }

  #onOpened(event: Extract<StreamEvent, { type: "task.stream.opened" }>): void {
    if (majorOf(event.protocol_version) !== majorOf(protocolVersion))
      return this.#subscription.stop({
        state: "refused",
        reason: `the server speaks version ${event.protocol_version} of the task stream, this reader ${protocolVersion}`,
      });
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
    if (this.#startsAnew) {
      if ((event.coalesced_from ?? event.sequence_number) !== 0)
        throw new TaskError("gap", "events came where a snapshot was due");
      this.#reducer = new Reducer();
      this.#startsAnew = false;
    }
    const before = this.#reducer.head;
    this.#reducer.apply(event);
    if (this.#reducer.head > before) this.#subscription.succeeded();
    if (hasEnded(statusAfter(event.type))) this.#endWithRoot();
  }

  #endWithRoot(): void {
    const status = this.#rootOf(this.tree)?.status;
    if (status !== undefined && hasEnded(status))
      this.#subscription.stop({ state: "ended", reason: status });
  }

  #rootOf(tree: TaskTree) {
    return tree.tasks[tree.root_task_id];
  }

  #startAnew(reason: string): void {
    this.#startsAnew = true;
    this.#subscription.retry(reason);
  }
}

function majorOf(version: string): string | undefined {
  return /^(\d+)\./.exec(version)?.[1];
}
