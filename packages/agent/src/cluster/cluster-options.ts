import type { MessageBus, TaskInbox, TaskLeases, TaskStatus } from "@deltawire/tasks";
import type { ApprovalIndex } from "../approvals/pending-approvals.ts";

/** The methods of a store that several processes share. */
export interface ClusterStore extends TaskLeases, TaskInbox, ApprovalIndex {
  /** Returns the last sequence number and the status of each root task. Unknown tasks are left out. */
  listHeads(
    rootTaskIds: readonly string[],
  ): Promise<{ task_id: string; head: number; status: TaskStatus }[]>;
  /** Returns a string that changes whenever approvals are requested, decided or expire. Much cheaper than the list. */
  getPendingApprovalsDigest(): Promise<string>;
}

/** How a runtime shares its tasks with the runtimes of other processes. */
export interface ClusterOptions {
  store: ClusterStore;
  /** Makes live events of other processes arrive sooner. Without it, they are read from the store at short intervals. */
  bus?: MessageBus;
  /** Identifies the runtime; default: random. Never use an id twice. */
  processId?: string;
  /** How long the tasks of a process that has died stay reserved, in milliseconds; default 6000. */
  leaseMs?: number;
  /** How often the lease is renewed and free tasks are claimed, in milliseconds; default 1000. */
  renewMs?: number;
}
