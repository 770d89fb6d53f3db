import {
  createTaskStore,
  emptyTree,
  reduce,
  snapshotOf,
  type Cursor,
  type StreamEvent,
  type StreamHandlers,
  type TaskEvent,
  type TaskStoreClient,
} from "@deltawire/tasks";
import { Clock } from "./clock.ts";
import { sampleLog } from "./sample-log.ts";

export type Frame = TaskEvent | StreamEvent;

export interface Opening {
  readonly cursor: Cursor;
  readonly handlers: StreamHandlers;
  isClosed: boolean;
}

/** A store with a clock that is turned by hand and connections on which a test says what comes. */
export class Script {
  readonly openings: Opening[] = [];
  readonly store: TaskStoreClient;
  /** What is done when a connection is opened; nothing unless a test says so. */
  onConnect: (opening: Opening) => void = () => {};
  readonly #clock = new Clock();

  constructor(random?: () => number) {
    this.store = createTaskStore({
      ...(random && { random }),
      schedule: (ms, run) => this.later(ms, run),
      connect: (cursor, handlers) => {
        const opening = { cursor, handlers, isClosed: false };
        this.openings.push(opening);
        this.onConnect(opening);
        return { close: () => void (opening.isClosed = true) };
      },
    });
  }

  get now(): number {
    return this.#clock.now;
  }

  get timers(): number {
    return this.#clock.timers;
  }

  get last(): Opening {
    const last = this.openings.at(-1);
    if (last === undefined) throw new Error("nothing was opened");
    return last;
  }

  /** The cursors of all connections so far. */
  get cursors(): (number | undefined)[] {
    return this.openings.map(({ cursor }) => cursor.after);
  }

  later(ms: number, run: () => void): () => void {
    return this.#clock.schedule(ms, run);
  }

  pass(ms = 0): void {
    this.#clock.pass(ms);
  }

  /** On the last connection, and flushed. */
  send(...frames: Frame[]): void {
    const { handlers } = this.last;
    for (const frame of frames) handlers.event(frame);
    this.pass();
  }
}

export function opened(
  more: Partial<Extract<StreamEvent, { type: "task.stream.opened" }>> = {},
): StreamEvent {
  return {
    type: "task.stream.opened",
    task_id: "task_1",
    protocol_version: "1.0",
    head: sampleLog.length - 1,
    oldest: 0,
    heartbeat_ms: 1000,
    index_unit: "utf16",
    ...more,
  };
}

export const heartbeat: StreamEvent = { type: "task.heartbeat", task_id: "task_1", head: 0 };

export function snapshotAfter(count: number, log = sampleLog): StreamEvent {
  const snapshot = snapshotOf(reduce(emptyTree, log.slice(0, count)));
  return { type: "task.snapshot", task_id: "task_1", ...JSON.parse(JSON.stringify(snapshot)) };
}

/** What a server sends to someone with that cursor. */
export function answer({ after }: Cursor, log = sampleLog): Frame[] {
  const start = opened({ head: log.length - 1 });
  if (after === undefined) return [start, snapshotAfter(log.length, log)];
  return [start, ...log.slice(after + 1)];
}
