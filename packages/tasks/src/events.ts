import type {
  Annotation,
  Approval,
  AudioBlock,
  DataBlock,
  FileBlock,
  ImageBlock,
  InputItem,
  MessageItem,
  OutputItem,
  CallOutcome,
  ItemStatus,
  Reference,
  ApprovalResolution,
  SummaryText,
  TaskFailure,
  TaskInfo,
  TextBlock,
  ToolResultItem,
  Usage,
} from "./items.ts";
import type { TaskApproval, TaskReference, TaskState } from "./state.ts";

/* The wire format of the task stream, version 1. Described in docs/reference/task-protocol.md. */

export const protocolVersion = "1.0";

/** The fields that every stored event has. */
export interface EventEnvelope {
  task_id: string;
  /** Consecutive from 0 in a root task including its sub-agents. */
  sequence_number: number;
  /** When the event was written, in ISO 8601. */
  ts?: string;
  /** The event covers the numbers `coalesced_from..sequence_number`. */
  coalesced_from?: number;
}

interface OutputFields {
  output_index: number;
}
interface ItemFields extends OutputFields {
  item_id: string;
}
interface SummaryFields extends ItemFields {
  summary_index: number;
}
interface BlockFields extends ItemFields {
  block_index: number;
}

/** The item of a `done` event. Absent fields keep their values. */
export type DoneItem =
  | Exclude<OutputItem, ToolResultItem | MessageItem>
  | (Omit<ToolResultItem, "block_list"> & Partial<Pick<ToolResultItem, "block_list">>)
  | (Omit<MessageItem, "block_list"> & Partial<Pick<MessageItem, "block_list">>);

export interface ItemPatch {
  status?: ItemStatus;
  outcome?: CallOutcome;
  child_task_ids?: string[];
}

/** An event without its envelope. */
export type TaskEventBody =
  // lifecycle
  | { type: "task.created"; task: TaskInfo }
  | { type: "task.queued"; position?: number }
  | { type: "task.working"; recovered?: boolean; epoch?: number }
  | { type: "task.paused"; by?: string }
  | {
      type: "task.input_required";
      approval_ids: string[];
      reason: "approval" | "question" | "limit" | "reconcile";
    }
  | { type: "task.completed"; usage: Usage; state_hash: string }
  | { type: "task.failed"; error: TaskFailure; usage: Usage; state_hash: string }
  | { type: "task.canceled"; by: string; reason?: string; usage: Usage; state_hash: string }
  | { type: "task.expired"; reason: string; usage: Usage; state_hash: string }
  // rounds
  | { type: "task.round.started"; round: number; model: string }
  /** Progress of a model that sends no output until it is done, such as an image model. */
  | { type: "task.round.progress"; round: number; message: string; fraction?: number }
  | { type: "task.round.done"; round: number; finish_reason: string; usage: Usage }
  | {
      type: "task.warning";
      code: string;
      message: string;
      retry_in_ms?: number;
      attempt?: number;
    }
  | { type: "task.input.added"; item: InputItem; delivery: "steer" | "queue" }
  | {
      type:
        | "task.context_compression.created"
        | "task.context_compression.in_progress"
        | "task.context_compression.completed";
      before_tokens?: number;
      after_tokens?: number;
    }
  | { type: "task.usage.updated"; usage: Usage; tree_usage?: Usage }
  // items
  | ({ type: "task.output_item.added"; item: OutputItem } & OutputFields)
  | ({ type: "task.output_item.updated"; patch: ItemPatch } & ItemFields)
  | ({ type: "task.output_item.done"; item: DoneItem } & OutputFields)
  | ({ type: "task.output_item.retracted"; reason: string } & ItemFields)
  | ({ type: "task.reasoning_summary_item.added"; item: SummaryText } & SummaryFields)
  | ({ type: "task.reasoning_summary_text.delta"; delta: string; offset?: number } & SummaryFields)
  | ({ type: "task.reasoning_summary_item.done"; item: SummaryText } & SummaryFields)
  | ({
      type: "task.reasoning_text.delta";
      content_index: number;
      delta: string;
      offset?: number;
    } & ItemFields)
  | ({ type: "task.reasoning_text.done"; content_index: number; text: string } & ItemFields)
  | ({ type: "task.tool_call_arguments.delta"; delta: string; offset?: number } & ItemFields)
  | ({ type: "task.tool_call_arguments.done"; arguments: string } & ItemFields)
  // blocks
  | ({ type: "task.text.added"; item: TextBlock } & BlockFields)
  | ({ type: "task.text.delta"; delta: string; offset?: number } & BlockFields)
  | ({ type: "task.text.done"; item: TextBlock } & BlockFields)
  | ({
      type: "task.text.annotation.added";
      annotation_index: number;
      annotation: Annotation;
    } & BlockFields)
  | ({ type: "task.image.added" | "task.image.done"; item: ImageBlock } & BlockFields)
  /** A complete preview that replaces the previous one. */
  | ({ type: "task.image.delta"; partial_image_index: number; item: ImageBlock } & BlockFields)
  | ({ type: "task.audio.added" | "task.audio.done"; item: AudioBlock } & BlockFields)
  | ({ type: "task.file.added" | "task.file.done"; item: FileBlock } & BlockFields)
  | ({ type: "task.data.done"; item: DataBlock } & BlockFields)
  // references, approvals, executions
  | { type: "task.reference.added"; reference: Reference }
  | { type: "task.approval.requested"; approval: Approval }
  | ({ type: "task.approval.resolved"; approval_id: string } & ApprovalResolution)
  | { type: "task.approval.expired"; approval_id: string }
  | {
      type: "task.tool_execution.started";
      call_id: string;
      execution_id: string;
      attempt: number;
      args_hash: string;
      effect: ToolEffect;
      idempotency_key: string;
    }
  | {
      type: "task.tool_execution.progress";
      call_id: string;
      execution_id: string;
      message?: string;
      fraction?: number;
    }
  | {
      type: "task.tool_execution.done";
      call_id: string;
      execution_id: string;
      outcome: CallOutcome;
      duration_ms: number;
      error?: string;
    };

