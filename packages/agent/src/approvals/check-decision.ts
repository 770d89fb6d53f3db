import type { BlobStore, ExpandedArguments, Resolution, TaskApproval } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import { checkArguments } from "../variables/check-arguments.ts";
import { toolsetOf } from "../task/toolset.ts";
import { escapeReferences, referencesIn } from "../variables/expand.ts";
import { readExpansion, storeExpansion } from "../variables/expanded-arguments.ts";
import type { Variables } from "../variables/variables.ts";

/** What a person decides; the scope may be left out. */
export type PersonsDecision = Omit<Resolution, "scope" | "expanded_arguments"> &
  Partial<Pick<Resolution, "scope">>;

export type CheckedDecision =
  | { ok: true; expanded?: ExpandedArguments }
  | { ok: false; message: string };

export interface DecisionContext {
  /** The one that asks. */
  agent: Agent | undefined;
  variables: Variables | undefined;
  blobs: BlobStore;
}

/** Whether a decision can be taken, and what its own arguments are once they are expanded. */
export async function checkDecision(
  decision: PersonsDecision,
  approval: TaskApproval,
  { agent, variables, blobs }: DecisionContext,
): Promise<CheckedDecision> {
  const problem = problemWith(decision, approval);
  if (problem !== undefined) return { ok: false, message: problem };
  const { arguments: edited } = decision;
  if (edited === undefined) return { ok: true };
  const { tool = "" } = approval;
  const checker = agent && toolsetOf(agent).tools.get(tool);
  if (checker === undefined)
    return { ok: false, message: `arguments: there is no tool "${tool}" any more` };
  // An edit of what was shown may repeat what looks like a reference in an inserted text: that is never expanded.
  const inserted = await insertedReferences(approval, blobs);
  const literal = escapeReferences(edited, inserted);
  const checked = await checkArguments(checker, literal, variables);
  if (!checked.ok) return { ok: false, message: `arguments: ${checked.problems.join("; ")}` };
  const expanded = checked.expanded ?? (literal === edited ? undefined : literal);
  if (expanded === undefined) return { ok: true };
  return { ok: true, expanded: await storeExpansion(expanded, blobs) };
}

/** The names in what looks like references in the texts that an approval shows expanded. */
async function insertedReferences(
  { expanded_arguments: shown }: TaskApproval,
  blobs: BlobStore,
): Promise<readonly string[] | "all"> {
  if (shown === undefined) return [];
  const text = await readExpansion(shown, blobs);
  return text === undefined ? "all" : referencesIn(JSON.stringify(JSON.parse(text)));
}

function problemWith(
  { decision, scope, arguments: edited, any_arguments: any, replacement }: PersonsDecision,
  { choices, kind, scopes = ["once"], any_arguments }: TaskApproval,
): string | undefined {
  if (!choices.includes(decision))
    return `decision: expected one of ${choices.join(", ")}, got "${decision}"`;
  if (scope !== undefined && !scopes.includes(scope))
    return `scope: expected one of ${scopes.join(", ")}, got "${scope}"`;
  if (any === true && (any_arguments !== true || scope === "once"))
    return "any_arguments: this tool is asked about each time";
  if (replacement !== undefined && decision !== "redact" && kind !== "reconcile")
    return "replacement: only with the decision redact";
  if (edited !== undefined && (kind !== "call" || decision !== "approve"))
    return "arguments: only with the approval of a call";
  return undefined;
}
