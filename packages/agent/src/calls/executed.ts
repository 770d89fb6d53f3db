import type { CitedGroup, Outcome } from "@deltawire/tasks";
import type { Agent } from "../agent.ts";
import type { ResultPolicy, Tool } from "../tool.ts";

/** What a call came to. */
export interface Executed {
  outcome: Outcome;
  output: unknown;
  /** So many of its blocks are in the log already: the tool has streamed them. */
  written?: number;
  /** What it failed with, for the record of its run. */
  error?: string;
  /** Writes that the run has ended: together with what came of it, so that neither is kept without the other. */
  record?: () => void;
  /** It is what the tool gave, and the model may be told: nothing that is said in the place of it. */
  fromTool?: true;
  /** It is the answer of a sub-agent, whose items are its blocks. */
  child?: { cited: CitedGroup[]; message: string };
}

/** Whether a person wants to see a result before the model does. */
export function isHeld(agent: Agent, tool: Tool, outcome: Outcome): boolean {
  if (outcome === "canceled") return false;
  const policy = resultPolicy(agent, tool);
  return policy === "always" || (policy === "on error" && outcome !== "completed");
}

/** The tool's own, else its agent's. */
export function resultPolicy({ results }: Agent, { approval }: Tool): ResultPolicy {
  return approval.result ?? results ?? "never";
}
