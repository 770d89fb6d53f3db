import type { ItemStatus, Outcome, TaskWriter, ToolCallItem } from "@deltawire/tasks";

/** How a call and its result end. */
export const statusOf: Record<Outcome, ItemStatus> = {
  completed: "completed",
  failed: "failed",
  timeout: "failed",
  denied: "denied",
  canceled: "incomplete",
  incomplete: "incomplete",
  unknown: "unknown",
};

/** The result of a call that is not run. Written at once, so that the log has the whole of it or nothing. */
export function refuseCall(
  task: TaskWriter,
  call: ToolCallItem,
  outcome: Outcome,
  reason: string,
): void {
  const result = task.openResult(call.call_id) ?? task.toolResult(call.call_id);
  const status = statusOf[outcome];
  result.closeBlock();
  const hasChild = call.child_task_ids !== undefined;
  if (!hasChild) result.block({ type: "text", text: reason });
  result.done({ status, outcome, content: [{ type: "text", text: reason }] });
  task.update(call.id, { status, outcome });
}
