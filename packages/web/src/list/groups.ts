import type { ChatSummary } from "@deltawire/tasks/chats";

/** A heading of the list, with the chats under it. */
export interface ChatGroup {
  readonly of: GroupName;
  readonly chats: readonly ChatSummary[];
}

export type GroupName =
  | { readonly is: "pinned" | "today" | "yesterday" | "week" }
  /** `month` from 0 on. */
  | { readonly is: "month"; readonly year: number; readonly month: number };

/** Chats in the order in which they come: pinned ones first, then by the day of their last change, as the reader's clock has it. */
export function groupChats(chats: readonly ChatSummary[], now: Date): ChatGroup[] {
  const days = daysBefore(now);
  const groups = new Map<string, { of: GroupName; chats: ChatSummary[] }>();
  for (const chat of chats) {
    const of = chat.pinned ? pinned : nameFor(chat.updated_at, days);
    const key = groupKey(of);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { of, chats: [chat] });
    else group.chats.push(chat);
  }
  return [...groups.values()];
}

export function groupKey(of: GroupName): string {
  return of.is === "month" ? `${of.year}-${of.month}` : of.is;
}

const pinned: GroupName = { is: "pinned" };

interface Days {
  readonly today: number;
  readonly yesterday: number;
  readonly week: number;
}

/** By the calendar: where the clocks change a day has no 24 hours. */
function daysBefore(now: Date): Days {
  const start = (days: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).getTime();
  return { today: start(0), yesterday: start(1), week: start(7) };
}

function nameFor(iso: string, { today, yesterday, week }: Days): GroupName {
  const date = new Date(iso);
  const time = date.getTime();
  if (time >= today) return { is: "today" };
  if (time >= yesterday) return { is: "yesterday" };
  if (time >= week) return { is: "week" };
  return { is: "month", year: date.getFullYear(), month: date.getMonth() };
}
