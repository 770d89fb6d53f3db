import type { ResponseInputItem } from "@deltawire/wire";
import { GatewayError } from "../gateway-error.ts";

export interface SummarySeal {
  /** Returns undefined if the text is not a summary of this gateway. */
  unsealSummary(sealed: string): string | undefined;
}

/**
 * Replaces sealed summaries by messages that every model understands. Returns the same array if there are none. Summaries of other
 * servers stay sealed. Throws a GatewayError if one was sealed with another key of the gateway.
 */
export function openSummaries(
  items: readonly ResponseInputItem[],
  seal: SummarySeal,
): readonly ResponseInputItem[] {
  if (!items.some(isCompaction)) return items;
  return items.map((item, index) => {
    const sealed = (item as { encrypted_content?: unknown }).encrypted_content;
    if (!isCompaction(item) || typeof sealed !== "string") return item;
    const summary = seal.unsealSummary(sealed);
    if (summary !== undefined)
      return { type: "message", role: "user", content: `${summaryHeading}\n\n${summary}` };
    if (!sealed.startsWith(ownPrefix)) return item;
    throw new GatewayError(
      "invalid_request",
      `input[${index}].encrypted_content: this summary cannot be opened; it was sealed with another key (server.sealing_key)`,
      { param: `input[${index}].encrypted_content` },
    );
  });
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
