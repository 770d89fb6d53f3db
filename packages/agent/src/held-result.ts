import type { Outcome, ToolCallItem, ToolOutput } from "@deltawire/tasks";
import { excerpts } from "./long-results.ts";
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
  const kept = run.heldResult(approval.approval_id);
  const { decision, reason, replacement } = approval.resolution ?? {};
  if (decision === "approve") return kept;
  if (decision === "redact")
    return {
      outcome: kept.outcome,
      output: replacement ?? "[The user has taken this result out.]",
    };
  const why = approval.status === "expired" ? "nobody released it" : (reason ?? "");
  return {
    outcome: "denied",
    output: `The call was run, but the user does not show you its result${why === "" ? "." : `: ${why}`}`,
  };
}
