import type { OutputItem } from "@deltawire/tasks";
import {
  estimateRequestTokens,
  estimateTokens,
  type ResponsesRequest,
  type ResponseUsage,
} from "@deltawire/wire";

/** Estimates the usage of an interrupted round: servers report usage only at the end, but also charge for incomplete replies. */
export function estimateUnfinishedUsage(
  request: ResponsesRequest,
  items: readonly OutputItem[],
): ResponseUsage {
  const inputTokens = estimateRequestTokens(request);
  const reasoningTokens = estimateItemTokens(items.filter(({ type }) => type === "reasoning"));
  const outputTokens = estimateItemTokens(items);
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
    estimated: true,
  };
}

function estimateItemTokens(items: readonly OutputItem[]): number {
  return estimateTokens(items.map(getItemText).join(""));
}

function getItemText(item: OutputItem): string {
  switch (item.type) {
    case "message":
      return item.block_list.map((block) => (block.type === "text" ? block.text : "")).join("");
    case "reasoning":
      return [...item.summary, ...(item.content ?? [])].map(({ text }) => text).join("");
    case "tool_call":
      return item.name + item.arguments;
    default:
      return "";
  }
}
