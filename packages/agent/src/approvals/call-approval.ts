import {
  getApprovedArguments,
  hashArguments,
  hashExpandedArguments,
  type ExpandedArguments,
  type TaskApproval,
  type ToolCallItem,
} from "@deltawire/tasks";
import { getTaskApprovals, requestApproval, type ApprovalContext } from "./request-approval.ts";
import type { TaskContext } from "../task/context.ts";
import type { Tool } from "../tool.ts";
import { storeExpansion } from "../variables/expand-arguments.ts";

/** The parsed arguments of a call, and their expanded text if they contain references to variables. */
interface CallInput {
  value: unknown;
  expanded?: string;
}

/** Returns the user's decision on a call, or undefined if the call needs no approval. */
export async function requestCallApproval(
  context: ApprovalContext,
  call: ToolCallItem,
  tool: Tool,
  { value: input, expanded }: CallInput,
): Promise<TaskApproval | undefined> {
  const hash = hashArguments(expanded ?? call.arguments);
  const asksOnce = tool.approval.call === "ask_once";
  if (findCallApproval(context, call) === undefined) {
    if (tool.approval.call === "auto" || (await isAllowed(tool, input))) return undefined;
    // A call that has already started needs no approval afterwards, even if the policy has changed since.
    if (hasStarted(context, call)) return undefined;
    if (asksOnce && (await context.tree.decisions.isGranted(tool.name, hash))) return undefined;
  }
  const expansion =
    expanded === undefined
      ? {}
      : { expanded_arguments: await storeExpansion(expanded, context.tree.options.blobs) };
  const approval = await requestApproval(context, call.call_id, {
    kind: "call",
    call_id: call.call_id,
    tool: tool.name,
    args_hash: hash,
    ...expansion,
    choices: ["approve", "deny", "abort"],
    scopes: asksOnce ? ["once", "session"] : ["once"],
    any_arguments: asksOnce && tool.allowsAnyArguments,
  });
  const { resolution } = approval;
  if (resolution?.decision === "approve" && resolution.scope === "session") {
    const grantsAnyArguments =
      resolution.any_arguments === true && asksOnce && tool.allowsAnyArguments;
    await context.tree.decisions.addGrant(
      grantsAnyArguments
        ? { tool: tool.name }
        : { tool: tool.name, args_hash: hashExecutedArguments(context, call) },
    );
  }
  return approval;
}

/** True if the allowlist of the tool contains the call; false if `tool.allows` throws. */
async function isAllowed(tool: Tool, input: unknown): Promise<boolean> {
  try {
    return (await tool.allows?.(input)) === true;
  } catch {
    return false;
  }
}

/** Returns the result that the model receives for a call that was not approved, or undefined if it was approved. */
export function formatDenial({ status, resolution }: TaskApproval): string | undefined {
  if (status === "expired")
    return "The call was not run: the approval request expired without an answer.";
  if (resolution?.decision === "approve") return undefined;
  const reason = resolution?.reason;
  return `The user denied this call${reason === undefined || reason === "" ? "." : `: ${reason}`}`;
}

/** Returns the arguments as edited by the user, or undefined if they were not edited. */
export function findEditedArguments(context: TaskContext, call: ToolCallItem): string | undefined {
  const edited = findCallApproval(context, call)?.resolution?.arguments;
  return edited === call.arguments ? undefined : edited;
}

/** Returns the approved arguments if they differ from the text of the call. Undefined also if no approval was requested. */
export function findApprovedArguments(
  context: TaskContext,
  call: ToolCallItem,
): ExpandedArguments | undefined {
  const approval = findCallApproval(context, call);
  return approval?.resolution && getApprovedArguments(approval, approval.resolution);
}

/** Returns the hash of the approved arguments, else of the arguments that the model wrote. */
export function hashExecutedArguments(context: TaskContext, call: ToolCallItem): string {
  const approved = findApprovedArguments(context, call);
  return (approved && hashExpandedArguments(approved)) ?? hashArguments(call.arguments);
}

function hasStarted({ task }: TaskContext, call: ToolCallItem): boolean {
  return task.state.executions.some(({ call_id }) => call_id === call.call_id);
}

export function findCallApproval(
  context: TaskContext,
  call: ToolCallItem,
): TaskApproval | undefined {
  return getTaskApprovals(context).find(
    ({ call_id, kind }) => call_id === call.call_id && kind === "call",
  );
}
