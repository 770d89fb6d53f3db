import type {
  Approval,
  InputItem,
  OutputItem,
  Reference,
  Resolution,
  RetractedItem,
  TaskFailure,
  TaskInfo,
  TaskStatus,
  Usage,
} from "./items.ts";

/*
 * What events amount to. Plain JSON: a snapshot is this, written down. Tasks stand side by side; `view.ts` nests the
 * items of a sub-agent in the result that they belong to.
 */

export interface TaskTree {
  /** Of the first event; empty before it. */
  readonly root_task_id: string;
  /** The number of the last event that was applied; -1 before the first. */
  readonly head: number;
  readonly tasks: Readonly<Record<string, TaskState>>;
  readonly references: readonly TaskReference[];
  readonly approvals: readonly TaskApproval[];
}

export interface TaskState {
  readonly task_id: string;
  readonly info: TaskInfo;
  readonly status: TaskStatus;
  /** By `output_index`; what was taken back keeps its place. */
  readonly output: readonly (OutputItem | RetractedItem)[];
  /** When the last of them was opened, in ISO 8601. */
  readonly item_added_at?: string;
  readonly usage: Usage;
  readonly tree_usage?: Usage;
  /** Of the last round that was started. */
  readonly round: number;
  /** False while the model speaks. */
  readonly round_done: boolean;
  readonly round_started_at_index: number;
  /** Of the last takeover after a crash. */
  readonly epoch: number;
  readonly executions: readonly Execution[];
  /** What the user said while it ran. */
  readonly inputs: readonly TaskInput[];
  /** The model failed and will be asked again. Absent as soon as it says something, or the task ends. */
  readonly retry?: TaskRetry;
  readonly error?: TaskFailure;
  readonly ended?: { by?: string; reason?: string };
  /** In ISO 8601. */
  readonly ended_at?: string;
  /** What was repaired or requested again. Equal warnings are counted. */
  readonly warnings?: readonly TaskWarning[];
  /** How long the model has been answering, and how long the task has waited for people; in milliseconds. */
  readonly model_ms?: number;
  readonly waited_ms?: number;
  /** In ISO 8601, while the model answers or the task waits: the time since then is in neither sum yet. */
  readonly model_since?: string | null;
  readonly waiting_since?: string | null;
}

export interface TaskWarning {
  readonly code: string;
  readonly message: string;
  readonly count: number;
}

/** A model that could not be asked, or whose reply broke off, is asked again after a wait. */
export interface TaskRetry {
  /** How many attempts have failed so far. */
  readonly attempt: number;
  /** Why the last one failed. */
  readonly message: string;
  /** How long to wait before the next attempt, counted from `failed_at`. */
  readonly retry_in_ms: number;
  /** In ISO 8601. */
  readonly failed_at?: string;
}

/**
 * `taken_at` is the `output_index` at which the model saw it: of the first round that was started afterwards, and for a
 * queued one of the first round after a turn (whose last round has no call).
 */
export interface TaskInput {
  readonly item: InputItem;
  readonly delivery: "steer" | "queue";
  readonly taken_at?: number;
}

/** A run of a tool. */
export interface Execution {
  readonly call_id: string;
  readonly execution_id: string;
  readonly attempt: number;
  readonly args_hash: string;
  readonly effect: "pure" | "idempotent" | "once";
  readonly idempotency_key: string;
  /** When it began, in ISO 8601. */
  readonly started_at?: string;
  /** Absent while it runs, as is how long it took. */
  readonly outcome?: string;
  readonly duration_ms?: number;
  /** Why it failed. Forgotten once a person has refused the result. */
  readonly error?: string;
}

export interface TaskReference extends Reference {
  readonly task_id: string;
}

export interface TaskApproval extends Approval {
  readonly task_id: string;
  readonly status: "pending" | "resolved" | "expired";
  readonly resolution?: Resolution;
}

/** The public object: what `GET /api/tasks/:id` answers and `state_hash` is the hash of. */
export interface TaskView {
  task_id: string;
  status: TaskStatus;
  output: OutputItem[];
  usage: Usage;
  references: Reference[];
  /** Its own and those of all tasks below it. */
  approvals: TaskApproval[];
  /** Only while the model is asked again after a failure. */
  retry?: TaskRetry;
  error?: TaskFailure;
}
