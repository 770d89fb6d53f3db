import type { Approval, JsonObject, Outcome, TaskApproval, ToolOutput } from "@deltawire/tasks";
import type { Activity } from "../task/activity.ts";
import type { TaskContext, TreeContext } from "../task/context.ts";
import { throwIfStopped } from "../task/stop.ts";
import type { Decisions } from "./decisions.ts";

/** What a question to a person needs of the task. */
export interface ApprovalContext extends TaskContext {
  readonly tree: ApprovalTree;
  readonly activity: Activity;
}

interface ApprovalTree extends TreeContext {
  readonly decisions: Decisions;
  /** Calls whose tools are at work, until what came of them is written down. */
  readonly atWork: Set<string>;
}

/** A result that a person wants to see before the model does. */
export interface HeldResult {
  outcome: Outcome;
  output: ToolOutput;
}

type Question = Omit<Approval, "approval_id" | "expires_at">;

/** Asks a person, unless one has been asked before, and waits. `key` is what waits: a call, or the task. */
export async function askPerson(
  context: ApprovalContext,
  key: string,
  question: Question,
  held?: HeldResult,
): Promise<TaskApproval> {
  const { tree, task, activity, signal } = context;
  const { kind, call_id } = question;
  // The user may be asked again at every limit; of a call a question is asked once.
  const asked = approvalsOf(context).findLast(
    (one) =>
      one.kind === kind &&
      one.call_id === call_id &&
      (call_id !== undefined || one.status === "pending"),
  );
  const id = asked?.approval_id ?? request(context, question, held);
  tree.atWork.delete(key);
  await tree.decisions.wait(id, { activity, key, task, signal });
  const approval = tree.decisions.approval(id);
  if (approval === undefined) throw new TypeError(`approval ${id} is not in the log`);
  // An abort has stopped the whole tree.
  throwIfStopped(signal);
  return approval;
}

export function approvalsOf({ tree, task }: TaskContext): readonly TaskApproval[] {
  return tree.state.approvals.filter(({ task_id }) => task_id === task.taskId);
}

function request(
  { tree, task, agent }: ApprovalContext,
  question: Question,
  held?: HeldResult,
): string {
  const id = tree.options.newId("apr");
  const { approvalSeconds } = agent;
  const expires =
    approvalSeconds === undefined
      ? {}
      : { expires_at: new Date(tree.options.now() + approvalSeconds * 1000).toISOString() };
  task.approvalRequested(
    { approval_id: id, ...question, ...expires },
    held && (JSON.parse(JSON.stringify(held)) as JsonObject),
  );
  const call = task.state.output.find(
    (item) => item.type === "tool_call" && item.call_id === question.call_id,
  );
  if (call !== undefined) task.update(call.id, { status: "awaiting_approval" });
  return id;
}
