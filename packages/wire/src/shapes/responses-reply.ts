import type { JsonObject, JsonValue } from "../json.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export type OutputItem =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | CustomToolCallItem
  | ToolSearchCallItem
  | LocalShellCallItem
  | ShellCallItem
  | ApplyPatchCallItem
  | ImageGenerationCallItem;

export interface MessageItem {
  type: "message";
  id: string;
  status: ItemStatus;
  role: "assistant";
  content: MessagePart[];
}

export type MessagePart =
  | { type: "output_text"; text: string; annotations: JsonObject[]; logprobs: JsonValue[] }
  | { type: "refusal"; refusal: string }
  | { type: "output_audio"; data: string; transcript: string };

export interface ReasoningItem {
  type: "reasoning";
  id: string;
  status: ItemStatus;
  summary: { type: "summary_text"; text: string }[];
  content?: { type: "reasoning_text"; text: string }[];
  encrypted_content?: string;
}

export interface FunctionCallItem {
  type: "function_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  arguments: string;
}

export interface CustomToolCallItem {
  type: "custom_tool_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  input: string;
}

export interface ToolSearchCallItem {
  type: "tool_search_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  execution: "client";
  arguments: JsonObject;
}

export interface LocalShellCallItem {
  type: "local_shell_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  action: JsonObject;
}

export interface ShellCallItem {
  type: "shell_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  action: JsonObject;
}

export interface ApplyPatchCallItem {
  type: "apply_patch_call";
  id: string;
  status: ItemStatus;
  call_id: string;
  operation: JsonObject;
}

export interface ImageGenerationCallItem {
  type: "image_generation_call";
  id: string;
  status: ItemStatus;
  output_format: string;
  /** The picture, in base64. */
  result: string | null;
}

export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
  /** Ours: the upstream told nothing, and these are guesses. */
  estimated?: true;
}

export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

export interface ResponseObject {
  id: string;
  object: "response";
  created_at: number;
  status: ResponseStatus;
  error: { code: string; message: string } | null;
  incomplete_details: { reason: "max_output_tokens" | "content_filter" } | null;
  model: string;
  output: OutputItem[];
  usage: ResponseUsage | null;
  /** What the request asked for, echoed. */
  [field: string]: unknown;
}

interface Sequenced {
  sequence_number: number;
}
interface OfItem extends Sequenced {
  item_id: string;
  output_index: number;
}
interface OfPart extends OfItem {
  content_index: number;
}
interface OfSummary extends OfItem {
  summary_index: number;
}

/** The last event of a response: exactly one of these, and nothing behind it. */
export type TerminalEvent = {
  type: "response.completed" | "response.incomplete" | "response.failed";
  response: ResponseObject;
} & Sequenced;

export type ResponseEvent =
  | ({ type: "response.created"; response: ResponseObject } & Sequenced)
  | ({ type: "response.in_progress"; response: ResponseObject } & Sequenced)
  | TerminalEvent
  | ({ type: "response.output_item.added"; output_index: number; item: OutputItem } & Sequenced)
  | ({ type: "response.output_item.done"; output_index: number; item: OutputItem } & Sequenced)
  | ({ type: "response.content_part.added"; part: MessagePart | ReasoningPart } & OfPart)
  | ({ type: "response.content_part.done"; part: MessagePart | ReasoningPart } & OfPart)
  | ({ type: "response.output_text.delta"; delta: string; logprobs: JsonValue[] } & OfPart)
  | ({ type: "response.output_text.done"; text: string; logprobs: JsonValue[] } & OfPart)
  | ({
      type: "response.output_text.annotation.added";
      annotation_index: number;
      annotation: JsonObject;
    } & OfPart)
  | ({ type: "response.refusal.delta"; delta: string } & OfPart)
  | ({ type: "response.refusal.done"; refusal: string } & OfPart)
  | ({ type: "response.reasoning_summary_part.added"; part: SummaryPart } & OfSummary)
  | ({ type: "response.reasoning_summary_part.done"; part: SummaryPart } & OfSummary)
  | ({ type: "response.reasoning_summary_text.delta"; delta: string } & OfSummary)
  | ({ type: "response.reasoning_summary_text.done"; text: string } & OfSummary)
  | ({ type: "response.reasoning_text.delta"; delta: string } & OfPart)
  | ({ type: "response.reasoning_text.done"; text: string } & OfPart)
  | ({ type: "response.function_call_arguments.delta"; delta: string } & OfItem)
  | ({ type: "response.function_call_arguments.done"; name: string; arguments: string } & OfItem)
  | ({ type: "response.custom_tool_call_input.delta"; delta: string } & OfItem)
  | ({ type: "response.custom_tool_call_input.done"; input: string } & OfItem)
  | ({ type: "response.audio.delta"; delta: string } & Sequenced)
  | ({ type: "response.audio.done" } & Sequenced)
  | ({ type: "response.audio.transcript.delta"; delta: string } & Sequenced)
  | ({ type: "response.audio.transcript.done" } & Sequenced);

type SummaryPart = { type: "summary_text"; text: string };
type ReasoningPart = { type: "reasoning_text"; text: string };
