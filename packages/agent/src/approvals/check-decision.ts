import type { Resolution, TaskApproval } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import { toolsetOf } from "../run/toolset.ts";
import type { Variables } from "../variables/variables.ts";

/** What a person decides; the scope may be left out. */
export type PersonsDecision = Omit<Resolution, "scope"> & Partial<Pick<Resolution, "scope">>;

/** Why a decision cannot be taken; undefined: it can. `agent` is the one that asks. */
export async function problemWith(
  { decision, scope, arguments: edited, any_arguments: any, replacement }: PersonsDecision,
  { choices, tool = "", kind, scopes = ["once"], any_arguments }: TaskApproval,
  agent: Agent | undefined,
  variables: Variables | undefined,
): Promise<string | undefined> {
  if (!choices.includes(decision))
    return `decision: expected one of ${choices.join(", ")}, got "${decision}"`;
  if (scope !== undefined && !scopes.includes(scope))
    return `scope: expected one of ${scopes.join(", ")}, got "${scope}"`;
  if (any === true && (any_arguments !== true || scope === "once"))
    return "any_arguments: this tool is asked about each time";
  if (replacement !== undefined && decision !== "redact" && kind !== "reconcile")
    return "replacement: only with the decision redact";
  if (edited === undefined) return undefined;
  if (kind !== "call" || decision !== "approve")
    return "arguments: only with the approval of a call";
  const checker = agent && toolsetOf(agent).tools.get(tool);
  if (checker === undefined) return `arguments: there is no tool "${tool}" any more`;
  const checked = await checkArguments(checker, edited, variables);
  return checked.ok ? undefined : `arguments: ${checked.problems.join("; ")}`;
}
