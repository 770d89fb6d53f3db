import type { ReferencePool, TaskLog, TaskTree, TaskWriter, BlobStore } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import type { PrivateRecords } from "../log/private-records.ts";
import type { Redact } from "../redaction/redactor.ts";
import type { Toolset } from "./toolset.ts";
import type { ModelPrice } from "./usage.ts";

/**
 * The members of a running task that rounds, calls and approvals share. Implemented in `run/`, and extended where one of them
 * needs more: `RoundContext`, `ApprovalContext`, `CallContext`.
 */
export interface TaskContext {
  readonly tree: TreeContext;
  readonly task: TaskWriter;
  readonly agent: Agent;
  readonly toolset: Toolset;
  /** The references that the model may cite. */
  readonly pool: ReferencePool;
  /** Aborted with a `StoppedError` when the task should stop. */
  readonly signal: AbortSignal;
}

/** A root task with the tasks of its sub-agents. */
export interface TreeContext {
  readonly options: TaskServices;
  readonly rootTaskId: string;
  /** Owner of the root task, and of the blobs and grants of all its tasks. */
  readonly owner: string;
  readonly state: TaskTree;
  readonly privateRecords: PrivateRecords;
  /** True if another process resumes the tree, so that nothing more may be written. */
  readonly isDetached: boolean;
  /** Redacts and truncates text from a tool or model for an event field. */
  eventText(text: string): string;
}

/** Services that all tasks of a process share. */
export interface TaskServices {
  readonly log: TaskLog;
  /** Those of the owner of the task. */
  readonly blobs: BlobStore;
  readonly getPrice: (model: string) => ModelPrice | undefined;
  /** Removes secrets from tool results and model errors before they are written to the log. */
  readonly redact: Redact;
  /** Returns the index from which the end of the text could be an incomplete secret, or the length of the text if there is none. */
  readonly findSecretStart?: ((text: string) => number) | undefined;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  readonly onFailure: (message: string, cause: unknown) => void;
}