/** `pure` and `idempotent` tools may run again under the same key, `once` tools never. */
export type ToolEffect = "pure" | "idempotent" | "once";

/** An event of the log. Events of unknown types are stored and forwarded unchecked. */
export type TaskEvent = TaskEventBody & EventEnvelope;

export type TaskEventType = TaskEventBody["type"];

/** Events about the connection. They have no number and are not stored. */
export type StreamEvent =
  | {
      type: "task.stream.opened";
      task_id: string;
      protocol_version: string;
      /** Number of the last stored event. */
      head: number;
      /** First number that can still be replayed. */
      oldest: number;
      heartbeat_ms: number;
      index_unit: "utf16";
      resumed_from?: number;
      /** The number of times that the task was resumed after a crash, and the first sequence number since then. */
      epoch?: number;
      recovered_at?: number;
    }
  | ({ type: "task.snapshot"; task_id: string } & Snapshot)
  | { type: "task.heartbeat"; task_id: string; head: number }
  | { type: "task.resync_required"; task_id: string; reason: string; head: number }
  /** A task cannot be followed, for example because it was deleted. Other tasks on the connection are not affected. */
  | { type: "task.stream.rejected"; task_id: string; code: string; message: string }
  | ProgressReport;

/** Progress of a call or a model. Numbered in the log; sent again without a number to clients that connect later. */
export type ProgressReport = Pick<EventEnvelope, "task_id" | "ts"> &
  Extract<
    TaskEventBody,
    { type: "task.tool_execution.progress" | "task.round.progress" | "task.warning" }
  >;

/** True if the event has a number: only such events are part of the log and change the state. */
export function isTaskEvent(event: TaskEvent | StreamEvent): event is TaskEvent {
  return typeof (event as Partial<EventEnvelope>).sequence_number === "number";
}

/** The state after the events 0 to `as_of`. */
export interface Snapshot {
  as_of: number;
  tasks: Record<string, TaskState>;
  references: TaskReference[];
  approvals: TaskApproval[];
  state_hash: string;
}
