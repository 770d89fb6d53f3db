import type { CodexHistoryItem } from "./history-items.ts";
import { trimLikeRust } from "./rust-text.ts";

/**
 * Returns the reasoning text that is sent with each item, by item index (spec section 6). Only reasoning after the last
 * user message is sent. This includes the rule of section 6.1: no reasoning if the user message is the last message.
 */
export function attachReasoning(items: readonly CodexHistoryItem[]): Map<number, string> {
  const attached = new Map<number, string>();
  const lastUserIndex = items.findLastIndex(
    (item) => item.type === "message" && item.role === "user",
  );
  for (const [index, item] of items.entries()) {
    if (index <= lastUserIndex || item.type !== "reasoning" || trimLikeRust(item.text) === "")
      continue;
    const anchor = findAnchor(items, index);
    if (anchor !== undefined) attached.set(anchor, (attached.get(anchor) ?? "") + item.text);
  }
  return attached;
}

function findAnchor(items: readonly CodexHistoryItem[], index: number): number | undefined {
  if (isAssistantMessage(items[index - 1])) return index - 1;
  const next = items[index + 1];
  const canCarry =
    next?.type === "function_call" || next?.type === "local_shell_call" || isAssistantMessage(next);
  return canCarry ? index + 1 : undefined;
}

function isAssistantMessage(item: CodexHistoryItem | undefined): boolean {
  return item?.type === "message" && item.role === "assistant";
}
