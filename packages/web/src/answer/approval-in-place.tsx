import type { TaskApproval, ToolCallItem } from "@deltawire/tasks";
import type { PendingApproval } from "@deltawire/tasks/chats";
import { ApprovalCard } from "../approvals/approval-card.tsx";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { useScene } from "./scene.ts";

interface ApprovalInPlaceProps {
  approval: TaskApproval;
  call?: ToolCallItem | undefined;
}

/** What is asked, where it is asked. The list of all approvals knows more of it, and comes a little later. */
export function ApprovalInPlace({ approval, call }: ApprovalInPlaceProps) {
  const page = usePage();
  const { rootTaskId = approval.task_id } = useScene();
  const info = usePicked(
    page.taskTree(rootTaskId),
    (state) => state?.tasks[approval.task_id]?.info,
  );
  const listed = usePicked(page.approvals.pending, (all) =>
    all.find((one) => one.approval.approval_id === approval.approval_id),
  );
  const pending: PendingApproval = listed ?? {
    approval,
    root_task_id: rootTaskId,
    requested_at: "",
    agent: info?.agent ?? "",
    depth: info?.depth ?? 0,
    ...(call === undefined ? {} : { call: { name: call.name, arguments: call.arguments } }),
  };
  return (
    <div className="answer-approval">
      <ApprovalCard pending={pending} place="here" />
    </div>
  );
}
