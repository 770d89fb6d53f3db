import type { JsonObject, JsonValue } from "../json.ts";

export type ResponseItemStatus = "in_progress" | "completed" | "incomplete";

export type ResponseOutputItem =
  | ResponseOutputMessage
  | ResponseReasoningItem
  | ResponseFunctionToolCall
  | ResponseCustomToolCall
  | ResponseToolSearchCall
  | ResponseLocalShellCall
  | ResponseShellCall
  | ResponseApplyPatchCall
  | ResponseImageGenerationCall
  | ResponseWebSearchCall;

export interface ResponseOutputMessage {
  type: "message";
  id: string;
  status: ResponseItemStatus;
  role: "assistant";
  content: ResponseOutputContent[];
  /** Set in finished messages, if it is known. */
  phase?: MessagePhase;
}

/** `commentary`: calls belong to the same reply, so it does not end the turn. */
export type MessagePhase = "commentary" | "final_answer";

export type ResponseOutputContent =
  | { type: "output_text"; text: string; annotations: JsonObject[]; logprobs: JsonValue[] }
  | { type: "refusal"; refusal: string }
  | { type: "output_audio"; data: string; transcript: string };

export interface ResponseReasoningItem {
  type: "reasoning";
  id: string;
  status: ResponseItemStatus;
  summary: { type: "summary_text"; text: string }[];
  content?: { type: "reasoning_text"; text: string }[];
  encrypted_content?: string;
}

export interface ResponseFunctionToolCall {
  type: "function_call";
  id: string;
  status: ResponseItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  async?: true;
  arguments: string;
}

export interface ResponseCustomToolCall {
  type: "custom_tool_call";
  id: string;
  status: ResponseItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  async?: true;
  input: string;
}

export interface ResponseToolSearchCall {
  type: "tool_search_call";
  id: string;
  status: ResponseItemStatus;
  call_id: string;
  execution: "client";
  arguments: JsonObject;
}

export interface ResponseLocalShellCall {
  type: "local_shell_call";
  id: string;
  status: ResponseItemStatus;
  call_id: string;
  action: JsonObject;
}

export interface ResponseShellCall {
  type: "shell_call";
  id: string;
  status: ResponseItemStatus;
  call_id: string;
  action: JsonObject;
}

export interface ResponseApplyPatchCall {
  type: "apply_patch_call";
  id: string;
  status: ResponseItemStatus;
  call_id: string;
  operation: JsonObject;
}

export interface ResponseImageGenerationCall {
  type: "image_generation_call";
  id: string;
  status: ResponseItemStatus;
  output_format: string;
  /** The image in base64. */
  result: string | null;
}

export interface ResponseWebSearchCall {
  type: "web_search_call";
  id: string;
  status: ResponseItemStatus;
  action: { type: "search"; query: string };
}

export interface ResponseUsage {
  input_tokens: number;
  /** `cache_write_tokens` is set if the upstream reports it. */
  input_tokens_details: { cached_tokens: number; cache_write_tokens?: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
  /** Not part of the API: the upstream reported no usage, and the counts are estimates. */
  estimated?: true;
}

export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

export interface ResponseObject {
  id: string;
  object: "response";
  created_at: number;
  /** Set once the response is completed. */
  completed_at: number | null;
  status: ResponseStatus;
  error: { code: string; message: string } | null;
  incomplete_details: { reason: "max_output_tokens" | "content_filter" } | null;
  model: string;
  output: ResponseOutputItem[];
  usage: ResponseUsage | null;
  /** Parameters of the request, echoed. */
  [field: string]: unknown;
}

interface SequencedEvent {
  sequence_number: number;
}
interface ItemEvent extends SequencedEvent {
  item_id: string;
  output_index: number;
}
interface ContentPartEvent extends ItemEvent {
  content_index: number;
}
interface SummaryPartEvent extends ItemEvent {
  summary_index: number;
}

/** The last event of a response. Each stream has exactly one. */
export type ResponseTerminalEvent = {
  type: "response.completed" | "response.incomplete" | "response.failed";
  response: ResponseObject;
} & SequencedEvent;

export type ResponseEvent =
  | ({ type: "response.created"; response: ResponseObject } & SequencedEvent)
  | ({ type: "response.in_progress"; response: ResponseObject } & SequencedEvent)
  | ResponseTerminalEvent
  | ({
      type: "response.output_item.added";
      output_index: number;
      item: ResponseOutputItem;
    } & SequencedEvent)
  | ({
      type: "response.output_item.done";
      output_index: number;
      item: ResponseOutputItem;
    } & SequencedEvent)
  | ({
      type: "response.content_part.added";
      part: ResponseOutputContent | ReasoningTextPart;
    } & ContentPartEvent)
  | ({
      type: "response.content_part.done";
      part: ResponseOutputContent | ReasoningTextPart;
    } & ContentPartEvent)
  | ({
      type: "response.output_text.delta";
      delta: string;
      logprobs: JsonValue[];
    } & ContentPartEvent)
  | ({ type: "response.output_text.done"; text: string; logprobs: JsonValue[] } & ContentPartEvent)
  | ({
      type: "response.output_text.annotation.added";
      annotation_index: number;
      annotation: JsonObject;
    } & ContentPartEvent)
  | ({ type: "response.refusal.delta"; delta: string } & ContentPartEvent)
  | ({ type: "response.refusal.done"; refusal: string } & ContentPartEvent)
  | ({
      type: "response.reasoning_summary_part.added";
      part: ReasoningSummaryPart;
    } & SummaryPartEvent)
  | ({
      type: "response.reasoning_summary_part.done";
      part: ReasoningSummaryPart;
    } & SummaryPartEvent)
  | ({ type: "response.reasoning_summary_text.delta"; delta: string } & SummaryPartEvent)
  | ({ type: "response.reasoning_summary_text.done"; text: string } & SummaryPartEvent)
  | ({ type: "response.reasoning_text.delta"; delta: string } & ContentPartEvent)
  | ({ type: "response.reasoning_text.done"; text: string } & ContentPartEvent)
  | ({ type: "response.function_call_arguments.delta"; delta: string } & ItemEvent)
  | ({ type: "response.function_call_arguments.done"; name: string; arguments: string } & ItemEvent)
  | ({ type: "response.custom_tool_call_input.delta"; delta: string } & ItemEvent)
  | ({ type: "response.custom_tool_call_input.done"; input: string } & ItemEvent)
  | ({ type: "response.audio.delta"; delta: string } & SequencedEvent)
  | ({ type: "response.audio.done" } & SequencedEvent)
  | ({ type: "response.audio.transcript.delta"; delta: string } & SequencedEvent)
  | ({ type: "response.audio.transcript.done" } & SequencedEvent);

type ReasoningSummaryPart = { type: "summary_text"; text: string };
type ReasoningTextPart = { type: "reasoning_text"; text: string };
