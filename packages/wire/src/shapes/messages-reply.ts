import type { JsonObject } from "../json.ts";

/** An event from a Messages upstream. Only its `type` is validated. */
export type UpstreamMessageEvent = JsonObject & { type: string };

/* Replies for a Messages client, as this package writes them. */

/** The stop reasons that this package sends. */
export type MessageStopReason =
  | "end_turn"
  | "stop_sequence"
  | "tool_use"
  | "max_tokens"
  | "refusal";

/** `input_tokens` excludes the tokens that were read from or written to the cache. */
export interface MessageUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

export type MessageBlock =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "tool_use"; id: string; name: string; input: JsonObject };

export type MessageDelta =
  | { type: "text_delta"; text: string }
  | { type: "thinking_delta"; thinking: string }
  | { type: "signature_delta"; signature: string }
  | { type: "input_json_delta"; partial_json: string };

export interface MessageObject {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: MessageBlock[];
  stop_reason: MessageStopReason | null;
  stop_sequence: string | null;
  usage: MessageUsage;
}

/** The types of errors that a Messages client knows. */
export type MessageErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "billing_error"
  | "permission_error"
  | "not_found_error"
  | "request_too_large"
  | "rate_limit_error"
  | "timeout_error"
  | "api_error"
  | "overloaded_error";

export interface MessageError {
  type: "error";
  error: { type: MessageErrorType; message: string };
  request_id?: string;
}

export type MessageEvent =
  | { type: "message_start"; message: MessageObject }
  | { type: "content_block_start"; index: number; content_block: MessageBlock }
  | { type: "content_block_delta"; index: number; delta: MessageDelta }
  | { type: "content_block_stop"; index: number }
  | {
      type: "message_delta";
      delta: { stop_reason: MessageStopReason; stop_sequence: string | null };
      usage: MessageUsage;
    }
  | { type: "message_stop" }
  | { type: "ping" }
  | MessageError;
