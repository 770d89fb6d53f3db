import type { CallOutcome, TaskApproval, ToolCallItem, ToolOutput } from "@deltawire/tasks";
import { requestApproval, type HeldResult } from "../approvals/request-approval.ts";
import type { CallResult } from "./call-result.ts";
import { buildExcerpts } from "./long-results.ts";
import { prepareOutput } from "./prepare-output.ts";
import { getSubAgentResult } from "./sub-agent.ts";
import type { CallContext } from "./call-context.ts";

/**
 * Requests approval for a result and returns what the model receives. Without `callResult`, the result that an earlier process
 * held is read from the log. A denied result is discarded. The result of a sub-agent is not held: its items are in the log.
 */
export async function releaseResult(
  context: CallContext,
  call: ToolCallItem,
  callResult?: CallResult,
): Promise<CallResult> {
  const isSubAgentCall = context.tree.state.tasks[call.call_id] !== undefined;
  const held = callResult && {
    outcome: callResult.outcome,
    output: isSubAgentCall
      ? emptyOutput
      : await prepareOutput(callResult.output, context.tree.options.blobs),
  };
  callResult?.recordExecution?.();
  const approval = await requestApproval(
    context,
    call.call_id,
    {
      kind: "result",
      call_id: call.call_id,
      tool: call.name,
      choices: ["approve", "deny", "redact", "abort"],
      ...(isSubAgentCall ? {} : { block_list: buildExcerpts(held?.output.block_list ?? []) }),
    },
    held,
  );
  const denial = buildDenial(context, approval);
  if (denial === undefined)
    return {
      ...(isSubAgentCall
        ? getSubAgentResult(context, call)
        : readHeldResult(context, approval.approval_id)),
      isFromTool: true,
    };
  if (!isSubAgentCall) return denial;
  const { outcome, output: message } = denial;
  return { outcome, output: undefined, child: { cited: [], message } };
}

function readHeldResult({ tree }: CallContext, approvalId: string): HeldResult {
  return tree.privateRecords.heldResult(approvalId) as unknown as HeldResult;
}

const emptyOutput: ToolOutput = { message_content: [], block_list: [] };

/** Returns what the model receives instead of a withheld result, or undefined if the result was approved. */
function buildDenial(
  context: CallContext,
  { approval_id, status, resolution }: TaskApproval,
): { outcome: CallOutcome; output: string } | undefined {
  const { decision, reason, replacement } = resolution ?? {};
  if (decision === "approve") return undefined;
  if (decision === "redact") {
    const { outcome } = readHeldResult(context, approval_id);
    return { outcome, output: replacement ?? "[The user removed this result.]" };
  }
  const suffix = reason === undefined || reason === "" ? "." : `: ${reason}`;
  const output =
    status === "expired"
      ? "The call was run, but its result was withheld: the approval request expired."
      : `The call was run, but the user withheld its result${suffix}`;
  return { outcome: "denied", output };
}
