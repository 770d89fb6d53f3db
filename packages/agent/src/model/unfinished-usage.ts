import type { OutputItem } from "@deltawire/tasks";
import {
  estimateRequestTokens,
  estimateTokens,
  type ResponsesRequest,
  type ResponseUsage,
} from "@deltawire/wire";

/** About what a round has used that did not come to its end: servers tell it at the end, and count it all the same. */
export function unfinishedUsage(
  request: ResponsesRequest,
  said: readonly OutputItem[],
): ResponseUsage {
  const input = estimateRequestTokens(request);
  const thought = tokensOf(said.filter(({ type }) => type === "reasoning"));
  const output = tokensOf(said);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thought },
    total_tokens: input + output,
    estimated: true,
  };
}

function tokensOf(said: readonly OutputItem[]): number {
  return estimateTokens(said.map(wordsOf).join(""));
}

function wordsOf(item: OutputItem): string {
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
