import type { HistoryItem } from "./items.ts";
import { trim } from "./rust-text.ts";

/** Which item carries which reasoning, by index (6). */
export function reasoningByAnchor(items: readonly HistoryItem[]): Map<number, string> {
  const attached = new Map<number, string>();
  if (lastSentRole(items) === "user") return attached;
  const lastUser = items.findLastIndex((item) => item.type === "message" && item.role === "user");
  for (const [index, item] of items.entries()) {
    if (index <= lastUser || item.type !== "reasoning" || trim(item.text) === "") continue;
    const anchor = anchorOf(items, index);
    if (anchor !== undefined) attached.set(anchor, (attached.get(anchor) ?? "") + item.text);
  }
  return attached;
}

/**
 * Neither a custom call nor its output counts. 000 (6.1) says that the output does; the original did not, and a history
 * that ends in one after a user's message keeps its gate closed.
 */
function lastSentRole(items: readonly HistoryItem[]): string | undefined {
  for (const item of items.toReversed())
    switch (item.type) {
      case "message":
        return item.role;
      case "function_call":
      case "local_shell_call":
        return "assistant";
      case "function_call_output":
        return "tool";
      default:
    }
  return undefined;
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
