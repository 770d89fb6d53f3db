import type {
  Approval,
  InputItem,
  OutputItem,
  Reference,
  ApprovalResolution,
  RetractedItem,
  TaskFailure,
  TaskInfo,
  TaskStatus,
  Usage,
} from "./items.ts";

/*
 * The reduced state. Plain JSON, as in snapshots. The tasks are a flat record; `task-view.ts` nests the items of a sub-agent in
 * the result of its call.
 */

export interface TaskTree {
  /** Empty before the first event. */
  readonly root_task_id: string;
  /** Number of the last applied event; -1 before the first. */
  readonly head: number;
  readonly tasks: Readonly<Record<string, TaskState>>;
  readonly references: readonly TaskReference[];
  readonly approvals: readonly TaskApproval[];
}

export interface TaskState {
  readonly task_id: string;
  readonly info: TaskInfo;
  readonly status: TaskStatus;
  /** By `output_index`; retracted items keep their position. */
  readonly output: readonly (OutputItem | RetractedItem)[];
  /** When the last item was opened, in ISO 8601. */
  readonly item_added_at?: string;
  readonly usage: Usage;
  readonly tree_usage?: Usage;
  /** Number of the last started round. */
  readonly round: number;
  /** False while the model is answering. */
  readonly round_done: boolean;
  readonly round_started_at_index: number;
  /** The number of times that the task was resumed after a crash. */
  readonly epoch: number;
  readonly executions: readonly ToolExecution[];
  /** Messages of the user while the task ran. */
  readonly inputs: readonly TaskInput[];
  /** Set while a failed request to the model waits to be repeated. Removed when the model sends output or the task ends. */
  readonly retry?: TaskRetry;
  readonly error?: TaskFailure;
  readonly ended?: { by?: string; reason?: string };
  /** In ISO 8601. */
  readonly ended_at?: string;
  /** Repairs and retries. Equal warnings are counted. */
  readonly warnings?: readonly TaskWarning[];
  /** Time during which the model answered, and during which the task waited for a user, in milliseconds. */
  readonly model_ms?: number;
  readonly waited_ms?: number;
  /** In ISO 8601. Set while the model answers or the task waits: the time since then is not included in the sums above yet. */
  readonly model_since?: string | null;
  readonly waiting_since?: string | null;
}

export interface TaskWarning {
  readonly code: string;
  readonly message: string;
  readonly count: number;
}

/** A failed request to a model, which will be repeated after a wait. */
export interface TaskRetry {
  /** Number of failed attempts. */
  readonly attempt: number;
  /** Why the last one failed. */
  readonly message: string;
  /** How long to wait before the next attempt, counted from `failed_at`. */
  readonly retry_in_ms: number;
  /** In ISO 8601. */
  readonly failed_at?: string;
}

/**
 * `taken_at` is the `output_index` at which the model received the input: with `steer` at the start of the next round, with
 * `queue` at the start of the next turn (after a round without calls).
 */
export interface TaskInput {
  readonly item: InputItem;
  readonly delivery: "steer" | "queue";
  readonly taken_at?: number;
}

/** A run of a tool. */
export interface ToolExecution {
  readonly call_id: string;
  readonly execution_id: string;
  readonly attempt: number;
  readonly args_hash: string;
  readonly effect: "pure" | "idempotent" | "once";
  readonly idempotency_key: string;
  /** In ISO 8601. */
  readonly started_at?: string;
  /** Absent while it runs, like the duration. */
  readonly outcome?: string;
  readonly duration_ms?: number;
  /** Why it failed. Removed if a user rejects the result. */
  readonly error?: string;
}

export interface TaskReference extends Reference {
  readonly task_id: string;
}

export interface TaskApproval extends Approval {
  readonly task_id: string;
  readonly status: "pending" | "resolved" | "expired";
  readonly resolution?: ApprovalResolution;
}

/** The public form of a task: the response of `GET /api/tasks/:id`, and the input of `state_hash`. */
export interface TaskView {
  task_id: string;
  status: TaskStatus;
  output: OutputItem[];
  usage: Usage;
  references: Reference[];
  /** Those of the task and of all tasks below it. */
  approvals: TaskApproval[];
  /** Only while a failed model request is waiting to be repeated. */
  retry?: TaskRetry;
  error?: TaskFailure;
}
