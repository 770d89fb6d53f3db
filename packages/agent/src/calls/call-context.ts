import type { Limits, TaskWriter, TreeWriter } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import type { ApprovalContext } from "../approvals/ask-person.ts";
import type { Cuts } from "../cuts.ts";
import type { Variables } from "../variables/variables.ts";

/** What a call needs of the task that makes it. */
export interface CallContext extends ApprovalContext {
  readonly tree: CallTree;
  readonly depth: number;
  readonly limits: Limits;
  /** Runs the task of a sub-agent below this one. Resolves when it has ended. */
  runBelow(task: TaskWriter, agent: Agent): Promise<void>;
}

type CallTree = ApprovalContext["tree"] & {
  readonly writer: TreeWriter;
  readonly variables: Variables | undefined;
  readonly cuts: Cuts | undefined;
  readonly journal: { settled(): Promise<void> };
  /** Throws if nothing new may begin. */
  mayBegin(signal: AbortSignal): void;
};
