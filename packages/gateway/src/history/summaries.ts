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

export interface OpenedItems {
  /** The same array if there are no summaries. */
  readonly items: readonly ResponseInputItem[];
  /** The error for a summary that was sealed with another key of a gateway. If that is the upstream, it can open it. */
  readonly problem: GatewayError | undefined;
}

/**
 * Replaces sealed summaries by messages that every model understands. Those of `context_management` also replace everything before them
 * except instructions. Summaries of other servers stay sealed.
 */
export function openSummaries(items: readonly ResponseInputItem[], seal: SummarySeal): OpenedItems {
  if (!items.some(isCompaction)) return { items, problem: undefined };
  let opened: ResponseInputItem[] = [];
  let problem: GatewayError | undefined;
  for (const [index, item] of items.entries()) {
    const sealed = (item as { encrypted_content?: unknown }).encrypted_content;
    const isSealed = isCompaction(item) && typeof sealed === "string";
    const summary = isSealed ? seal.unsealSummary(sealed) : undefined;
    if (summary === undefined) {
      if (isSealed && sealed.startsWith(ownPrefix)) problem ??= createSealError(index);
      opened.push(item);
      continue;
    }
    const { recentItems } = summary;
    if (recentItems !== undefined) opened = opened.filter(isInstruction);
    opened.push(toSummaryMessage(summary.summary), ...(recentItems ?? []));
  }
  return { items: opened, problem };
}

function createSealError(index: number): GatewayError {
  const param = `input[${index}].encrypted_content`;
  return new GatewayError(
    "invalid_request",
    `${param}: this summary cannot be opened; it was sealed with another key (server.sealing_key)`,
    { param },
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
    (item, index) => isCompaction(item) && items[index - 1]?.type === "compaction_trigger",
  );
  return index < 0 ? items : items.slice(index);
}

const summaryHeading = "Summary of the conversation so far:";
const ownPrefix = "dw1.";

function isCompaction({ type }: ResponseInputItem): boolean {
  return type === "compaction";
}
