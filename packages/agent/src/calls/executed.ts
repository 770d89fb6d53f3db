import type { CitedGroup, Outcome } from "@deltawire/tasks";
import type { Tool } from "../tool.ts";

/** What a call came to. */
export interface Executed {
  outcome: Outcome;
  output: unknown;
  /** What it failed with, for the record of its run. */
  error?: string;
  /** Writes that the run has ended: together with what came of it, so that neither is kept without the other. */
  record?: () => void;
  /** It is the answer of a sub-agent, whose items are its blocks. */
  child?: { cited: CitedGroup[]; message: string };
}

/** Whether a person wants to see a result before the model does. */
export function isHeld(tool: Tool, outcome: Outcome): boolean {
  if (outcome === "canceled") return false;
  const { result } = tool.approval;
  return result === "always" || (result === "on error" && outcome !== "completed");
}
