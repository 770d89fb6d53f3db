import type { HistoryItem } from "./items.ts";
import { trim } from "./rust-text.ts";

/**
 * Which item carries which reasoning, by index (6). 000's gate (6.1), nothing at all if the user was the last to be sent,
 * follows by itself: whatever could carry reasoning after the user's message would have been sent after it.
 */
export function reasoningByAnchor(items: readonly HistoryItem[]): Map<number, string> {
  const attached = new Map<number, string>();
  const lastUser = items.findLastIndex((item) => item.type === "message" && item.role === "user");
  for (const [index, item] of items.entries()) {
    if (index <= lastUser || item.type !== "reasoning" || trim(item.text) === "") continue;
    const anchor = anchorOf(items, index);
    if (anchor !== undefined) attached.set(anchor, (attached.get(anchor) ?? "") + item.text);
  }
  return attached;
}

function anchorOf(items: readonly HistoryItem[], index: number): number | undefined {
  if (isAssistantMessage(items[index - 1])) return index - 1;
  const next = items[index + 1];
  const carries =
    next?.type === "function_call" || next?.type === "local_shell_call" || isAssistantMessage(next);
  return carries ? index + 1 : undefined;
}

function isAssistantMessage(item: HistoryItem | undefined): boolean {
  return item?.type === "message" && item.role === "assistant";
}
