import type { CitedGroup, Outcome } from "@deltawire/tasks";

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
