import { hasEnded, type TaskWriter, type TreeWriter } from "@deltawire/tasks";

/** Cancels a task and all tasks below it, in any state. */
export function cancelTask(tree: TreeWriter, writer: TaskWriter, reason?: string): void {
  settleTask(tree, writer);
  const tokens = writer.state.usage.input_tokens;
  writer.canceled("user", reason, {
    input_tokens: tokens + 1,
    output_tokens: tokens + 1,
    total_tokens: 2 * tokens + 2,
  });
}

/** Closes everything that is open, based only on the state, like a process that resumes a task after a crash. */
export function settleTask(tree: TreeWriter, writer: TaskWriter): void {
  for (const { task_id, info, status } of Object.values(tree.state.tasks))
    if (info.parent_task_id === writer.taskId && !hasEnded(status))
      cancelTask(tree, tree.task(task_id));
  for (const approval of tree.state.approvals)
    if (approval.task_id === writer.taskId && approval.status === "pending")
      writer.approvalExpired(approval.approval_id);
  const { state } = writer;
  const lastExecutions = new Map(
    state.executions.map((execution) => [execution.call_id, execution]),
  );
  for (const { call_id, execution_id, outcome } of lastExecutions.values())
    if (outcome === undefined) writer.executionDone(call_id, execution_id, "unknown", 0);
  for (const [index, item] of state.output.entries()) {
    if (item.type === "retracted") continue;
    if (item.type === "tool_result") {
      if (item.status !== "in_progress") continue;
      const mustKeep =
        Object.hasOwn(tree.state.tasks, item.call_id) ||
        tree.state.references.some(({ item_id }) => item_id === item.id);
      if (mustKeep) writer.openResult(item.call_id)?.done({ status: "incomplete" });
      else writer.retract(item.id, "incomplete");
    } else if (!state.round_done && index >= state.round_started_at_index) {
      writer.retract(item.id, "cut");
    }
  }
  const { output } = writer.state;
  const answered = new Set(output.map((item) => item.type === "tool_result" && item.call_id));
  for (const item of output) {
    if (item.type !== "tool_call" || answered.has(item.call_id)) continue;
    const result = writer.toolResult(item.call_id);
    result.block({ type: "text", text: "It was not run." });
    result.done({ status: "incomplete", outcome: "incomplete" });
  }
  writer.working();
}
