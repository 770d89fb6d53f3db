import type { JsonObject, JsonValue } from "../json.ts";

/**
 * A Responses request. Fields that are not listed here are preserved. Optional fields allow null, because clients send
 * null for absent fields.
 */
export interface ResponsesRequest extends JsonObject {
  model?: string | null;
  input?: string | ResponseInputItem[] | null;
  instructions?: string | null;
  tools?: ResponseTool[] | null;
  tool_choice?: ResponseToolChoice | null;
  parallel_tool_calls?: boolean | null;
  reasoning?: ResponseReasoningSettings | null;
  text?: ResponseTextSettings | null;
  max_output_tokens?: number | null;
  max_tool_calls?: number | null;
  temperature?: number | null;
  top_p?: number | null;
  top_logprobs?: number | null;
  truncation?: string | null;
  metadata?: JsonObject | null;
  include?: string[] | null;
  prompt_cache_key?: string | null;
  safety_identifier?: string | null;
  service_tier?: string | null;
  user?: string | null;
  store?: boolean | null;
  stream?: boolean | null;
  stream_options?: JsonObject | null;
  background?: boolean | null;
  previous_response_id?: string | null;
  conversation?: string | JsonObject | null;
  prompt?: JsonObject | null;
}

interface ResponseReasoningSettings extends JsonObject {
  effort?: string | null;
  summary?: string | null;
}

interface ResponseTextSettings extends JsonObject {
  format?: ResponseTextFormat | null;
  verbosity?: string | null;
}

/** `text`, `json_object` or `json_schema`; the other fields are for `json_schema` only. */
export interface ResponseTextFormat extends JsonObject {
  type: string;
  name?: string | null;
  description?: string | null;
  schema?: JsonObject | null;
  strict?: boolean | null;
}

// Input items

/**
 * The items that exist today. Items of other types are preserved and reach the `default` of a `switch`, although the
 * type does not show it.
 */
export type ResponseInputItem =
  | ResponseInputMessage
  | ResponseInputReasoning
  | ResponseInputFunctionCall
  | ResponseInputCustomToolCall
  | ResponseInputLocalShellCall
  | ResponseInputShellCall
  | ResponseInputApplyPatchCall
  | ResponseInputComputerCall
  | ResponseInputToolSearchCall
  | ResponseInputProgram
  | ResponseInputCallOutput
  | ResponseInputToolSearchOutput
  | ResponseInputMcpCall
  | ResponseInputHostedToolItem
  | ResponseInputImageGenerationCall
  | ResponseInputAdditionalTools
  | ResponseInputConfigurationUpdate
  | ResponseInputOpaqueItem
  | ResponseInputItemReference;

/** A message in the short form (`content` is a string, no `type`), in the typed form, or in the form of a reply. */
export interface ResponseInputMessage extends JsonObject {
  type?: "message" | null;
  role: ResponseInputRole;
  content: string | ResponseInputContent[];
  phase?: string | null;
}

type ResponseInputRole = "user" | "assistant" | "system" | "developer";

export interface ResponseInputReasoning extends JsonObject {
  type: "reasoning";
  summary?: ReasoningInputPart[] | null;
  content?: ReasoningInputPart[] | null;
  encrypted_content?: string | null;
}

interface ResponseInputFunctionCall extends JsonObject {
  type: "function_call";
  call_id: string;
  name: string;
  namespace?: string | null;
  arguments: string;
  async?: boolean | null;
}

interface ResponseInputCustomToolCall extends JsonObject {
  type: "custom_tool_call";
  call_id: string;
  name: string;
  namespace?: string | null;
  input: string;
  async?: boolean | null;
}

interface ResponseInputLocalShellCall extends JsonObject {
  type: "local_shell_call";
  /** Used if `call_id` is absent: OpenAI's published output item refers to the `id` only. */
  id?: string | null;
  call_id?: string | null;
  action: JsonObject;
}

interface ResponseInputShellCall extends JsonObject {
  type: "shell_call";
  call_id: string;
  action: JsonObject;
}

interface ResponseInputApplyPatchCall extends JsonObject {
  type: "apply_patch_call";
  call_id: string;
  operation: JsonObject;
}

interface ResponseInputComputerCall extends JsonObject {
  type: "computer_call";
  call_id: string;
  action?: JsonObject | null;
  actions?: JsonObject[] | null;
}

interface ResponseInputToolSearchCall extends JsonObject {
  type: "tool_search_call";
  /** Null if the server ran the search. */
  call_id?: string | null;
  execution?: string | null;
  arguments?: JsonValue;
}

/** A program that calls tools; its calls and its output follow. */
interface ResponseInputProgram extends JsonObject {
  type: "program";
  call_id: string;
  code: string;
}

