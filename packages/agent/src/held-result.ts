import type { Outcome, TaskApproval, ToolCallItem, ToolOutput } from "@deltawire/tasks";
import { excerpts } from "./long-results.ts";
import { helpOf, type Helped } from "./sub-agent.ts";
import type { TaskContext } from "./task-run.ts";
import type { Tool } from "./tool.ts";

/** A result that a person wants to see before the model does. */
export interface HeldResult {
  outcome: Outcome;
  output: ToolOutput;
}

export function isHeld(tool: Tool, outcome: Outcome): boolean {
  if (outcome === "canceled") return false;
  const { result } = tool.approval;
  return result === "always" || (result === "on error" && outcome !== "completed");
}

/**
 * What the model may be told of a result. `held` is absent if a process that is gone has asked about it: then it is in the
 * log. What is refused goes nowhere.
 */
export async function released(
  run: TaskContext,
  call: ToolCallItem,
  held?: HeldResult,
): Promise<{ outcome: Outcome; output: unknown }> {
  const approval = await run.ask(
    call.call_id,
    {
      kind: "result",
      call_id: call.call_id,
      tool: call.name,
      choices: ["approve", "deny", "redact", "abort"],
      block_list: excerpts(held?.output.block_list ?? []),
    },
    held,
  );
  return refused(run, approval) ?? run.heldResult(approval.approval_id);
}

/** The same for the answer of a sub-agent, whose items people see where they are. */
export async function releasedHelp(
  run: TaskContext,
  call: ToolCallItem,
  outcome?: Outcome,
): Promise<Helped> {
  const approval = await run.ask(
    call.call_id,
    {
      kind: "result",
      call_id: call.call_id,
      tool: call.name,
      choices: ["approve", "deny", "redact", "abort"],
    },
    outcome && { outcome, output: { message_content: [], block_list: [] } },
  );
  const told = refused(run, approval);
  if (told === undefined) return helpOf(run, call);
  return { outcome: told.outcome, output: undefined, child: { cited: [], message: told.output } };
}

/** What the model is told of a result that it may not see; undefined where it may. */
function refused(
  run: TaskContext,
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
