import type { JsonObject, JsonValue } from "./json.ts";

/*
 * What an agent's run consists of. People see blocks, the model sees content parts; a group of both that can be cited has
 * a number, its `id`.
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
  /** A marker of a number that nothing has: shown as what it is, and never linked. */
  | { type: "unresolved_reference"; reference_id: number; start_index: number; end_index: number };

/** For the model. `tags` mark what the reference pool put around a group. */
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

/** What came of a call. */
export type Outcome =
  | "completed"
  | "failed" // the tool failed, is unknown, or its arguments were no good
  | "timeout"
  | "denied"
  | "canceled"
  | "incomplete" // it was never run: the model was cut off, or a limit was reached
  | "unknown"; // it may have run or not

export interface SummaryText {
  type: "text";
  text: string;
}

/** In an event `status` may be absent: an item opens `in_progress` and closes `completed` unless it says otherwise. */
export interface ReasoningItem {
  type: "reasoning";
  id: string;
  status?: ItemStatus;
  summary: SummaryText[];
  /** Raw reasoning, where an agent asks for it. */
  content?: SummaryText[];
  /** From its first word to its end, where it came word by word. */
  duration_ms?: number;
}
export interface ToolCallItem {
  type: "tool_call";
  id: string;
  call_id: string;
  name: string;
  arguments: string;
  status?: ItemStatus;
  outcome?: Outcome;
  child_task_ids?: string[];
}
export interface ToolResultItem {
  type: "tool_result";
  id: string;
  call_id: string;
  status?: ItemStatus;
  outcome?: Outcome;
  /** In a view, the items of the child task whose `task_id` is this `call_id` stand here. */
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

/** What is left of an item that was taken back: its place. */
export interface RetractedItem {
  type: "retracted";
  id: string;
  reason: string;
}

/** What a user says. */
export interface InputItem {
  type: "message";
  id: string;
  role: "user";
  content: ContentPart[];
}

export interface Reference {
  /** Dense in its task, from the first number that the conversation has not used before. */
  reference_id: number;
  item_id: string;
  block_indexes: number[];
  /** Where a group that a sub-agent cited comes from. */
  source?: { task_id: string; reference_id: number };
  title?: string;
  url?: string;
}

export type ApprovalKind = "call" | "result" | "question" | "limit" | "reconcile";
export type Decision = "approve" | "deny" | "redact" | "abort";
export type ApprovalScope = "once" | "session";

export interface Approval {
  approval_id: string;
  kind: ApprovalKind;
  call_id?: string;
  /** Of the arguments that would be executed: of the expanded ones, if there are any. */
  args_hash?: string;
  /**
   * What would be executed, or of a reconciliation what was, where that is not the text of the call: every `{{var:NAME}}`
   * is replaced by its content.
   */
  expanded_arguments?: ExpandedArguments;
  /** What may be decided. */
  choices: Decision[];
  /** The scopes that an approval may have; `once` alone unless it says more. */
  scopes?: ApprovalScope[];
  /** Whether `any_arguments` may be granted to the tool for the session. */
  any_arguments?: boolean;
  expires_at?: string;
  tool?: string;
  /** What a person is asked. */
  question?: string;
  /** Of a limit that is reached: its name, what it is, and what was used when it was asked about. */
  limit_name?: string;
  limit?: number;
  used?: number;
  /** A held result, for the person who releases it; forgotten once it is refused. */
  block_list?: Block[];
}

/** Arguments with their references replaced. `url` is the blob of the complete text, whose hash is `args_hash`. */
export type ExpandedArguments =
  | { text: string }
  | { head: string; tail: string; length: number; url: string };

export interface Resolution {
  decision: Decision;
  by: string;
  scope: ApprovalScope;
  any_arguments?: boolean;
  /** Those to be executed instead of the model's. */
  arguments?: string;
  /** What is executed where that is not the text of `arguments`. */
  expanded_arguments?: ExpandedArguments;
  reason?: string;
  /** What the model is told instead of a redacted result. */
  replacement?: string;
  /** Of the request that decided. Sent again with the same key it succeeds again. */
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
  /** The upstream told nothing, and these are guesses. */
  estimated?: boolean;
}

export interface Limits {
  /** Round trips between the model and its tools; after them the model answers without tools. */
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

/** What `task.created` tells. */
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
  limits: Limits;
  /** The last number that references of earlier turns of the conversation have; absent if there are none. */
  references_before?: number;
  created_at: string;
  protocol_version: string;
  [more: string]: JsonValue | Limits | JsonObject | undefined;
}
