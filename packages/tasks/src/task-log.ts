import type { TaskEvent } from "./events.ts";
import type { JsonObject } from "./json.ts";

/*
 * The interface of an event log. `@deltawire/store` implements it on SQLite and PostgreSQL, `@deltawire/agent` in memory.
 */

/** An event to write. */
export interface LogEntry {
  event: TaskEvent;
  /** The same event as JSON text, which is stored and sent. */
  json: string;
  /** Data for recovery that no endpoint returns: provider ids, reasoning envelopes, what the model received. */
  private?: JsonObject;
}

/** An event read from the log, as JSON that can be forwarded without parsing. */
export interface LogRow {
  sequence_number: number;
  json: string;
  /** As JSON. */
  private?: string;
}

export interface AppendOptions {
  durable: boolean;
  replacements?: readonly LogEntry[];
  /** The claim of the process that runs the task. Rejects with `lease_lost` if another process has claimed the task since. */
  lease?: { processId: string; epoch: number };
  /** Only used by the batch that creates the root task. */
  creation?: TaskCreation;
}

/** Properties of a root task that its events do not contain. */
export interface TaskCreation {
  /** Owner of the access key of the request; default "". */
  owner?: string;
  /** Identifies the request of a client, so that a retry finds the task if the reply was lost. */
  replyKey?: string;
}

export interface TaskLog {
  /**
   * Stores all entries or none. Once it resolves, they survive a crash of this process; with `durable`, also a power failure.
   * Batches of one root task are appended one after the other. Rejects with a `StoreErrorCode` in `code`.
   *
   * `replacements` overwrite the entries with the same sequence numbers, stored or in this batch, in the same transaction: when a
   * user rejects content, the content is deleted in the transaction that stores the rejection.
   */
  append(rootTaskId: string, entries: readonly LogEntry[], options: AppendOptions): Promise<void>;
  /** Returns at most `limit` rows with numbers above `after`, in order. */
  read(rootTaskId: string, after: number, limit: number): Promise<LogRow[]>;
  /** Returns the root tasks without a terminal event, oldest first. */
  listUnfinished(): Promise<string[]>;
  /** Returns the root of any task. Undefined if the task does not exist. */
  findRootTask(taskId: string): Promise<string | undefined>;
  /** Returns the root of the task that an approval belongs to. */
  findRootTaskByApproval(approvalId: string): Promise<string | undefined>;
  /** Returns the tool calls that the user has allowed for the rest of a session. `owner`: the owner of the session; default "". */
  listGrants(sessionId: string, owner?: string): Promise<Grant[]>;
  addGrant(sessionId: string, grant: Grant, owner?: string): Promise<void>;
}

export interface Grant {
  tool: string;
  /** Undefined: any arguments. */
  args_hash?: string;
}

/** Why a store failed. */
export type StoreErrorCode =
  | "store_locked" // another process has it open for writing
  | "store_full"
  | "store_corrupt"
  | "store_newer" // written by a later version
  | "store_unreachable" // its folder or file cannot be opened
  | "lease_lost" // another process runs the task
  | "id_taken" // a task or chat with this id exists
  | "store_failed";
