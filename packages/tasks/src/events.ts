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
  Outcome,
  ItemStatus,
  Reference,
  Resolution,
  SummaryText,
  TaskFailure,
  TaskInfo,
  TextBlock,
  ToolResultItem,
  Usage,
} from "./items.ts";
import type { TaskApproval, TaskReference, TaskState } from "./state.ts";

/* The task stream, version 1, as it is on the wire. docs/task-protocol.md is the same in prose. */

export const protocolVersion = "1.0";

/** Every event that is kept. */
export interface Stored {
  task_id: string;
  /** Dense from 0 for a root task and all below it. */
  sequence_number: number;
  /** When it was written, in ISO 8601. */
  ts?: string;
  /** This event stands for the numbers `coalesced_from..sequence_number`. */
  coalesced_from?: number;
}

interface OfOutput {
  output_index: number;
}
interface OfItem extends OfOutput {
  item_id: string;
}
interface OfSummary extends OfItem {
  summary_index: number;
}
interface OfBlock extends OfItem {
  block_index: number;
}

/** `done` may leave out what it does not change: absent keys survive. */
export type DoneItem =
  | Exclude<OutputItem, ToolResultItem | MessageItem>
  | (Omit<ToolResultItem, "block_list"> & Partial<Pick<ToolResultItem, "block_list">>)
  | (Omit<MessageItem, "block_list"> & Partial<Pick<MessageItem, "block_list">>);

export interface ItemPatch {
  status?: ItemStatus;
  outcome?: Outcome;
  child_task_ids?: string[];
}

/** What happened, without the envelope. */
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
  /** How far a model has come that says nothing until it is done, such as one that makes pictures. */
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
  | ({ type: "task.output_item.added"; item: OutputItem } & OfOutput)
  | ({ type: "task.output_item.updated"; patch: ItemPatch } & OfItem)
  | ({ type: "task.output_item.done"; item: DoneItem } & OfOutput)
  | ({ type: "task.output_item.retracted"; reason: string } & OfItem)
  | ({ type: "task.reasoning_summary_item.added"; item: SummaryText } & OfSummary)
  | ({ type: "task.reasoning_summary_text.delta"; delta: string; offset?: number } & OfSummary)
  | ({ type: "task.reasoning_summary_item.done"; item: SummaryText } & OfSummary)
  | ({
      type: "task.reasoning_text.delta";
      content_index: number;
      delta: string;
      offset?: number;
    } & OfItem)
  | ({ type: "task.reasoning_text.done"; content_index: number; text: string } & OfItem)
  | ({ type: "task.tool_call_arguments.delta"; delta: string; offset?: number } & OfItem)
  | ({ type: "task.tool_call_arguments.done"; arguments: string } & OfItem)
  // blocks
  | ({ type: "task.text.added"; item: TextBlock } & OfBlock)
  | ({ type: "task.text.delta"; delta: string; offset?: number } & OfBlock)
  | ({ type: "task.text.done"; item: TextBlock } & OfBlock)
  | ({
      type: "task.text.annotation.added";
      annotation_index: number;
      annotation: Annotation;
    } & OfBlock)
  | ({ type: "task.image.added" | "task.image.done"; item: ImageBlock } & OfBlock)
  /** A whole picture that replaces the one before it. */
  | ({ type: "task.image.delta"; partial_image_index: number; item: ImageBlock } & OfBlock)
  | ({ type: "task.audio.added" | "task.audio.done"; item: AudioBlock } & OfBlock)
  | ({ type: "task.file.added" | "task.file.done"; item: FileBlock } & OfBlock)
  | ({ type: "task.data.done"; item: DataBlock } & OfBlock)
  // references, approvals, executions
  | { type: "task.reference.added"; reference: Reference }
  | { type: "task.approval.requested"; approval: Approval }
  | ({ type: "task.approval.resolved"; approval_id: string } & Resolution)
  | { type: "task.approval.expired"; approval_id: string }
  | {
      type: "task.tool_execution.started";
      call_id: string;
      execution_id: string;
      attempt: number;
      args_hash: string;
      effect: Effect;
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
      outcome: Outcome;
      duration_ms: number;
      error?: string;
    };

/** `pure` and `idempotent` tools may run again under the same key, `once` tools never. */
export type Effect = "pure" | "idempotent" | "once";

/** An event of the log. One of an unknown type is kept and passed on: its fields are not looked at. */
export type TaskEvent = TaskEventBody & Stored;

export type TaskEventType = TaskEventBody["type"];

/** What only a connection says. These have no number and are not kept. */
export type StreamEvent =
  | {
      type: "task.stream.opened";
      task_id: string;
      protocol_version: string;
      /** The number of the last event that is kept. */
      head: number;
      /** The first number that can still be replayed. */
      oldest: number;
      heartbeat_ms: number;
      index_unit: "utf16";
      resumed_from?: number;
      /** How often the task has been taken up again after a crash, and the first number written since. */
      epoch?: number;
      recovered_at?: number;
    }
  | ({ type: "task.snapshot"; task_id: string } & Snapshot)
  | { type: "task.heartbeat"; task_id: string; head: number }
  | { type: "task.resync_required"; task_id: string; reason: string; head: number }
  /** Of a task that cannot be followed, on a connection that goes on with others: it may have been removed. */
  | { type: "task.stream.refused"; task_id: string; code: string; message: string }
  | ProgressReport;

/** How far a call or a model is. The log has it with a number; without one it is told again to a reader who comes later. */
export type ProgressReport = Pick<Stored, "task_id" | "ts"> &
  Extract<
    TaskEventBody,
    { type: "task.tool_execution.progress" | "task.round.progress" | "task.warning" }
  >;

/** Whether it has a number: only then it is of the log, and adds to the state. */
export function isStored(event: TaskEvent | StreamEvent): event is TaskEvent {
  return typeof (event as Partial<Stored>).sequence_number === "number";
}

/** The reduction of the events 0 to `as_of`. */
export interface Snapshot {
  as_of: number;
  tasks: Record<string, TaskState>;
  references: TaskReference[];
  approvals: TaskApproval[];
  state_hash: string;
}
