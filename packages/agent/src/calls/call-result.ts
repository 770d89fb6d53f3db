import type { CitedGroup, CallOutcome } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import type { ResultPolicy, Tool } from "../tool.ts";

/** The result of a call before it is written to the log. */
export interface CallResult {
  outcome: CallOutcome;
  output: unknown;
  /** Number of blocks of `output` that are already in the log because the tool streamed them. */
  writtenBlocks?: number;
  /** The error message, for the execution record. */
  error?: string;
  /** Writes the end of the execution. Called together with writing the result, so that both are stored or neither is. */
  recordExecution?: () => void;
  /** Set if `output` comes from the tool and the model may see it; absent for substitute text such as a denial. */
  isFromTool?: true;
  /** Set for the answer of a sub-agent, whose items serve as the blocks. */
  child?: { cited: CitedGroup[]; message: string };
}

/** True if a user must approve the result before the model sees it. */
export function needsResultApproval(agent: Agent, tool: Tool, outcome: CallOutcome): boolean {
  if (outcome === "canceled") return false;
  const policy = getResultPolicy(agent, tool);
  return policy === "always" || (policy === "on_error" && outcome !== "completed");
}

/** Returns the result policy of the tool, else that of the agent; default `never`. */
export function getResultPolicy({ resultApproval }: Agent, { approval }: Tool): ResultPolicy {
  return approval.result ?? resultApproval ?? "never";
}
