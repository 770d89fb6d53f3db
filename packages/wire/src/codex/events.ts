import type { JsonObject } from "../json.ts";

/**
 * Events of Codex's Chat client. They differ from Responses events. `error` is always the last event;
 * `completed` may be followed by other events.
 */
export type CodexEvent =
  | { type: "output_item_added"; item: CodexItem }
  | { type: "output_item_done"; item: CodexItem }
  | { type: "output_text_delta"; delta: string }
  | { type: "reasoning_content_delta"; delta: string; content_index: number }
  | { type: "completed"; response_id: string; token_usage: JsonObject | null }
  | { type: "error"; error: "context_window_exceeded" }
  | { type: "error"; error: "stream"; message: string }
  // Not emitted by the Chat parser, but accepted by the aggregator.
  | { type: "created" }
  | { type: "server_reasoning_included"; value: boolean }
  | { type: "rate_limits"; value: JsonObject }
  | { type: "models_etag"; value: string }
  | { type: "reasoning_summary_delta"; delta: string; summary_index: number }
  | { type: "reasoning_summary_part_added"; summary_index: number };

export type CodexItem = CodexMessage | CodexReasoning | CodexFunctionCall;

export interface CodexMessage {
  type: "message";
  id: null;
  role: string;
  content: CodexMessagePart[];
}

export type CodexMessagePart =
  | { type: "output_text"; text: string }
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string };

export interface CodexReasoning {
  type: "reasoning";
  id: "";
  summary: [];
  content: { type: "reasoning_text"; text: string }[];
  encrypted_content: null;
}

export interface CodexFunctionCall {
  type: "function_call";
  id: null;
  name: string;
  arguments: string;
  call_id: string;
}

export function createAssistantMessage(texts: readonly string[]): CodexMessage {
  const content = texts.map((text): CodexMessagePart => ({ type: "output_text", text }));
  return { type: "message", id: null, role: "assistant", content };
}

export function createReasoningItem(texts: readonly string[]): CodexReasoning {
  const content = texts.map((text) => ({ type: "reasoning_text" as const, text }));
  return { type: "reasoning", id: "", summary: [], content, encrypted_content: null };
}
