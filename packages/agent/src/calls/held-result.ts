import type { Outcome, TaskApproval, ToolCallItem, ToolOutput } from "@deltawire/tasks";
import { askPerson, type HeldResult } from "../approvals/ask-person.ts";
import type { Executed } from "./executed.ts";
import { excerpts } from "./long-results.ts";
import { readable } from "./readable.ts";
import { helpOf } from "./sub-agent.ts";
import type { CallContext } from "./call-context.ts";

/**
 * What the model may be told of a result. `executed` is absent if a process that is gone has asked about it: then it is in
 * the log. What is refused goes nowhere. People see the items of a sub-agent where they are.
 */
export async function released(
  run: CallContext,
  call: ToolCallItem,
  executed?: Executed,
): Promise<Executed> {
  const isHelp = run.tree.state.tasks[call.call_id] !== undefined;
  const held = executed && {
    outcome: executed.outcome,
    output: isHelp ? nothing : await readable(executed.output, run.tree.options.blobs),
  };
  executed?.record?.();
  const approval = await askPerson(
    run,
    call.call_id,
    {
      kind: "result",
      call_id: call.call_id,
      tool: call.name,
      choices: ["approve", "deny", "redact", "abort"],
      ...(isHelp ? {} : { block_list: excerpts(held?.output.block_list ?? []) }),
    },
    held,
  );
  const refusal = refused(run, approval);
  if (refusal === undefined)
    return {
      ...(isHelp ? helpOf(run, call) : heldResult(run, approval.approval_id)),
      fromTool: true,
    };
  if (!isHelp) return refusal;
  const { outcome, output: message } = refusal;
  return { outcome, output: undefined, child: { cited: [], message } };
}

function heldResult({ tree }: CallContext, approvalId: string): HeldResult {
  return tree.privateParts.approval(approvalId) as unknown as HeldResult;
}

const nothing: ToolOutput = { message_content: [], block_list: [] };

/** What the model is told of a result that it may not see; undefined where it may. */
function refused(
  run: CallContext,
  { approval_id, status, resolution }: TaskApproval,
): { outcome: Outcome; output: string } | undefined {
  const { decision, reason, replacement } = resolution ?? {};
  if (decision === "approve") return undefined;
  if (decision === "redact") {
    const { outcome } = heldResult(run, approval_id);
    return { outcome, output: replacement ?? "[The user has taken this result out.]" };
  }
  const why = status === "expired" ? "nobody released it" : (reason ?? "");
  const output = `The call was run, but the user does not show you its result${why === "" ? "." : `: ${why}`}`;
  return { outcome: "denied", output };
}
