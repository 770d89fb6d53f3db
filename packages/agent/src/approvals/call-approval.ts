import {
  approvedArguments,
  argumentsHash,
  expandedHash,
  type ExpandedArguments,
  type TaskApproval,
  type ToolCallItem,
} from "@deltawire/tasks";
import { approvalsOf, askPerson, type ApprovalContext } from "./ask-person.ts";
import type { TaskContext } from "../task/context.ts";
import type { Tool } from "../tool.ts";
import { storeExpansion } from "../variables/expanded-arguments.ts";

/** What a call would run with: its input, and the expanded text of it where it has references. */
interface CallInput {
  value: unknown;
  expanded?: string;
}

/** A person's word on a call, or undefined where none is needed. */
export async function approvalOf(
  run: ApprovalContext,
  call: ToolCallItem,
  tool: Tool,
  { value: input, expanded }: CallInput,
): Promise<TaskApproval | undefined> {
  const hash = argumentsHash(expanded ?? call.arguments);
  const once = tool.approval.call === "ask once";
  if (askedBefore(run, call) === undefined) {
    if (tool.approval.call === "auto" || (await isAllowed(tool, input))) return undefined;
    // It began when nobody had to be asked: whether it may is no question any more.
    if (hasBegun(run, call)) return undefined;
    if (once && (await run.tree.decisions.isGranted(tool.name, hash))) return undefined;
  }
  const shown =
    expanded === undefined
      ? {}
      : { expanded_arguments: await storeExpansion(expanded, run.tree.options.blobs) };
  const approval = await askPerson(run, call.call_id, {
    kind: "call",
    call_id: call.call_id,
    tool: tool.name,
    args_hash: hash,
    ...shown,
    choices: ["approve", "deny", "abort"],
    scopes: once ? ["once", "session"] : ["once"],
    any_arguments: once && tool.anyArguments,
  });
  const { resolution } = approval;
  if (resolution?.decision === "approve" && resolution.scope === "session") {
    const any = resolution.any_arguments === true && once && tool.anyArguments;
    await run.tree.decisions.grant(
      any ? { tool: tool.name } : { tool: tool.name, args_hash: executedHash(run, call) },
    );
  }
  return approval;
}

/** An allow-list that fails allows nothing. */
async function isAllowed(tool: Tool, input: unknown): Promise<boolean> {
  try {
    return (await tool.allows?.(input)) === true;
  } catch {
    return false;
  }
}

/** What the model is told of a call that was not approved. */
export function refusal({ status, resolution }: TaskApproval): string | undefined {
  if (status === "expired")
    return "Nobody answered the question whether this call may run, so it was not run.";
  if (resolution?.decision === "approve") return undefined;
  const reason = resolution?.reason;
  return `The user refused this call${reason === undefined || reason === "" ? "." : `: ${reason}`}`;
}

/** The arguments that a person has put in the place of the model's. */
export function editedArguments(run: TaskContext, call: ToolCallItem): string | undefined {
  const edited = askedBefore(run, call)?.resolution?.arguments;
  return edited === call.arguments ? undefined : edited;
}

/** What a person has approved, where that is not the text of the call; undefined also where nobody was asked. */
export function approvedFor(run: TaskContext, call: ToolCallItem): ExpandedArguments | undefined {
  const asked = askedBefore(run, call);
  return asked?.resolution && approvedArguments(asked, asked.resolution);
}

/** Of what is run: of what was approved, else of the call as the model wrote it. */
export function executedHash(run: TaskContext, call: ToolCallItem): string {
  const approved = approvedFor(run, call);
  return (approved && expandedHash(approved)) ?? argumentsHash(call.arguments);
}

function hasBegun({ task }: TaskContext, call: ToolCallItem): boolean {
  return task.state.executions.some(({ call_id }) => call_id === call.call_id);
}

export function askedBefore(run: TaskContext, call: ToolCallItem): TaskApproval | undefined {
  return approvalsOf(run).find((one) => one.call_id === call.call_id && one.kind === "call");
}
