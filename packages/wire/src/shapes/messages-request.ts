import type { JsonObject, JsonValue } from "../json.ts";

/** A Messages request. Fields that are not listed here are preserved. */
export interface MessagesRequest extends JsonObject {
  model: string;
  messages: MessageParam[];
  max_tokens?: number | null;
  system?: string | MessageContentBlock[] | null;
  tools?: MessageTool[] | null;
  tool_choice?: MessageToolChoice | null;
  thinking?: MessageThinking | null;
  output_config?: MessageOutputConfig | null;
  stop_sequences?: string[] | null;
  stream?: boolean | null;
  temperature?: number | null;
  top_p?: number | null;
  top_k?: number | null;
  metadata?: JsonObject | null;
  service_tier?: string | null;
  cache_control?: JsonObject | null;
  mcp_servers?: JsonValue[] | null;
}

export interface MessageParam extends JsonObject {
  role: "user" | "assistant" | "system";
  content: string | MessageContentBlock[];
  /** Only of the role `system`: settings from this turn on. */
  output_config?: MessageOutputConfig | null;
}

/** `type` is any string: blocks of unknown types are preserved. */
export interface MessageContentBlock extends JsonObject {
  type: string;
  text?: string;
  /** `image` and `document`. */
  source?: JsonObject | string;
  /** `tool_use`. */
  id?: string;
  name?: string;
  input?: JsonObject;
  /** `tool_result`. */
  tool_use_id?: string;
  content?: string | MessageContentBlock[] | null;
  is_error?: boolean | null;
  /** `thinking` and `redacted_thinking`. */
  thinking?: string;
  signature?: string;
  data?: string;
  cache_control?: JsonObject | null;
}

/** Without a type, or of type `custom`: run by the client, with its own schema. */
export interface MessageTool extends JsonObject {
  type?: string | null;
  name?: string;
  description?: string | null;
  input_schema?: JsonObject;
}

export interface MessageToolChoice extends JsonObject {
  type: "auto" | "any" | "tool" | "none";
  name?: string;
  disable_parallel_tool_use?: boolean | null;
}

export interface MessageThinking extends JsonObject {
  type: string;
  budget_tokens?: number | null;
  display?: string | null;
}

interface MessageOutputConfig extends JsonObject {
  effort?: string | null;
  format?: JsonObject | null;
}
