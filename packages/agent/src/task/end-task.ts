import {
  assertNever,
  hasEnded,
  type TaskFailure,
  type TaskWriter,
  type TreeWriter,
} from "@deltawire/tasks";
import { findOpenCalls } from "./task-items.ts";
import { rejectCall } from "./reject-call.ts";

/** How a task ends if it does not complete. */
export type TaskEnding =
  | { status: "failed"; error: TaskFailure }
  | { status: "canceled"; by: string; reason?: string }
  | { status: "expired"; reason: string };

/**
 * Ends a task and its sub-agents: closes everything that is open and writes how it ended. Finished items remain. Synchronous, so
 * that the log contains either all of these events or none.
 */
export function endTask(tree: TreeWriter, taskId: string, ending: TaskEnding): void {
  for (const child of Object.values(tree.state.tasks))
    if (child.info.parent_task_id === taskId && !hasEnded(child.status))
      endTask(tree, child.task_id, toChildEnding(ending));
  const task = tree.task(taskId);
  const { state } = task;
  for (const { approval_id, task_id, status } of tree.state.approvals)
    if (task_id === taskId && status === "pending") task.approvalExpired(approval_id);
  for (const item of state.output)
    if (item.type !== "retracted" && item.type !== "tool_result" && item.status === "in_progress")
      task.retract(item.id, "interrupted");
  for (const { call_id, execution_id, outcome } of state.executions)
    if (outcome === undefined) task.executionDone(call_id, execution_id, "unknown", 0);
  closeCalls(task, ending);
  const { usage } = task.state;
  switch (ending.status) {
    case "failed":
      return task.failed(ending.error, usage);
    case "canceled":
      return task.canceled(ending.by, ending.reason, usage);
    case "expired":
      return task.expired(ending.reason, usage);
    default:
      return assertNever(ending);
  }
}

/** Only the task itself failed; its sub-agents are canceled. */
function toChildEnding(ending: TaskEnding): TaskEnding {
  if (ending.status !== "failed") return ending;
  return { status: "canceled", by: "runtime", reason: "the parent task failed" };
}

function closeCalls(task: TaskWriter, ending: TaskEnding): void {
  const { state } = task;
  for (const call of findOpenCalls(state)) {
    const lastExecution = state.executions.findLast(({ call_id }) => call_id === call.call_id);
    if (lastExecution?.outcome === "unknown" && call.child_task_ids === undefined)
      rejectCall(
        task,
        call,
        "unknown",
        "The task ended before it was known whether the call was carried out.",
      );
    else
      rejectCall(
        task,
        call,
        ending.status === "failed" ? "incomplete" : "canceled",
        "The task ended before the call was answered.",
      );
  }
}
