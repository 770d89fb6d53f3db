import {
  getChangedArguments,
  hasEnded,
  type ToolExecution,
  type Reference,
  type TaskApproval,
  type TaskInput,
  type TaskReference,
  type TaskState,
  type TaskTree,
  type Usage,
} from "@deltawire/tasks";
import { findChildTask, toCallError, type CallError } from "@deltawire/tasks/chats";
import { memoizeByObject } from "../memoize.ts";

/** The part of a task that its timeline is built from. */
export interface TimelineInput {
  readonly taskId: string;
  readonly isRunning: boolean;
  readonly output: TaskState["output"];
  /** When the last output item started, if known. */
  readonly lastItemStartedAt: string | undefined;
  readonly inputs: readonly TaskInput[];
  readonly references: readonly Reference[];
  /** Pending approvals of this task, without those of its sub-agents. */
  readonly pendingApprovals: readonly TaskApproval[];
  getExecution(callId: string): CallExecutionSummary | undefined;
  getChild(callId: string): SubAgentInput | undefined;
}

interface SubAgentInput {
  readonly agent: string | undefined;
  readonly usage: Usage | undefined;
  readonly error: CallError | undefined;
  readonly input: TimelineInput;
}

/** What is known about a call in addition to its items. */
export interface CallExecutionSummary {
  readonly startedAt: string | undefined;
  /** Total of all finished runs. */
  readonly durationMs: number | undefined;
  readonly isExecuting: boolean;
  /** Outcome of the last run. */
  readonly outcome: string | undefined;
  /** Approval decisions, in order. */
  readonly decisions: readonly string[];
  /** The arguments with which the call ran, if the user edited those of the model. */
  readonly editedArguments: string | undefined;
}

export function toTimelineInput(tree: TaskTree, task: TaskState): TimelineInput {
  const { task_id: taskId } = task;
  const isRunning = !hasEnded(task.status);
  const isRoot = taskId === tree.root_task_id;
  const approvals = indexApprovalsByTask(tree.approvals).get(taskId) ?? emptyApprovalIndex;
  return {
    taskId,
    isRunning,
    output: task.output,
    lastItemStartedAt: task.item_added_at,
    inputs: isRoot ? task.inputs : noInputs,
    references: groupReferencesByTask(tree.references).get(taskId) ?? noReferences,
    pendingApprovals: isRunning ? approvals.pending : emptyApprovalIndex.pending,
    getExecution: (callId) =>
      summarizeCallExecution(groupExecutionsByCall(task.executions).get(callId), approvals, callId),
    getChild(callId) {
      const child = findChildTask(tree, task, callId);
      return (
        child && {
          agent: child.info.agent === "" ? undefined : child.info.agent,
          usage: omitEmptyUsage(child.tree_usage ?? child.usage),
          error: cachedTaskError(child),
          input: toTimelineInput(tree, child),
        }
      );
    },
  };
}

const cachedTaskError = memoizeByObject(toCallError);

/** Returns undefined for zero tokens without cost, which is not worth showing. */
function omitEmptyUsage(usage: Usage | undefined): Usage | undefined {
  return usage?.total_tokens === 0 && usage.cost === undefined ? undefined : usage;
}

interface ApprovalIndex {
  readonly pending: readonly TaskApproval[];
  /** By call id. */
  readonly decisionsByCall: ReadonlyMap<string, CallDecisionRecord>;
}

type CallDecisionRecord = Pick<CallExecutionSummary, "decisions" | "editedArguments">;

const emptyApprovalIndex: ApprovalIndex = createApprovalIndex();

function createApprovalIndex(): {
  pending: TaskApproval[];
  decisionsByCall: Map<string, CallDecisionRecord>;
} {
  return { pending: [], decisionsByCall: new Map() };
}

/** By task id. Recomputed only if the list changes. */
const indexApprovalsByTask = memoizeByObject((approvals: readonly TaskApproval[]) => {
  const byTask = new Map<string, ReturnType<typeof createApprovalIndex>>();
  for (const approval of approvals) {
    const { task_id, call_id, status, resolution } = approval;
    const index = byTask.get(task_id) ?? createApprovalIndex();
    byTask.set(task_id, index);
    if (status === "pending") index.pending.push(approval);
    else if (call_id !== undefined) {
      const { decisions, editedArguments } = index.decisionsByCall.get(call_id) ?? noCallDecision;
      index.decisionsByCall.set(call_id, {
        decisions: [...decisions, resolution?.decision ?? "expired"],
        editedArguments: (resolution && getChangedArguments(resolution)) ?? editedArguments,
      });
    }
  }
  return byTask;
});

const groupExecutionsByCall = memoizeByObject((executions: readonly ToolExecution[]) =>
  Map.groupBy(executions, ({ call_id }) => call_id),
);

/** By task id. */
const groupReferencesByTask = memoizeByObject((references: readonly TaskReference[]) =>
  Map.groupBy(references, ({ task_id }) => task_id),
);

const noReferences: readonly Reference[] = [];
const noInputs: readonly TaskInput[] = [];

function summarizeCallExecution(
  executions: readonly ToolExecution[] | undefined,
  approvals: ApprovalIndex,
  callId: string,
): CallExecutionSummary | undefined {
  const decision = approvals.decisionsByCall.get(callId);
  if (executions === undefined && decision === undefined) return undefined;
  const durations = (executions ?? []).flatMap(({ duration_ms }) => duration_ms ?? []);
  return {
    startedAt: executions?.[0]?.started_at,
    durationMs:
      durations.length === 0 ? undefined : durations.reduce((sum, duration) => sum + duration, 0),
    isExecuting: executions?.at(-1)?.outcome === undefined && executions !== undefined,
    outcome: executions?.at(-1)?.outcome,
    ...(decision ?? noCallDecision),
  };
}

const noDecisions: readonly string[] = [];
const noCallDecision: CallDecisionRecord = { decisions: noDecisions, editedArguments: undefined };
