import type {
  BlobStore,
  ExpandedArguments,
  ApprovalResolution,
  TaskApproval,
} from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import { checkToolArguments } from "../variables/check-tool-arguments.ts";
import { buildToolset } from "../task/toolset.ts";
import { escapeReferences, findReferences } from "../variables/variable-references.ts";
import { readExpansion, storeExpansion } from "../variables/expand-arguments.ts";
import type { Variables } from "../variables/variables.ts";

/** A decision as a client sends it. Without a scope, the default scope of the approval applies. */
export type UserDecision = Omit<ApprovalResolution, "scope" | "expanded_arguments"> &
  Partial<Pick<ApprovalResolution, "scope">>;

export type DecisionCheck =
  | { ok: true; expanded?: ExpandedArguments }
  | { ok: false; message: string };

export interface DecisionContext {
  /** The agent that requested the approval. */
  agent: Agent | undefined;
  variables: Variables | undefined;
  blobs: BlobStore;
}

/** Checks a decision on an approval, and expands the edited arguments if there are any. */
export async function checkDecision(
  decision: UserDecision,
  approval: TaskApproval,
  { agent, variables, blobs }: DecisionContext,
): Promise<DecisionCheck> {
  const problem = findDecisionProblem(decision, approval);
  if (problem !== undefined) return { ok: false, message: problem };
  const { arguments: edited } = decision;
  if (edited === undefined) return { ok: true };
  if (agent === undefined)
    return {
      ok: false,
      message: "arguments: cannot be edited, because the agent no longer exists",
    };
  const tool = buildToolset(agent).tools.get(approval.tool ?? "");
  if (tool === undefined)
    return { ok: false, message: "arguments: cannot be edited, because the tool no longer exists" };
  // References that came from the content of a variable are not expanded, even if the user left them in the arguments.
  const insertedNames = await findInsertedReferences(approval, blobs);
  const escapedArguments = escapeReferences(edited, insertedNames);
  const checked = await checkToolArguments(tool, escapedArguments, variables);
  if (!checked.ok) return { ok: false, message: `arguments: ${checked.problems.join("; ")}` };
  const expanded = checked.expanded ?? (escapedArguments === edited ? undefined : escapedArguments);
  if (expanded === undefined) return { ok: true };
  return { ok: true, expanded: await storeExpansion(expanded, blobs) };
}

/**
 * Returns the names of the references in the expanded arguments. They come from the content of variables. Returns "all" if the
 * expanded arguments are no longer stored.
 */
async function findInsertedReferences(
  { expanded_arguments: expandedArguments }: TaskApproval,
  blobs: BlobStore,
): Promise<readonly string[] | "all"> {
  if (expandedArguments === undefined) return [];
  const text = await readExpansion(expandedArguments, blobs);
  // `JSON.stringify` removes the escapes that hide references in expanded arguments.
  return text === undefined ? "all" : findReferences(JSON.stringify(JSON.parse(text)));
}

function findDecisionProblem(
  {
    decision,
    scope,
    arguments: edited,
    any_arguments: requestsAnyArguments,
    replacement,
  }: UserDecision,
  { choices, kind, scopes = ["once"], any_arguments }: TaskApproval,
): string | undefined {
  if (!choices.includes(decision))
    return `decision: expected one of ${choices.join(", ")}, got "${decision}"`;
  if (scope !== undefined && !scopes.includes(scope))
    return `scope: expected one of ${scopes.join(", ")}, got "${scope}"`;
  if (requestsAnyArguments === true && any_arguments !== true)
    return "any_arguments: not allowed for this approval";
  if (requestsAnyArguments === true && scope === "once")
    return 'any_arguments: requires the scope "session"';
  if (replacement !== undefined && decision !== "redact" && kind !== "reconcile")
    return 'replacement: only allowed with the decision "redact", or for an approval of kind "reconcile"';
  if (edited !== undefined && (kind !== "call" || decision !== "approve"))
    return "arguments: only allowed when approving a call";
  return undefined;
}
