import {
  createTaskStore,
  emptyTree,
  reduce,
  createSnapshot,
  type TaskCursor,
  type StreamEvent,
  type TaskStreamHandlers,
  type TaskEvent,
  type TaskStore,
} from "@deltawire/tasks";
import { Clock } from "./clock.ts";
import { sampleLog } from "./sample-log.ts";

export type Frame = TaskEvent | StreamEvent;

export interface FakeConnection {
  readonly cursor: TaskCursor;
  readonly handlers: TaskStreamHandlers;
  isClosed: boolean;
}

/** A task store with a fake clock, and fake connections on which the test sends the events. */
export class ScriptedStore {
  readonly connections: FakeConnection[] = [];
  readonly store: TaskStore;
  /** Called when a connection is opened. Does nothing by default. */
  onConnect: (connection: FakeConnection) => void = () => {};
  readonly #clock = new Clock();

  constructor(random?: () => number) {
    this.store = createTaskStore({
      ...(random && { random }),
      schedule: (ms, run) => this.schedule(ms, run),
      connect: (cursor, handlers) => {
        const connection = { cursor, handlers, isClosed: false };
        this.connections.push(connection);
        this.onConnect(connection);
        return { close: () => void (connection.isClosed = true) };
      },
    });
  }

  get now(): number {
    return this.#clock.now;
  }

  get timerCount(): number {
    return this.#clock.timerCount;
  }

  get lastConnection(): FakeConnection {
    const last = this.connections.at(-1);
    if (last === undefined) throw new Error("no connection was opened");
    return last;
  }

  /** The cursors of all connections so far. */
  get cursors(): (number | undefined)[] {
    return this.connections.map(({ cursor }) => cursor.after);
  }

  schedule(ms: number, run: () => void): () => void {
    return this.#clock.schedule(ms, run);
  }

  advance(ms = 0): void {
    this.#clock.advance(ms);
  }

  /** Sends events on the last connection and flushes the store. */
  send(...frames: Frame[]): void {
    const { handlers } = this.lastConnection;
    for (const frame of frames) handlers.onEvent(frame);
    this.advance();
  }
}

export function createOpenedEvent(
  fields: Partial<Extract<StreamEvent, { type: "task.stream.opened" }>> = {},
): StreamEvent {
  return {
    type: "task.stream.opened",
    task_id: "task_1",
    protocol_version: "1.0",
    head: sampleLog.length - 1,
    oldest: 0,
    heartbeat_ms: 1000,
    index_unit: "utf16",
    ...fields,
  };
}

export const heartbeat: StreamEvent = { type: "task.heartbeat", task_id: "task_1", head: 0 };

export function createSnapshotEvent(count: number, log = sampleLog): StreamEvent {
  const snapshot = createSnapshot(reduce(emptyTree, log.slice(0, count)));
  return { type: "task.snapshot", task_id: "task_1", ...JSON.parse(JSON.stringify(snapshot)) };
}

/** Returns the events that a server sends to a client with this cursor. */
export function createServerFrames({ after }: TaskCursor, log = sampleLog): Frame[] {
  const start = createOpenedEvent({ head: log.length - 1 });
  if (after === undefined) return [start, createSnapshotEvent(log.length, log)];
  return [start, ...log.slice(after + 1)];
}
