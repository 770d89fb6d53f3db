import type { TaskLimits, TaskWriter, TreeWriter } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import type { ApprovalContext } from "../approvals/request-approval.ts";
import type { TruncationGuard } from "../truncate.ts";
import type { Variables } from "../variables/variables.ts";

/** The part of a running task that its tool calls use. */
export interface CallContext extends ApprovalContext {
  readonly tree: CallTree;
  readonly depth: number;
  readonly limits: TaskLimits;
  /** Runs a sub-agent's task as a child of this one. Resolves when it has ended. */
  runChild(task: TaskWriter, agent: Agent): Promise<void>;
}

type CallTree = ApprovalContext["tree"] & {
  readonly writer: TreeWriter;
  readonly variables: Variables | undefined;
  readonly truncationGuard: TruncationGuard | undefined;
  readonly journal: { whenStored(): Promise<void> };
  /** Stops the task if another process may have taken it over. Call it immediately before an effect. */
  abandonIfLeaseExpired(): void;
  /** Throws if the task is stopping, so that no new work starts. */
  assertMayStart(signal: AbortSignal): void;
};
