import type { TaskApproval, ToolCallItem } from "@deltawire/tasks";
import type { PendingApproval } from "@deltawire/tasks/chats";
import { ApprovalCard } from "../approvals/approval-card.tsx";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { useAnswerContext } from "./answer-context.ts";

interface InlineApprovalProps {
  approval: TaskApproval;
  call?: ToolCallItem | undefined;
}

/** A pending approval in the timeline. `app.approvals.pending` has more details, but may list it later than the task. */
export function InlineApproval({ approval, call }: InlineApprovalProps) {
  const app = useAppStore();
  const { rootTaskId = approval.task_id } = useAnswerContext();
  const info = useCellSelector(
    app.taskTree(rootTaskId),
    (state) => state?.tasks[approval.task_id]?.info,
  );
  const detailedApproval = useCellSelector(app.approvals.pending, (approvals) =>
    approvals.find((item) => item.approval.approval_id === approval.approval_id),
  );
  const pending: PendingApproval = detailedApproval ?? {
    approval,
    root_task_id: rootTaskId,
    requested_at: "",
    agent: info?.agent ?? "",
    depth: info?.depth ?? 0,
    ...(call === undefined ? {} : { call: { name: call.name, arguments: call.arguments } }),
  };
  return (
    <div className="answer-approval">
      <ApprovalCard pending={pending} placement="inline" />
    </div>
  );
}
