import type { ReferencePool, TaskLog, TaskTree, TaskWriter, BlobStore } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import type { PrivateParts } from "../log/private-parts.ts";
import type { Redact } from "../redaction/redactor.ts";
import type { Toolset } from "./toolset.ts";
import type { Price } from "./usage.ts";

/**
 * What the rounds, the calls and the approvals of a running task share. `run/` implements it; what only some of them need is
 * added where it is used: `RoundContext`, `ApprovalContext`, `CallContext`.
 */
export interface TaskContext {
  readonly tree: TreeContext;
  readonly task: TaskWriter;
  readonly agent: Agent;
  readonly toolset: Toolset;
  /** The references that the model may cite. */
  readonly pool: ReferencePool;
  /** Aborted with a `Stopped` when the task is to stop. */
  readonly signal: AbortSignal;
}

/** A root task with all tasks below it. */
export interface TreeContext {
  readonly options: TaskServices;
  readonly rootTaskId: string;
  readonly state: TaskTree;
  readonly privateParts: PrivateParts;
  /** Another process goes on: nothing more is written. */
  readonly isLeft: boolean;
  /** Text from outside for a field of an event: redacted, then shortened. */
  eventText(text: string): string;
}

/** What all tasks of a process share. */
export interface TaskServices {
  readonly log: TaskLog;
  readonly blobs: BlobStore;
  readonly price: (model: string) => Price | undefined;
  /** Takes secrets out of what tools give and of what models fail with, before it is written. */
  readonly redact: Redact;
  /** Where a secret may begin that continues behind the end of a text; its length if there is none. */
  readonly secretStart?: ((text: string) => number) | undefined;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  readonly onFailure: (message: string, cause: unknown) => void;
}
