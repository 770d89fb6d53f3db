import type { ItemStatus, CallOutcome } from "./items.ts";

// Records instead of lists, so that the compiler reports a missing value.

const statusSet: Record<ItemStatus, true> = {
  in_progress: true,
  completed: true,
  incomplete: true,
  awaiting_approval: true,
  executing: true,
  denied: true,
  failed: true,
  unknown: true,
};

const outcomeSet: Record<CallOutcome, true> = {
  completed: true,
  failed: true,
  timeout: true,
  denied: true,
  canceled: true,
  incomplete: true,
  unknown: true,
};

export const itemStatuses = Object.keys(statusSet) as readonly ItemStatus[];
export const callOutcomes = Object.keys(outcomeSet) as readonly CallOutcome[];
