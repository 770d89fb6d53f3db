import type { JsonObject, JsonValue } from "../json.ts";

/**
 * A Responses request as it is on the wire. Every object keeps the fields that are not listed here.
 * Clients write `null` where they mean "absent", so optional fields allow it.
 */
export interface ResponsesRequest extends JsonObject {
  model?: string | null;
  input?: string | InputItem[] | null;
  instructions?: string | null;
  tools?: Tool[] | null;
  tool_choice?: ToolChoice | null;
  parallel_tool_calls?: boolean | null;
  reasoning?: ReasoningSettings | null;
  text?: TextSettings | null;
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

interface ReasoningSettings extends JsonObject {
  effort?: string | null;
  summary?: string | null;
}

interface TextSettings extends JsonObject {
  format?: TextFormat | null;
  verbosity?: string | null;
}

/** `text`, `json_object` or `json_schema`; the other fields belong to the last. */
export interface TextFormat extends JsonObject {
  type: string;
  name?: string | null;
  description?: string | null;
  schema?: JsonObject | null;
  strict?: boolean | null;
}

// Input items

/**
 * The items that exist today. One of any other type is kept as it came and reaches the `default` of a
 * `switch`, where the compiler believes that nothing can be left.
 */
export type InputItem =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | CustomToolCallItem
  | LocalShellCallItem
  | ShellCallItem
  | ApplyPatchCallItem
  | ComputerCallItem
  | ToolSearchCallItem
  | ProgramItem
  | CallOutputItem
  | ToolSearchOutputItem
  | McpCallItem
  | ServerItem
  | ImageGenerationCallItem
  | AdditionalToolsItem
  | ConfigurationUpdateItem
  | UnreadableItem
  | ItemReference;

/** The easy form (`content` a string, no `type`), the typed form and the form of a reply, in one. */
export interface MessageItem extends JsonObject {
  type?: "message" | null;
  role: MessageRole;
  content: string | ContentPart[];
  phase?: string | null;
}

type MessageRole = "user" | "assistant" | "system" | "developer";

export interface ReasoningItem extends JsonObject {
  type: "reasoning";
  summary?: TextPart[] | null;
  content?: TextPart[] | null;
  encrypted_content?: string | null;
}

interface FunctionCallItem extends JsonObject {
  type: "function_call";
  call_id: string;
  name: string;
  namespace?: string | null;
  arguments: string;
}

interface CustomToolCallItem extends JsonObject {
  type: "custom_tool_call";
  call_id: string;
  name: string;
  namespace?: string | null;
  input: string;
}

interface LocalShellCallItem extends JsonObject {
  type: "local_shell_call";
  /** Stands for the call where there is no `call_id`: the published output item knows the `id` only. */
  id?: string | null;
  call_id?: string | null;
  action: JsonObject;
}

interface ShellCallItem extends JsonObject {
  type: "shell_call";
  call_id: string;
  action: JsonObject;
}

interface ApplyPatchCallItem extends JsonObject {
  type: "apply_patch_call";
  call_id: string;
  operation: JsonObject;
}

interface ComputerCallItem extends JsonObject {
  type: "computer_call";
  call_id: string;
  action?: JsonObject | null;
  actions?: JsonObject[] | null;
}

interface ToolSearchCallItem extends JsonObject {
  type: "tool_search_call";
  /** Null when the server searched by itself. */
  call_id?: string | null;
  execution?: string | null;
  arguments?: JsonValue;
}

/** A program that calls tools; its calls and its output follow. */
interface ProgramItem extends JsonObject {
  type: "program";
  call_id: string;
  code: string;
}

/** What came of a call, whatever its kind: they differ in the form of `output` only. */
export interface CallOutputItem extends JsonObject {
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
  output?: string | ContentPart[] | JsonObject | JsonObject[] | null;
}

export interface ToolSearchOutputItem extends JsonObject {
  type: "tool_search_output";
  call_id?: string | null;
  tools: Tool[];
}

interface McpCallItem extends JsonObject {
  type: "mcp_call";
  id: string;
  server_label: string;
  name: string;
  arguments: string;
  output?: string | null;
  error?: JsonValue;
}

/** What a server did or asked by itself, without an answer in another item. */
export interface ServerItem extends JsonObject {
  type:
    | "web_search_call"
    | "file_search_call"
    | "code_interpreter_call"
    | "mcp_approval_request"
    | "mcp_approval_response";
}

export interface ImageGenerationCallItem extends JsonObject {
  type: "image_generation_call";
  /** The picture in base64. */
  result?: string | null;
  output_format?: string | null;
  revised_prompt?: string | null;
}

/** Where Codex puts the tools of its "lite" models. */
interface AdditionalToolsItem extends JsonObject {
  type: "additional_tools";
  tools: Tool[];
}

/** Settings that changed in the middle of a conversation. */
interface ConfigurationUpdateItem extends JsonObject {
  type: "configuration_update";
  reasoning?: ReasoningSettings | null;
  text?: TextSettings | null;
}

/** Items that only their own server can read or act upon. */
interface UnreadableItem extends JsonObject {
  type: "compaction" | "compaction_trigger" | "mcp_list_tools";
}

/** The short form is `{ id }` alone. */
interface ItemReference extends JsonObject {
  type: "item_reference";
  id: string;
}

// Content parts

/** `type` is left open: parts of unknown types are kept, and many of them carry a `text`. */
export interface ContentPart extends JsonObject {
  type: string;
  text?: string | null;
  refusal?: string | null;
  /** A string in Responses; the object of Chat is read too. */
  image_url?: string | { url: string; [key: string]: JsonValue | undefined } | null;
  detail?: string | null;
  file_id?: string | null;
  file_data?: string | null;
  file_url?: string | null;
  filename?: string | null;
  input_audio?: JsonObject | null;
}

interface TextPart extends JsonObject {
  type?: string | null;
  text: string;
}

// Tools

/** Client-executed kinds first; every other type is a tool that the server runs, or one we do not know. */
export type Tool =
  | FunctionTool
  | CustomTool
  | NamespaceTool
  | ToolSearchTool
  | LocalShellTool
  | ShellTool
  | ApplyPatchTool;

export interface FunctionTool extends JsonObject {
  type: "function";
  name: string;
  description?: string | null;
  parameters?: JsonObject | null;
  strict?: boolean | null;
}

export interface CustomTool extends JsonObject {
  type: "custom";
  name: string;
  description?: string | null;
  format?: CustomToolFormat | null;
}

/** `text` or `grammar`; syntax and definition belong to the grammar. */
interface CustomToolFormat extends JsonObject {
  type: string;
  syntax?: string | null;
  definition?: string | null;
}

interface NamespaceTool extends JsonObject {
  type: "namespace";
  name: string;
  description?: string | null;
  tools: Tool[];
}

export interface ToolSearchTool extends JsonObject {
  type: "tool_search";
  execution?: string | null;
  description?: string | null;
  parameters?: JsonObject | null;
}

interface LocalShellTool extends JsonObject {
  type: "local_shell";
}

interface ShellTool extends JsonObject {
  type: "shell";
  environment?: JsonObject | null;
}

interface ApplyPatchTool extends JsonObject {
  type: "apply_patch";
}

/** `auto`, `none`, `required`, or an object that names a tool, a kind of tool or a list of them. */
export type ToolChoice = string | ToolChoiceObject;

export interface ToolChoiceObject extends JsonObject {
  type: string;
  name?: string | null;
  namespace?: string | null;
  mode?: string | null;
  tools?: JsonObject[] | null;
}
