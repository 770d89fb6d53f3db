import type { BlobStore, TaskLog, TaskStatus } from "@deltawire/tasks";
import type { ChatStore } from "@deltawire/tasks/chats";

/*
 * The interface of every store. `@deltawire/store/contract` checks it as a test suite.
 *
 * Every method rejects with a `StoreError`, whose `code` is one of `StoreErrorCode` and whose message says what to do. A
 * write that was refused changed nothing, and does not stand in the way of a later one.
 */
export interface Store extends TaskLog, BlobStore, ChatStore {
  /** It can be read, but every write is refused. */
  readonly readOnly: boolean;
  /** Of a root task: the numbers of the last event and of the first that can still be read. */
  head(rootTaskId: string): Promise<TaskHead | undefined>;
  /** Keeps the state of a root task as of an event. A snapshot of an unknown task is not kept. */
  saveSnapshot(rootTaskId: string, asOf: number, json: string): Promise<void>;
  /** The newest one; none of what has been replaced since. */
  snapshot(rootTaskId: string): Promise<{ as_of: number; json: string } | undefined>;
  /** Root tasks, newest first; `before` is the id of the last one of the page before. */
  listTasks(options: {
    limit: number;
    before?: string;
    session?: string;
    status?: string;
  }): Promise<TaskSummary[]>;
  /** The first to come with a key keeps it, for a day. Answers with what is kept. */
  keyed(
    idempotencyKey: string,
    bodyHash: string,
    rootTaskId: string,
  ): Promise<{ rootTaskId: string; bodyHash: string }>;
  /**
   * Removes what is too old or too much: root tasks that have ended, those that ended first before others, what was
   * deleted of chats or as a chat, and blobs that nothing refers to. `now` is in milliseconds.
   */
  prune(now: number): Promise<{ tasks: number; blobs: number }>;
  /** Bytes in use. */
  size(): Promise<number>;
  /** Finishes what was asked for before. */
  close(): Promise<void>;
}

export interface TaskHead {
  head: number;
  oldest: number;
  status: TaskStatus;
}

export interface TaskSummary {
  task_id: string;
  status: TaskStatus;
  agent: string;
  model: string;
  session_id?: string;
  created_at: string;
  updated_at: string;
  head: number;
}
