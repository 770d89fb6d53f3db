import type { ItemStatus, Outcome } from "./items.ts";

// Records, for in a list nobody would miss the one that was forgotten.

const statuses: Record<ItemStatus, true> = {
  in_progress: true,
  completed: true,
  incomplete: true,
  awaiting_approval: true,
  executing: true,
  denied: true,
  failed: true,
  unknown: true,
};

const results: Record<Outcome, true> = {
  completed: true,
  failed: true,
  timeout: true,
  denied: true,
  canceled: true,
  incomplete: true,
  unknown: true,
};

export const itemStatuses = Object.keys(statuses) as readonly ItemStatus[];
export const outcomes = Object.keys(results) as readonly Outcome[];
