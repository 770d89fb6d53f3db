import type { ItemStatus, CallOutcome, TaskWriter, ToolCallItem } from "@deltawire/tasks";

/** The final status of a call and of its result, by outcome. */
export const statusByOutcome: Record<CallOutcome, ItemStatus> = {
  completed: "completed",
  failed: "failed",
  timeout: "failed",
  denied: "denied",
  canceled: "incomplete",
  incomplete: "incomplete",
  unknown: "unknown",
};

/** Writes `reason` as the result of a call. Synchronous, so that the log contains all of it or nothing. */
export function rejectCall(
  task: TaskWriter,
  call: ToolCallItem,
  outcome: CallOutcome,
  reason: string,
): void {
  const result = task.openResult(call.call_id) ?? task.toolResult(call.call_id);
  const status = statusByOutcome[outcome];
  result.closeBlock();
  const hasChild = call.child_task_ids !== undefined;
  if (!hasChild) result.block({ type: "text", text: reason });
  result.done({ status, outcome, content: [{ type: "text", text: reason }] });
  task.update(call.id, { status, outcome });
}
