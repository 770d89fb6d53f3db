import { getApprovedArguments, hashArguments, hashExpandedArguments } from "../arguments-hash.ts";
import type { TaskEvent } from "../events.ts";
import type { Approval } from "../items.ts";
import type {
  TrackedApproval,
  TrackedCall,
  ValidatorState,
  TrackedTask,
} from "../validator-state.ts";
import { RuleViolationError } from "./rule-violation.ts";
import { claimIds } from "./unique-ids.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function checkApprovalRequested(
  state: ValidatorState,
  task: TrackedTask,
  { approval }: EventOf<"task.approval.requested">,
  sha256: ((text: string) => string) | undefined,
): void {
  const call = findDecidableCall(task, approval);
  if (approval.kind === "call") {
    if (call?.isComplete !== true || call.approval !== "none" || call.execution !== undefined)
      throw new RuleViolationError(
        "approval_of_call",
        `${approval.approval_id}: call ${approval.call_id} cannot be approved now`,
      );
    const { expanded_arguments: expandedArguments } = approval;
    const hash =
      expandedArguments === undefined
        ? hashArguments(call.arguments, sha256)
        : hashExpandedArguments(expandedArguments, sha256);
    if (approval.args_hash !== hash)
      throw new RuleViolationError(
        "executed_hash",
        `${approval.approval_id}: args_hash does not match the arguments of the call`,
      );
  }
  const isCallOrReconcile = approval.kind === "call" || approval.kind === "reconcile";
  if (approval.expanded_arguments !== undefined && !isCallOrReconcile)
    throw new RuleViolationError(
      "approval_choice",
      `${approval.approval_id}: expanded_arguments are only for the kinds call and reconcile`,
    );
  const { choices } = approval;
  const hasInvalidRedact = choices.includes("redact") && approval.kind !== "result";
  if (choices.length === 0 || new Set(choices).size < choices.length || hasInvalidRedact)
    throw new RuleViolationError(
      "approval_choice",
      `${approval.approval_id}: invalid choices ${choices.join(", ") || "(none)"}`,
    );
  claimIds(state, approval.approval_id);
  state.approvals.set(approval.approval_id, { task, approval, call, isPending: true });
  if (call === undefined) return;
  call.pendingApprovals += 1;
  if (approval.kind === "call") call.approval = "pending";
}

function findDecidableCall(task: TrackedTask, approval: Approval): TrackedCall | undefined {
  const { approval_id, kind, call_id } = approval;
  if (call_id === undefined) {
    if (kind === "question" || kind === "limit") return undefined;
    throw new RuleViolationError("approval_of_call", `${approval_id} has no call_id`);
  }
  const call = task.calls.get(call_id);
  if (call?.state !== "closed" || call.result?.state === "closed")
    throw new RuleViolationError(
      "approval_of_call",
      `${approval_id}: ${call_id} is not a closed call without a result`,
    );
  return call;
}

export function checkApprovalResolved(
  state: ValidatorState,
  task: TrackedTask,
  event: EventOf<"task.approval.resolved">,
): void {
  const pending = getPendingApproval(state, task, event.approval_id);
  const { approval, call } = pending;
  const { decision, scope } = event;
  if (!approval.choices.includes(decision))
    throw new RuleViolationError(
      "approval_choice",
      `the decision ${decision} is not among the choices`,
    );
  if (!(approval.scopes ?? ["once"]).includes(scope))
    throw new RuleViolationError("approval_choice", `the scope ${scope} is not offered`);
  if (event.any_arguments === true && approval.any_arguments !== true)
    throw new RuleViolationError("approval_choice", "any_arguments is not offered");
  if (event.arguments !== undefined && (approval.kind !== "call" || decision !== "approve"))
    throw new RuleViolationError(
      "approval_choice",
      "arguments can only be changed when a call is approved",
    );
  if (event.expanded_arguments !== undefined && event.arguments === undefined)
    throw new RuleViolationError(
      "approval_choice",
      "expanded_arguments can only be changed together with arguments",
    );
  settleApproval(pending);
  if (decision === "abort") task.isAborted = true;
  if (call === undefined || approval.kind !== "call") return;
  call.approval = decision === "approve" ? "approved" : "denied";
  call.approvedArguments = getApprovedArguments(approval, event);
}

export function checkApprovalExpired(
  state: ValidatorState,
  task: TrackedTask,
  event: EventOf<"task.approval.expired">,
): void {
  const pending = getPendingApproval(state, task, event.approval_id);
  settleApproval(pending);
  if (pending.call !== undefined && pending.approval.kind === "call")
    pending.call.approval = "denied";
}

function getPendingApproval(state: ValidatorState, task: TrackedTask, id: string): TrackedApproval {
  const pending = state.approvals.get(id);
  if (pending?.task !== task || !pending.isPending)
    throw new RuleViolationError("approval_pending", `${id} is not pending in ${task.id}`);
  return pending;
}

function settleApproval(pending: TrackedApproval): void {
  pending.isPending = false;
  if (pending.call !== undefined) pending.call.pendingApprovals -= 1;
}
