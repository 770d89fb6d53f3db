import { TaskError } from "./error.ts";
import { isTaskEvent, protocolVersion, type StreamEvent, type TaskEvent } from "./events.ts";
import { EventClient, type TaskCursor, type EventSubscription } from "./connection/event-client.ts";
import {
  formatUnknownError,
  type ConnectionInfo,
  type Schedule,
  type TransportHandlers,
} from "./connection/reconnecting-stream.ts";
import { emptyTree, Reducer } from "./reducer.ts";
import { snapshotToTree } from "./snapshot.ts";
import type { TaskTree } from "./state.ts";
import { hasEnded, statusFromEventType } from "./task-status.ts";

export type TaskStreamHandlers = TransportHandlers<TaskEvent | StreamEvent>;

/** Opens the event stream of one task. Handler calls after `close` are ignored. */
export type ConnectTask = (cursor: TaskCursor, handlers: TaskStreamHandlers) => { close(): void };

export interface FollowTaskOptions {
  /** Number of the last known event. -1 requests all events instead of a snapshot. */
  after?: number;
  /** The known state, for example of a server-rendered page: only later events are requested. */
  from?: TaskTree;
}

interface TaskFollowerOptions extends FollowTaskOptions {
  taskId: string;
  client: EventClient;
  /** Receives each event before it is applied. */
  onEvent: (event: TaskEvent | StreamEvent) => void;
  /** Called before an event is applied, and when the connection changes. Read the tree later. */
  onChange: () => void;
}

/** A client for the stream of a single task. */
export function createSingleTaskClient(
  connect: ConnectTask,
  options: { schedule: Schedule; random: () => number },
): EventClient {
  return new EventClient({
    ...options,
    transport({ tasks: [cursor] }, handlers) {
      if (cursor === undefined) throw new TaskError("unreadable", "the request has no task");
      return connect(cursor, handlers);
    },
  });
}

/** Applies the events of one task to its tree until the task has ended. */
export class TaskFollower {
  readonly #options: TaskFollowerOptions;
  readonly #subscription: EventSubscription;
  #reducer: Reducer;
  /** True if the tree cannot be continued: the server must start with a snapshot or with event 0. */
  #needsSnapshot: boolean;
  #epoch = 0;

  constructor(options: TaskFollowerOptions) {
    const { from = emptyTree, after, taskId, client, onChange } = options;
    this.#options = options;
    this.#reducer = new Reducer(from);
    this.#needsSnapshot = from.head === -1 && after === undefined;
    this.#subscription = client.followTask(taskId, {
      getCursor: () => this.#getCursor(),
      includesTask: (id) => this.tree.tasks[id] !== undefined,
      onEvent: (event) => this.#receive(event),
      onConnection: onChange,
    });
    this.#stopIfEnded();
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

  #getCursor(): number | undefined {
    if (this.#needsSnapshot) return undefined;
    return this.#reducer.head === -1 ? this.#options.after : this.#reducer.head;
  }

  #receive(event: TaskEvent | StreamEvent): void {
    this.#options.onEvent(event);
    this.#options.onChange();
    try {
      this.#apply(event);
    } catch (error) {
      this.#resync(formatUnknownError(error));
    }
  }

  #apply(event: TaskEvent | StreamEvent): void {
    switch (event.type) {
      case "task.stream.opened":
        return this.#onOpened(event);
      case "task.snapshot":
        this.#reducer = new Reducer(snapshotToTree(event, this.tree));
        this.#needsSnapshot = false;
        return this.#stopIfEnded();
      case "task.heartbeat":
        return;
      case "task.resync_required":
        this.#needsSnapshot = true; // a snapshot or the end follows
        return;
      case "task.stream.rejected":
        return this.#subscription.stop({ state: "rejected", reason: event.message });
      default:
        // Anything else is a progress report or a connection event of an unknown type.
        if (isTaskEvent(event)) this.#onTaskEvent(event);
    }
  }

  #onOpened(event: Extract<StreamEvent, { type: "task.stream.opened" }>): void {
    if (parseMajorVersion(event.protocol_version) !== parseMajorVersion(protocolVersion))
      return this.#subscription.stop({
        state: "rejected",
        reason: `the server uses version ${event.protocol_version} of the task stream, but this client supports ${protocolVersion}`,
      });
    const { epoch = 0, recovered_at, head } = event;
    const knownEpoch = Math.max(this.#epoch, this.#getRoot(this.tree)?.epoch ?? 0);
    this.#epoch = epoch;
    const localHead = this.#reducer.head;
    if (this.#needsSnapshot || localHead === -1) return;
    // Only the latest resume is known, so after several of them any local event may be stale.
    const isStale =
      head < localHead ||
      epoch > knownEpoch + 1 ||
      (epoch > knownEpoch && (recovered_at === undefined || recovered_at <= localHead));
    if (isStale) this.#resync("the server resumed the task from an earlier event");
  }

  #onTaskEvent(event: TaskEvent): void {
    if (this.#needsSnapshot) {
      if ((event.coalesced_from ?? event.sequence_number) !== 0)
        throw new TaskError("gap", "expected a snapshot, got an event");
      this.#reducer = new Reducer();
      this.#needsSnapshot = false;
    }
    const previousHead = this.#reducer.head;
    this.#reducer.apply(event);
    if (this.#reducer.head > previousHead) this.#subscription.resetBackoff();
    if (hasEnded(statusFromEventType(event.type))) this.#stopIfEnded();
  }

  #stopIfEnded(): void {
    const status = this.#getRoot(this.tree)?.status;
    if (status !== undefined && hasEnded(status))
      this.#subscription.stop({ state: "ended", reason: status });
  }

  #getRoot(tree: TaskTree) {
    return tree.tasks[tree.root_task_id];
  }

  #resync(reason: string): void {
    this.#needsSnapshot = true;
    this.#subscription.retry(reason);
  }
}

function parseMajorVersion(version: string): string | undefined {
  return /^(\d+)\./.exec(version)?.[1];
}
