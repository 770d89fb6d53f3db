import type { BlobStore, TaskInbox, TaskLeases, TaskLog, TaskStatus } from "@deltawire/tasks";
import type { ChatStore } from "@deltawire/tasks/chats";
import type { AccessKeyStore } from "./access-keys.ts";
import type { ConversationStore } from "./conversation-store.ts";
import type { FileStore } from "./file-store.ts";
import type { LessonStore } from "./lesson-store.ts";
import type { ResponseStore } from "./response-store.ts";
import type { SharedSecretStore } from "./shared-secret-store.ts";

/*
 * The interface of all stores. `@deltawire/store/contract` tests it.
 *
 * If a method fails, it rejects with a `StoreError`, whose `code` is a `StoreErrorCode` and whose message says what to do.
 * A rejected write changes no data and does not affect later writes.
 */
export interface Store
  extends
    TaskLog,
    TaskLeases,
    TaskInbox,
    BlobStore,
    ChatStore,
    AccessKeyStore,
    LessonStore,
    ResponseStore,
    ConversationStore,
    FileStore,
    SharedSecretStore {
  /** True if every write is rejected. */
  readonly readOnly: boolean;
  /** True if several processes may use the store at the same time. */
  readonly isShared: boolean;
  /** Returns the last and the oldest readable sequence number of a root task, and its status. */
  head(rootTaskId: string): Promise<TaskHead | undefined>;
  /** Like `head`, for several root tasks. Unknown tasks are left out. */
  listHeads(rootTaskIds: readonly string[]): Promise<(TaskHead & { task_id: string })[]>;
  /** Returns the root tasks with pending approvals, oldest first. */
  listPendingApprovals(): Promise<PendingApprovalRef[]>;
  /** Returns a string that changes whenever approvals are requested, decided or expire. Much cheaper than the list. */
  getPendingApprovalsDigest(): Promise<string>;
  /**
   * Returns the newest root task with this reply key whose reply is lost: it was marked as lost, or the process that ran the task has exited.
   * Tasks that have ended are only found if they have completed within the last hour.
   */
  findTaskWithLostReply(replyKey: string): Promise<string | undefined>;
  /** Marks that no client receives the output of the root task as the reply to its request, or that one does again. */
  setReplyLost(rootTaskId: string, isLost: boolean): Promise<void>;
  /** Marks the replies of all unfinished root tasks as lost. */
  setUnfinishedRepliesLost(): Promise<void>;
  /**
   * Reserves a periodic job, so that only one of several processes runs it. Returns true if it was last reserved at least
   * `intervalMs` ago.
   */
  claimJob(name: string, intervalMs: number): Promise<boolean>;
  /** Stores the state of a root task after an event. Ignored for an unknown task. */
  saveSnapshot(rootTaskId: string, asOf: number, json: string): Promise<void>;
  /** Returns the newest snapshot that contains no replaced events. */
  snapshot(rootTaskId: string): Promise<{ as_of: number; json: string } | undefined>;
  /** True if the data exists and belongs to the owner. Sub-agents' tasks belong to the owner of their root task. */
  owns(owner: string, kind: OwnedKind, id: string): Promise<boolean>;
  /** Lists root tasks, newest first. `before` is the id of the last task of the previous page. */
  listTasks(filter: TaskFilter): Promise<TaskSummary[]>;
  /**
   * Reserves a key for a request for one day and returns the values of the request. If another request has reserved the key,
   * returns the values of that request instead.
   */
  claimIdempotencyKey(
    idempotencyKey: string,
    bodyHash: string,
    rootTaskId: string,
  ): Promise<IdempotencyRecord>;
  /**
   * Lets a process run the request of a reserved key until a lease expires. Extends the lease of the same process. Returns false
   * while another process holds the key, or if the key is not reserved.
   */
  holdIdempotencyKey(idempotencyKey: string, lease: IdempotencyLease): Promise<boolean>;
  /** Ends the lease of a process. */
  releaseIdempotencyKey(idempotencyKey: string, holder: string): Promise<void>;
  /**
   * Removes ended root tasks that are too old or exceed the size limit (oldest end first), expired deletions of chats
   * and messages, and unused blobs. `now`, in milliseconds: default the time of the store's clock.
   */
  prune(now?: number): Promise<{ tasks: number; blobs: number }>;
  /** Returns the number of bytes in use. */
  size(): Promise<number>;
  /** Finishes pending writes, then closes the store. */
  close(): Promise<void>;
}

export interface PendingApprovalRef {
  approvalId: string;
  rootTaskId: string;
  owner: string;
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

/** Kinds of data that belong to an owner: of an access key, or "" for requests without one. The id of a blob is its hash. */
export type OwnedKind = "task" | "approval" | "chat" | "blob";

export interface TaskFilter {
  /** Only tasks of this owner are listed. */
  owner: string;
  limit: number;
  before?: string;
  session?: string;
  status?: string;
}

export interface IdempotencyRecord {
  rootTaskId: string;
  bodyHash: string;
}

export interface IdempotencyLease {
  /** The id of the process. */
  holder: string;
  ttlMs: number;
}
