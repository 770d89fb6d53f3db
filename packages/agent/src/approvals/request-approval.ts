import type { Approval, JsonObject, CallOutcome, TaskApproval, ToolOutput } from "@deltawire/tasks";
import type { Activity } from "../task/waiting-status.ts";
import type { TaskContext, TreeContext } from "../task/context.ts";
import { throwIfStopped } from "../task/stop-reason.ts";
import type { ApprovalDecisions } from "./decisions.ts";

/** The members of a task that an approval request uses. */
export interface ApprovalContext extends TaskContext {
  readonly tree: ApprovalTree;
  readonly activity: Activity;
}

interface ApprovalTree extends TreeContext {
  readonly decisions: ApprovalDecisions;
  /** Ids of calls whose tools are running, until the result is written or needs an approval. A shutdown waits for them. */
  readonly runningCalls: Set<string>;
}

/** A result that needs approval before the model sees it. */
export interface HeldResult {
  outcome: CallOutcome;
  output: ToolOutput;
}

type ApprovalRequest = Omit<Approval, "approval_id" | "expires_at">;

/** Requests an approval, unless that was done before, and waits for the decision. `key` is the id of the waiting call or task. */
export async function requestApproval(
  context: ApprovalContext,
  key: string,
  request: ApprovalRequest,
  heldResult?: HeldResult,
): Promise<TaskApproval> {
  const { tree, task, activity, signal } = context;
  const { kind, call_id } = request;
  // A call has at most one approval of each kind. Approvals without a call, at a limit, can be requested again.
  const existing = getTaskApprovals(context).findLast(
    (approval) =>
      approval.kind === kind &&
      approval.call_id === call_id &&
      (call_id !== undefined || approval.status === "pending"),
  );
  const id = existing?.approval_id ?? writeApprovalRequest(context, request, heldResult);
  tree.runningCalls.delete(key);
  await tree.decisions.waitForDecision(id, { activity, key, task, signal });
  const approval = tree.decisions.findApproval(id);
  if (approval === undefined) throw new TypeError(`approval ${id} is not in the log`);
  // If the user chose to abort, the signal is aborted by now.
  throwIfStopped(signal);
  return approval;
}

export function getTaskApprovals({ tree, task }: TaskContext): readonly TaskApproval[] {
  return tree.state.approvals.filter(({ task_id }) => task_id === task.taskId);
}

function writeApprovalRequest(
  { tree, task, agent }: ApprovalContext,
  request: ApprovalRequest,
  heldResult?: HeldResult,
): string {
  const id = tree.options.newId("apr");
  const { approvalSeconds } = agent;
  const expiry =
    approvalSeconds === undefined
      ? {}
      : { expires_at: new Date(tree.options.now() + approvalSeconds * 1000).toISOString() };
  task.approvalRequested(
    { approval_id: id, ...request, ...expiry },
    heldResult && (JSON.parse(JSON.stringify(heldResult)) as JsonObject),
  );
  const call = task.state.output.find(
    (item) => item.type === "tool_call" && item.call_id === request.call_id,
  );
  if (call !== undefined) task.update(call.id, { status: "awaiting_approval" });
  return id;
}
