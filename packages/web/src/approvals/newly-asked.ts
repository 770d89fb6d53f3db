import type { PendingApproval } from "@deltawire/tasks/chats";

/** What a screen reader was told of. */
export interface Told {
  /** All that waited at that time. */
  readonly pending: readonly PendingApproval[];
  /** What was new; it is told with how many wait. */
  readonly asked: readonly PendingApproval[];
}

export const nothingTold: Told = { pending: [], asked: [] };

/** Each question is told once, also if another one has the same words. When one is decided, no other is told again. */
export function newlyAsked(last: Told, pending: readonly PendingApproval[]): Told {
  const before = idsOf(last.pending);
  const now = idsOf(pending);
  const asked = pending.filter(({ approval }) => !before.has(approval.approval_id));
  if (asked.length > 0) return { pending, asked };
  const hasGone = [...before].some((id) => !now.has(id));
  return { pending, asked: hasGone ? [] : last.asked };
}

function idsOf(pending: readonly PendingApproval[]): ReadonlySet<string> {
  return new Set(pending.map(({ approval }) => approval.approval_id));
}
