import type { ResponseInputItem } from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";
import { isInstruction } from "./item-kinds.ts";

interface OpenedSummary {
  readonly summary: string;
  /** Items after the summary. Undefined: the summary does not replace the items before it. */
  readonly recentItems?: readonly ResponseInputItem[] | undefined;
}

export interface SummarySeal {
  /** Returns undefined if the text is not a summary of this gateway. */
  unsealSummary(sealed: string): OpenedSummary | undefined;
}

/**
 * Replaces sealed summaries by messages that every model understands. Those of `context_management` also replace everything before them
 * except instructions. Returns the same array if there are none. Summaries of other servers stay sealed. Throws a GatewayError if one
 * was sealed with another key of the gateway.
 */
export function openSummaries(
  items: readonly ResponseInputItem[],
  seal: SummarySeal,
): readonly ResponseInputItem[] {
  if (!items.some(isCompaction)) return items;
  let opened: ResponseInputItem[] = [];
  for (const [index, item] of items.entries()) {
    const sealed = (item as { encrypted_content?: unknown }).encrypted_content;
    const summary =
      isCompaction(item) && typeof sealed === "string"
        ? openSummary(sealed, index, seal)
        : undefined;
    if (summary === undefined) {
      opened.push(item);
      continue;
    }
    const { recentItems } = summary;
    if (recentItems !== undefined) opened = opened.filter(isInstruction);
    opened.push(toSummaryMessage(summary.summary), ...(recentItems ?? []));
  }
  return opened;
}

function openSummary(sealed: string, index: number, seal: SummarySeal): OpenedSummary | undefined {
  const summary = seal.unsealSummary(sealed);
  if (summary !== undefined || !sealed.startsWith(ownPrefix)) return summary;
  throw new GatewayError(
    "invalid_request",
    `input[${index}].encrypted_content: this summary cannot be opened; it was sealed with another key (server.sealing_key)`,
    { param: `input[${index}].encrypted_content` },
  );
}

/** Returns a summary as a message that every model understands. */
export function toSummaryMessage(summary: string): ResponseInputItem {
  return { type: "message", role: "user", content: `${summaryHeading}\n\n${summary}` };
}

export function isOpenedSummary(item: ResponseInputItem): boolean {
  const { content } = item as { content?: unknown };
  return typeof content === "string" && content.startsWith(summaryHeading);
}

/** Returns the items from the last response that only summarized what was before. */
export function dropCompacted(items: ResponseInputItem[]): ResponseInputItem[] {
  const index = items.findLastIndex(
    (item, at) => isCompaction(item) && items[at - 1]?.type === "compaction_trigger",
  );
  return index < 0 ? items : items.slice(index);
}

const summaryHeading = "Summary of the conversation so far:";
const ownPrefix = "dw1.";

function isCompaction({ type }: ResponseInputItem): boolean {
  return type === "compaction";
}
