import { approvedArguments, argumentsHash, expandedHash } from "../arguments-hash.ts";
import type { TaskEvent } from "../events.ts";
import type { Approval } from "../items.ts";
import type { ApprovalNotes, CallNotes, LogNotes, TaskNotes } from "../log-notes.ts";
import { RuleBroken } from "./rule-broken.ts";
import { takeId } from "./unique-ids.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function requested(
  notes: LogNotes,
  task: TaskNotes,
  { approval }: EventOf<"task.approval.requested">,
  sha256: ((text: string) => string) | undefined,
): void {
  const call = callOf(task, approval);
  if (approval.kind === "call") {
    if (call?.whole !== true || call.approval !== "none" || call.execution !== undefined)
      throw new RuleBroken(
        "approval_of_call",
        `${approval.approval_id} comes too late or too soon`,
      );
    const { expanded_arguments: expanded } = approval;
    const hash =
      expanded === undefined
        ? argumentsHash(call.arguments, sha256)
        : expandedHash(expanded, sha256);
    if (approval.args_hash !== hash)
      throw new RuleBroken("executed_hash", `${approval.approval_id} is for other arguments`);
  }
  const isOfRun = approval.kind === "call" || approval.kind === "reconcile";
  if (approval.expanded_arguments !== undefined && !isOfRun)
    throw new RuleBroken(
      "approval_choice",
      `${approval.approval_id}: expanded arguments belong to approvals of calls and reconciliations`,
    );
  const { choices } = approval;
  const odd = choices.includes("redact") && approval.kind !== "result";
  if (choices.length === 0 || new Set(choices).size < choices.length || odd)
    throw new RuleBroken(
      "approval_choice",
      `${approval.approval_id} has no choices that make sense`,
    );
  takeId(notes, approval.approval_id);
  notes.approvals.set(approval.approval_id, { task, approval, call, pending: true });
  if (call === undefined) return;
  call.pending += 1;
  if (approval.kind === "call") call.approval = "pending";
}

function callOf(task: TaskNotes, approval: Approval): CallNotes | undefined {
  const { approval_id, kind, call_id } = approval;
  if (call_id === undefined) {
    if (kind === "question" || kind === "limit") return undefined;
    throw new RuleBroken("approval_of_call", `${approval_id} names no call`);
  }
  const call = task.calls.get(call_id);
  if (call?.state !== "closed" || call.result?.state === "closed")
    throw new RuleBroken(
      "approval_of_call",
      `${approval_id}: ${call_id} is no call to decide upon`,
    );
  return call;
}

export function resolved(
  notes: LogNotes,
  task: TaskNotes,
  event: EventOf<"task.approval.resolved">,
): void {
  const asked = pendingApproval(notes, task, event.approval_id);
  const { approval, call } = asked;
  const { decision, scope } = event;
  if (!approval.choices.includes(decision))
    throw new RuleBroken("approval_choice", `${decision} is not among the choices`);
  if (!(approval.scopes ?? ["once"]).includes(scope))
    throw new RuleBroken("approval_choice", `the scope ${scope} is not among the choices`);
  if (event.any_arguments === true && approval.any_arguments !== true)
    throw new RuleBroken("approval_choice", "any arguments is not among the choices");
  if (event.arguments !== undefined && (approval.kind !== "call" || decision !== "approve"))
    throw new RuleBroken("approval_choice", "only an approved call has other arguments");
  if (event.expanded_arguments !== undefined && event.arguments === undefined)
    throw new RuleBroken("approval_choice", "there are no other arguments that could be expanded");
  settle(asked);
  if (decision === "abort") task.aborted = true;
  if (call === undefined || approval.kind !== "call") return;
  call.approval = decision === "approve" ? "approved" : "refused";
  call.approved = approvedArguments(approval, event);
}

export function expired(
  notes: LogNotes,
  task: TaskNotes,
  event: EventOf<"task.approval.expired">,
): void {
  const asked = pendingApproval(notes, task, event.approval_id);
  settle(asked);
  if (asked.call !== undefined && asked.approval.kind === "call") asked.call.approval = "refused";
}

function pendingApproval(notes: LogNotes, task: TaskNotes, id: string): ApprovalNotes {
  const asked = notes.approvals.get(id);
  if (asked?.task !== task || !asked.pending)
    throw new RuleBroken("approval_pending", `${id} is not pending in ${task.id}`);
  return asked;
}

function settle(asked: ApprovalNotes): void {
  asked.pending = false;
  if (asked.call !== undefined) asked.call.pending -= 1;
}