/** The output of a call of any kind. The kinds differ only in the form of `output`. */
export interface ResponseInputCallOutput extends JsonObject {
  type:
    | "function_call_output"
    | "custom_tool_call_output"
    | "local_shell_call_output"
    | "shell_call_output"
    | "apply_patch_call_output"
    | "computer_call_output"
    | "program_output";
  id?: string | null;
  call_id?: string | null;
  output?: string | ResponseInputContent[] | JsonObject | JsonObject[] | null;
}

export interface ResponseInputToolSearchOutput extends JsonObject {
  type: "tool_search_output";
  call_id?: string | null;
  tools: ResponseTool[];
}

interface ResponseInputMcpCall extends JsonObject {
  type: "mcp_call";
  id: string;
  server_label: string;
  name: string;
  arguments: string;
  output?: string | null;
  error?: JsonValue;
}

/** A hosted tool call or approval item, which has no separate output item. */
export interface ResponseInputHostedToolItem extends JsonObject {
  type:
    | "web_search_call"
    | "file_search_call"
    | "code_interpreter_call"
    | "mcp_approval_request"
    | "mcp_approval_response";
}

export interface ResponseInputImageGenerationCall extends JsonObject {
  type: "image_generation_call";
  /** The image in base64. */
  result?: string | null;
  output_format?: string | null;
  revised_prompt?: string | null;
}

/** Declares tools within the input, as Codex does for its "lite" models. */
interface ResponseInputAdditionalTools extends JsonObject {
  type: "additional_tools";
  tools: ResponseTool[];
}

/** Changes settings within a conversation. */
interface ResponseInputConfigurationUpdate extends JsonObject {
  type: "configuration_update";
  reasoning?: ResponseReasoningSettings | null;
  text?: ResponseTextSettings | null;
}

/** Items that only the server that created them can interpret. */
interface ResponseInputOpaqueItem extends JsonObject {
  type: "compaction" | "compaction_trigger" | "mcp_list_tools";
}

/** The short form `{ id }` has no `type`. */
interface ResponseInputItemReference extends JsonObject {
  type: "item_reference";
  id: string;
}

// Content parts

/** `type` is any string: parts of unknown types are preserved, and many have a `text`. */
export interface ResponseInputContent extends JsonObject {
  type: string;
  text?: string | null;
  refusal?: string | null;
  /** A string in Responses. The object form of Chat is accepted too. */
  image_url?: string | { url: string; [key: string]: JsonValue | undefined } | null;
  detail?: string | null;
  file_id?: string | null;
  file_data?: string | null;
  file_url?: string | null;
  filename?: string | null;
  input_audio?: JsonObject | null;
}

interface ReasoningInputPart extends JsonObject {
  type?: string | null;
  text: string;
}

// Tools

/** Tools that the client executes. Any other type is a hosted or unknown tool. */
export type ResponseTool =
  | ResponseFunctionTool
  | ResponseCustomTool
  | ResponseNamespaceTool
  | ResponseToolSearchTool
  | ResponseLocalShellTool
  | ResponseShellTool
  | ResponseApplyPatchTool;

export interface ResponseFunctionTool extends JsonObject {
  type: "function";
  name: string;
  description?: string | null;
  parameters?: JsonObject | null;
  strict?: boolean | null;
  async?: boolean | null;
}

export interface ResponseCustomTool extends JsonObject {
  type: "custom";
  name: string;
  description?: string | null;
  format?: ResponseCustomToolFormat | null;
  async?: boolean | null;
}

/** `text` or `grammar`; `syntax` and `definition` are for `grammar` only. */
interface ResponseCustomToolFormat extends JsonObject {
  type: string;
  syntax?: string | null;
  definition?: string | null;
}

interface ResponseNamespaceTool extends JsonObject {
  type: "namespace";
  name: string;
  description?: string | null;
  tools: ResponseTool[];
}

export interface ResponseToolSearchTool extends JsonObject {
  type: "tool_search";
  execution?: string | null;
  description?: string | null;
  parameters?: JsonObject | null;
}

interface ResponseLocalShellTool extends JsonObject {
  type: "local_shell";
}

interface ResponseShellTool extends JsonObject {
  type: "shell";
  environment?: JsonObject | null;
}

interface ResponseApplyPatchTool extends JsonObject {
  type: "apply_patch";
}

/** `auto`, `none`, `required`, or an object that selects a tool, a kind of tool or a list of tools. */
export type ResponseToolChoice = string | ResponseToolChoiceObject;

export interface ResponseToolChoiceObject extends JsonObject {
  type: string;
  name?: string | null;
  namespace?: string | null;
  mode?: string | null;
  tools?: JsonObject[] | null;
}
