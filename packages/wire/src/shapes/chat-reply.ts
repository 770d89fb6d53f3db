import type { JsonObject, JsonValue } from "../json.ts";

/*
 * What a Chat upstream may answer. These are the fields we look at, as servers really send them; every object may
 * carry more, and more is kept. Nothing here is trusted: a field that is typed may still hold anything.
 */

export interface ChatChunk {
  id?: string;
  object?: string;
  created?: number;
  model?: string;
  choices?: ChatChunkChoice[];
  usage?: JsonObject | null;
  error?: JsonValue;
  [field: string]: unknown;
}

export interface ChatChunkChoice {
  index?: number;
  delta?: ChatDelta;
  finish_reason?: string | null;
  [field: string]: unknown;
}

export interface ChatDelta {
  role?: string;
  content?: string | JsonValue[] | null;
  refusal?: string | null;
  reasoning?: JsonValue;
  reasoning_content?: string | null;
  reasoning_text?: string | null;
  reasoning_details?: JsonValue;
  reasoning_opaque?: string | null;
  tool_calls?: ChatToolCallDelta[] | null;
  /** Ours, from `wholeToolCalls` only: calls that must not run. */
  incomplete_tool_calls?: ChatToolCallDelta[];
  function_call?: JsonObject | null;
  annotations?: JsonValue;
  audio?: JsonObject | null;
  [field: string]: unknown;
}

/** A fragment of a call. Which call it belongs to is the assembler's question (decision 4). */
export interface ChatToolCallDelta {
  index?: number | null;
  id?: string | null;
  type?: string | null;
  function?: { name?: string | null; arguments?: JsonValue } | null;
  custom?: { name?: string | null; input?: JsonValue } | null;
  [field: string]: unknown;
}

export interface ChatCompletion {
  id: string;
  object: "chat.completion";
  created: number;
  model: string;
  choices: ChatCompletionChoice[];
  usage?: JsonObject;
  [field: string]: unknown;
}

export interface ChatCompletionChoice {
  index: number;
  message: ChatReplyMessage;
  finish_reason: ChatFinishReason;
  [field: string]: unknown;
}

export interface ChatReplyMessage {
  role: "assistant";
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  tool_calls?: ChatToolCall[];
  [field: string]: unknown;
}

export type ChatToolCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "custom"; custom: { name: string; input: string } };

export type ChatFinishReason = "stop" | "length" | "content_filter" | "tool_calls";

/** An error as both wires print it. */
export interface ErrorBody {
  message: string;
  type: string;
  code: string | null;
  param?: string | null;
}

/** What a Chat client gets, in order: chunks, perhaps an error, and the sentinel unless there was one. */
export type ChatOutput = ChatChunk | "[DONE]";
