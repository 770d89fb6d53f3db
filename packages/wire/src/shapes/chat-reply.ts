import type { JsonObject, JsonValue } from "../json.ts";

/*
 * Replies of a Chat upstream: the fields that this package reads, as servers actually send them. Objects may have more
 * fields, which are preserved. Replies are not validated, so any field may contain a value of another type.
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
  /** Not part of the API, set only by `bufferToolCalls`: calls that must not run. */
  incomplete_tool_calls?: ChatToolCallDelta[];
  function_call?: JsonObject | null;
  annotations?: JsonValue;
  audio?: JsonObject | null;
  [field: string]: unknown;
}

/** A part of a call. `ToolCallAssembler` decides to which call it belongs (decision 4). */
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
  tool_calls?: ChatReplyToolCall[];
  [field: string]: unknown;
}

export type ChatReplyToolCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "custom"; custom: { name: string; input: string } };

export type ChatFinishReason = "stop" | "length" | "content_filter" | "tool_calls";

/** The error object of both wires. */
export interface ErrorBody {
  message: string;
  type: string;
  code: string | null;
  param?: string | null;
}

/** A Chat client receives chunks and then either an error or `[DONE]`. */
export type ChatStreamEvent = ChatChunk | "[DONE]";
