import type { Outcome, TaskApproval, ToolCallItem, ToolOutput } from "@deltawire/tasks";
import type { Executed } from "../calls/executed.ts";
import { excerpts } from "../calls/long-results.ts";
import { readable } from "../calls/readable.ts";
import { helpOf } from "../run/sub-agent.ts";
import type { TaskRun } from "../run/task-run.ts";

/** A result that a person wants to see before the model does. */
export interface HeldResult {
  outcome: Outcome;
  output: ToolOutput;
}

/**
 * What the model may be told of a result. `executed` is absent if a process that is gone has asked about it: then it is in
 * the log. What is refused goes nowhere. People see the items of a sub-agent where they are.
 */
export async function released(
  run: TaskRun,
  call: ToolCallItem,
  executed?: Executed,
): Promise<Executed> {
  const isHelp = run.tree.state.tasks[call.call_id] !== undefined;
  const held = executed && {
    outcome: executed.outcome,
    output: isHelp ? nothing : await readable(executed.output, run.tree.options.blobs),
  };
  executed?.record?.();
  const approval = await run.ask(
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
      ...(isHelp ? helpOf(run, call) : run.heldResult(approval.approval_id)),
      fromTool: true,
    };
  if (!isHelp) return refusal;
  const { outcome, output: message } = refusal;
  return { outcome, output: undefined, child: { cited: [], message } };
}

const nothing: ToolOutput = { message_content: [], block_list: [] };

/** What the model is told of a result that it may not see; undefined where it may. */
function refused(
  run: TaskRun,
  { approval_id, status, resolution }: TaskApproval,
): { outcome: Outcome; output: string } | undefined {
  const { decision, reason, replacement } = resolution ?? {};
  if (decision === "approve") return undefined;
  if (decision === "redact") {
    const { outcome } = run.heldResult(approval_id);
    return { outcome, output: replacement ?? "[The user has taken this result out.]" };
  }
  const why = status === "expired" ? "nobody released it" : (reason ?? "");
  const output = `The call was run, but the user does not show you its result${why === "" ? "." : `: ${why}`}`;
  return { outcome: "denied", output };
}
