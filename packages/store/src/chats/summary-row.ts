import type { ChatSummary } from "@deltawire/tasks/chats";

/** The row of a chat in lists. */
export interface SummaryRow {
  number: number;
  stamp: number;
  updated: number;
  deleted_at: string | null;
  summary: string;
}

/** Summaries of earlier releases have `first_words` instead of `opening_text`. */
type StoredSummary = Omit<ChatSummary, "stamp" | "deleted_at" | "opening_text"> & {
  readonly opening_text?: string;
  readonly first_words?: string;
};

export function parseChatSummary({ summary, stamp, deleted_at }: SummaryRow): ChatSummary {
  const { first_words, ...summaryFields } = JSON.parse(summary) as StoredSummary;
  return {
    ...summaryFields,
    opening_text: summaryFields.opening_text ?? first_words ?? "",
    stamp,
    ...(deleted_at === null ? {} : { deleted_at }),
  };
}

/** Returns the stamp, whether the chat is pinned (1 or 0), the time of the last change in milliseconds, and the rest as JSON. */
export function toSummaryColumns(
  summary: ChatSummary,
): [stamp: number, pinned: number, updated: number, json: string] {
  const { stamp, deleted_at: _, ...summaryFields } = summary;
  const updated = parseTimeMs(summary.updated_at);
  return [stamp, summary.pinned ? 1 : 0, updated, JSON.stringify(summaryFields)];
}

/** Returns 0 for an invalid time. */
export function parseTimeMs(time: string): number {
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? 0 : parsed;
}
