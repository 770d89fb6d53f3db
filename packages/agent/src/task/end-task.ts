import { hasEnded, type TaskFailure, type TaskWriter, type TreeWriter } from "@deltawire/tasks";
import { openCalls } from "./items.ts";
import { refuseCall } from "./refuse-call.ts";
import { unreachable } from "../unreachable.ts";

/** How a task ends that does not come to its own end. */
export type Ending =
  | { is: "failed"; error: TaskFailure }
  | { is: "canceled"; by: string; reason?: string }
  | { is: "expired"; reason: string };

/**
 * Closes all that is open in a task and below it, keeps what is finished, and says how it ended. Synchronous: the log has
 * all of it or nothing.
 */
export function endTask(tree: TreeWriter, taskId: string, ending: Ending): void {
  for (const child of Object.values(tree.state.tasks))
    if (child.info.parent_task_id === taskId && !hasEnded(child.status))
      endTask(tree, child.task_id, below(ending));
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
  switch (ending.is) {
    case "failed":
      return task.failed(ending.error, usage);
    case "canceled":
      return task.canceled(ending.by, ending.reason, usage);
    case "expired":
      return task.expired(ending.reason, usage);
    default:
      return unreachable(ending);
  }
}

/** A task fails on its own account: those below it are only told to stop. */
function below(ending: Ending): Ending {
  if (ending.is !== "failed") return ending;
  return { is: "canceled", by: "runtime", reason: "the task that asked for it failed" };
}

function closeCalls(task: TaskWriter, ending: Ending): void {
  const { state } = task;
  for (const call of openCalls(state)) {
    const ran = state.executions.findLast(({ call_id }) => call_id === call.call_id);
    if (ran?.outcome === "unknown" && call.child_task_ids === undefined)
      refuseCall(
        task,
        call,
        "unknown",
        "The task ended before it was known whether the call was carried out.",
      );
    else
      refuseCall(
        task,
        call,
        ending.is === "failed" ? "incomplete" : "canceled",
        "The task ended before the call was answered.",
      );
  }
}
