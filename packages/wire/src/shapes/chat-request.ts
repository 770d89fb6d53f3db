import type { JsonObject, JsonValue } from "../json.ts";

/** A Chat Completions request. Fields that are not listed here are preserved. */
export interface ChatRequest extends JsonObject {
  model: string;
  messages: ChatMessage[];
  stream?: boolean | null;
  stream_options?: { include_usage?: boolean; [key: string]: JsonValue | undefined } | null;
  tools?: ChatTool[] | null;
  tool_choice?: ChatToolChoice | null;
  parallel_tool_calls?: boolean | null;
  response_format?: ChatResponseFormat | null;
  reasoning_effort?: string | null;
  verbosity?: string | null;
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  temperature?: number | null;
  top_p?: number | null;
  logprobs?: boolean | null;
  top_logprobs?: number | null;
  n?: number | null;
  stop?: string | string[] | null;
  seed?: number | null;
  frequency_penalty?: number | null;
  presence_penalty?: number | null;
  logit_bias?: JsonObject | null;
  modalities?: string[] | null;
  audio?: JsonObject | null;
  prediction?: JsonObject | null;
  web_search_options?: JsonObject | null;
  metadata?: JsonObject | null;
  store?: boolean | null;
  user?: string | null;
  safety_identifier?: string | null;
  service_tier?: string | null;
  prompt_cache_key?: string | null;
  /** Deprecated predecessors of `tools` and `tool_choice`, still sent by old clients. */
  functions?: ChatFunction[] | null;
  function_call?: string | { name: string; [key: string]: JsonValue | undefined } | null;
}

export type ChatMessage =
  | ChatSystemMessage
  | ChatUserMessage
  | ChatAssistantMessage
  | ChatToolMessage
  | ChatFunctionMessage;

export interface ChatSystemMessage extends JsonObject {
  role: "system" | "developer";
  content: ChatContent;
  name?: string | null;
}

interface ChatUserMessage extends JsonObject {
  role: "user";
  content: ChatContent;
  name?: string | null;
}

export interface ChatAssistantMessage extends JsonObject {
  role: "assistant";
  content?: ChatContent | null;
  refusal?: string | null;
  tool_calls?: ChatToolCall[] | null;
  function_call?: { name: string; arguments: string; [key: string]: JsonValue | undefined } | null;
  audio?: JsonObject | null;
  name?: string | null;
  // Not part of OpenAI's API: reasoning that some models require in later requests (see `reasoningField` in upstream-profile.ts).
  reasoning_content?: string | null;
  reasoning?: string | null;
  reasoning_details?: JsonObject[] | null;
  reasoning_opaque?: string | null;
}

export interface ChatToolMessage extends JsonObject {
  role: "tool";
  tool_call_id: string;
  content: ChatContent;
}

interface ChatFunctionMessage extends JsonObject {
  role: "function";
  name: string;
  content: string | null;
}

export type ChatContent = string | ChatContentPart[];

/** Parts of unknown types are preserved and reach the `default` of a `switch`. */
export type ChatContentPart =
  | ChatTextPart
  | ChatImagePart
  | ChatAudioPart
  | ChatFilePart
  | ChatRefusalPart;

interface ChatTextPart extends JsonObject {
  type: "text";
  text: string;
}

interface ChatImagePart extends JsonObject {
  type: "image_url";
  image_url: { url: string; detail?: string | null; [key: string]: JsonValue | undefined };
}

interface ChatAudioPart extends JsonObject {
  type: "input_audio";
  input_audio: JsonObject;
}

interface ChatFilePart extends JsonObject {
  type: "file";
  file: {
    file_id?: string | null;
    file_data?: string | null;
    filename?: string | null;
    [key: string]: JsonValue | undefined;
  };
}

interface ChatRefusalPart extends JsonObject {
  type: "refusal";
  refusal: string;
}

export type ChatToolCall = ChatFunctionToolCall | ChatCustomToolCall;

interface ChatFunctionToolCall extends JsonObject {
  id: string;
  type: "function";
  function: { name: string; arguments: string; [key: string]: JsonValue | undefined };
  /** Gemini's thought signature, which must be sent back with the call. */
  extra_content?: JsonObject;
}

interface ChatCustomToolCall extends JsonObject {
  id: string;
  type: "custom";
  custom: { name: string; input: string; [key: string]: JsonValue | undefined };
  extra_content?: JsonObject;
}

export type ChatTool = ChatFunctionTool | ChatCustomTool;

interface ChatFunctionTool extends JsonObject {
  type: "function";
  function: ChatFunction;
}

interface ChatFunction extends JsonObject {
  name: string;
  description?: string | null;
  parameters?: JsonObject | null;
  strict?: boolean | null;
}

interface ChatCustomTool extends JsonObject {
  type: "custom";
  custom: { name: string; description?: string; format?: JsonObject };
}

export type ChatToolChoice =
  | "none"
  | "auto"
  | "required"
  | { type: "function"; function: { name: string } }
  | { type: "custom"; custom: { name: string } }
  | { type: "allowed_tools"; allowed_tools: { mode: string; tools: JsonObject[] } };

export type ChatResponseFormat =
  | { type: "text" }
  | { type: "json_object" }
  | { type: "json_schema"; json_schema: ChatJsonSchema };

interface ChatJsonSchema extends JsonObject {
  name: string;
  description?: string;
  schema?: JsonObject;
  strict?: boolean;
}
