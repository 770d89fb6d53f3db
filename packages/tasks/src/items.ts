import type { JsonObject, JsonValue } from "./json.ts";

/*
 * The data of a task. People see blocks, the model receives content parts. A group of both that can be cited has a number, its
 * `id`.
 */

export interface TextBlock {
  type: "text";
  text: string;
  id?: number;
  annotations?: Annotation[];
}
export interface ImageBlock {
  type: "image";
  image_url: { url: string };
  id?: number;
}
export interface AudioBlock {
  type: "audio";
  audio_url: { url: string };
  transcript?: string;
  id?: number;
}
export interface FileBlock {
  type: "file";
  file_url: { url: string };
  filename?: string;
  media_type?: string;
  id?: number;
}
export interface DataBlock {
  type: "data";
  data: JsonValue;
  id?: number;
}
export type Block = TextBlock | ImageBlock | AudioBlock | FileBlock | DataBlock;

/** Indexes are half-open and count UTF-16 units: `text.slice(start_index, end_index)` is the marker. */
export type Annotation =
  | { type: "reference_to_block"; reference_id: number; start_index: number; end_index: number }
  /** A marker with an unknown number: shown as plain text, without a link. */
  | { type: "unresolved_reference"; reference_id: number; start_index: number; end_index: number };

/** Content for the model. `tags` mark the parts that the reference pool has added around a group. */
export type ContentPart =
  | { type: "text"; text: string; id?: number; tags?: string[] }
  | { type: "image_url"; image_url: { url: string }; id?: number; tags?: string[] }
  | { type: "audio_url"; audio_url: { url: string }; id?: number; tags?: string[] }
  | {
      type: "file_url";
      file_url: { url: string };
      filename?: string;
      media_type?: string;
      id?: number;
      tags?: string[];
    };

export type ItemStatus =
  | "in_progress"
  | "completed"
  | "incomplete"
  // of calls and results
  | "awaiting_approval"
  | "executing"
  | "denied"
  | "failed"
  | "unknown";

/** How a call ended. */
export type CallOutcome =
  | "completed"
  | "failed" // the tool failed or is unknown, or the arguments were invalid
  | "timeout"
  | "denied"
  | "canceled"
  | "incomplete" // never run: the model was cut off, or a limit was reached
  | "unknown"; // it may or may not have run

export interface SummaryText {
  type: "text";
  text: string;
}

/** In events, `status` may be absent. Default: `in_progress` when the item opens, `completed` when it closes. */
export interface ReasoningItem {
  type: "reasoning";
  id: string;
  status?: ItemStatus;
  summary: SummaryText[];
  /** Raw reasoning, if the agent requests it. */
  content?: SummaryText[];
  /** From the first delta to the end, if the reasoning was streamed. */
  duration_ms?: number;
}
export interface ToolCallItem {
  type: "tool_call";
  id: string;
  call_id: string;
  name: string;
  arguments: string;
  status?: ItemStatus;
  outcome?: CallOutcome;
  child_task_ids?: string[];
}
export interface ToolResultItem {
  type: "tool_result";
  id: string;
  call_id: string;
  status?: ItemStatus;
  outcome?: CallOutcome;
  /** In a view, this contains the items of the child task, whose `task_id` is this `call_id`. */
  block_list: (Block | OutputItem)[];
  content?: ContentPart[];
}
export interface MessageItem {
  type: "message";
  id: string;
  role: "assistant";
  status?: ItemStatus;
  block_list: Block[];
  content?: ContentPart[];
}
export type OutputItem = ReasoningItem | ToolCallItem | ToolResultItem | MessageItem;

/** Takes the place of an item that was retracted. */
export interface RetractedItem {
  type: "retracted";
  id: string;
  reason: string;
}

/** A message of the user. */
export interface InputItem {
  type: "message";
  id: string;
  role: "user";
  content: ContentPart[];
}

export interface Reference {
  /** Consecutive in a task, starting after the last number that the conversation has used. */
  reference_id: number;
  item_id: string;
  block_indexes: number[];
  /** Origin of a group that a sub-agent cited. */
  source?: { task_id: string; reference_id: number };
  title?: string;
  url?: string;
}

export type ApprovalKind = "call" | "result" | "question" | "limit" | "reconcile";
export type ApprovalDecision = "approve" | "deny" | "redact" | "abort";
export type ApprovalScope = "once" | "session";

export interface Approval {
  approval_id: string;
  kind: ApprovalKind;
  call_id?: string;
  /** Hash of the arguments to be executed: of the expanded ones, if there are any. */
  args_hash?: string;
  /**
   * The arguments to be executed (in a reconciliation: that were executed), with every `{{var:NAME}}` replaced by its content.
   * Absent if they equal the arguments of the call.
   */
  expanded_arguments?: ExpandedArguments;
  /** The possible decisions. */
  choices: ApprovalDecision[];
  /** The possible scopes of an approval. Default: `once` only. */
  scopes?: ApprovalScope[];
  /** True if the tool can be allowed with any arguments for the session. */
  any_arguments?: boolean;
  expires_at?: string;
  tool?: string;
  /** The question for the user. */
  question?: string;
  /** The limit that was reached: its name and value, and the amount used at that time. */
  limit_name?: string;
  limit?: number;
  used?: number;
  /** A held result, for the user who reviews it. Removed if the result is rejected. */
  block_list?: Block[];
}

/** Arguments with all variables replaced. `url` is the blob of the complete text, whose hash is `args_hash`. */
export type ExpandedArguments =
  | { text: string }
  | { head: string; tail: string; length: number; url: string };

export interface ApprovalResolution {
  decision: ApprovalDecision;
  by: string;
  scope: ApprovalScope;
  any_arguments?: boolean;
  /** Replaces the arguments of the model. */
  arguments?: string;
  /** `arguments` with all variables replaced, if there are any. */
  expanded_arguments?: ExpandedArguments;
  reason?: string;
  /** What the model receives instead of a redacted result. */
  replacement?: string;
  /** Key of the request that made the decision. Repeating the request with the same key succeeds. */
  idempotency_key?: string;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  cached_tokens?: number;
  reasoning_tokens?: number;
  /** In the currency of the configured prices. */
  cost?: number;
  /** True if the upstream did not report usage and the numbers are estimates. */
  estimated?: boolean;
}

export interface TaskLimits {
  /** Round trips between the model and its tools; when they are used up, the model answers without tools. */
  rounds?: number;
  tokens?: number;
  cost?: number;
  seconds?: number;
  depth?: number;
}

export interface TaskFailure {
  code: string;
  message: string;
  retryable: boolean;
}

export type TaskStatus =
  | "created"
  | "queued"
  | "working"
  | "paused"
  | "input_required"
  | "completed"
  | "failed"
  | "canceled"
  | "expired";

/** The content of `task.created`. */
export interface TaskInfo {
  root_task_id: string;
  parent_task_id?: string;
  parent_call_id?: string;
  attempt: number;
  depth: number;
  session_id?: string;
  agent: string;
  model: string;
  status: TaskStatus;
  limits: TaskLimits;
  /** Last reference number of earlier turns of the conversation. Absent if there are none. */
  references_before?: number;
  created_at: string;
  protocol_version: string;
  [field: string]: JsonValue | TaskLimits | JsonObject | undefined;
}
