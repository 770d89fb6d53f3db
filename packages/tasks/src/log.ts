import type { TaskEvent } from "./events.ts";
import type { JsonObject } from "./json.ts";

/*
 * Where events last, as the runtime sees it. `@deltawire/store` implements it on SQLite, `@deltawire/agent` in memory.
 */

/** An event as it is written. */
export interface LogEntry {
  event: TaskEvent;
  /** The event once more, as the text that is stored and sent. */
  json: string;
  /** What recovery needs and no endpoint returns: provider ids, reasoning envelopes, what the model saw. */
  private?: JsonObject;
}

/** An event as it is read back. Whoever sends it on does not have to parse it. */
export interface LogRow {
  sequence_number: number;
  json: string;
  /** JSON, if there is any. */
  private?: string;
}

export interface TaskLog {
  /**
   * Keeps all entries or none. When it resolves they survive the end of this process; with `durable` they survive the
   * loss of power too. Batches of one root task are appended one after the other. Rejects with a code of
   * `StoreErrorCode` in `code`.
   *
   * `replaced` take the places of those kept with their numbers, or of those in this very batch, and are kept with it:
   * what a person has refused to show is gone as soon as it is kept that it was refused.
   */
  append(
    rootTaskId: string,
    entries: readonly LogEntry[],
    options: { durable: boolean; replaced?: readonly LogEntry[] },
  ): Promise<void>;
  /** Rows with numbers above `after`, in order, `limit` at the most. */
  read(rootTaskId: string, after: number, limit: number): Promise<LogRow[]>;
  /** Root tasks without a terminal event, oldest first. */
  unfinished(): Promise<string[]>;
  /** The root of any task; undefined where nobody knows it. */
  rootOf(taskId: string): Promise<string | undefined>;
  /** The task that an approval belongs to. */
  rootOfApproval(approvalId: string): Promise<string | undefined>;
  /** What a person has allowed for the rest of a session. */
  grants(sessionId: string): Promise<Grant[]>;
  addGrant(sessionId: string, grant: Grant): Promise<void>;
}

export interface Grant {
  tool: string;
  /** Undefined: any arguments. */
  args_hash?: string;
}

/** What can be wrong with a store, in words that its user can act upon. */
export type StoreErrorCode =
  | "store_locked" // another process writes to it
  | "store_full"
  | "store_corrupt"
  | "store_newer" // written by a later version
  | "store_unreachable" // its folder or file cannot be opened
  | "store_failed";
