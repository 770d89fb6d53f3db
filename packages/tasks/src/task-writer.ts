import { TaskError } from "./error.ts";
import type { ItemPatch, TaskEvent, TaskEventBody } from "./events.ts";
import type { ItemContext } from "./item-context.ts";
import { MessageWriter, ToolResultWriter } from "./item-writers.ts";
import type {
  Approval,
  InputItem,
  CallOutcome,
  Reference,
  ApprovalResolution,
  TaskFailure,
  Usage,
} from "./items.ts";
import type { JsonObject } from "./json.ts";
import type { LogEntry } from "./task-log.ts";
import type { ValidatorState, TrackedTask } from "./validator-state.ts";
import { ReasoningWriter, ToolCallWriter } from "./model-item-writers.ts";
import { reduce } from "./reducer.ts";
import { isSelfOrDescendant } from "./rules/tasks.ts";
import { computeStateHash } from "./state-hash.ts";
import type { TaskState, TaskTree } from "./state.ts";
import { buildTaskView } from "./task-view.ts";

type TerminalEvent = Extract<TaskEventBody, { state_hash: string }>;
type WithoutHash<T> = T extends unknown ? Omit<T, "state_hash"> : never;

export interface TreeWriterOptions {
  /** For example, `newId("msg")` returns `msg_7f3a…`. */
  newId: (prefix: string) => string;
  /** Returns the time in ISO 8601. Deltas have no timestamp. */
  now: () => string;
  emit: (entry: LogEntry) => void;
  sha256?: (text: string) => string;
  /** Optional fields of the public items. */
  include?: readonly "content"[];
}

/** The part of `TreeWriter` that the writer of a task uses. */
interface TreeEventWriter {
  readonly state: TaskTree;
  write(taskId: string, body: TaskEventBody, privateData?: JsonObject): void;
}

/**
 * Writes the events of one task. Each method writes the event of its name; `reasoning` and the like return the writer of an
 * item.
 */
export class TaskWriter {
  readonly taskId: string;
  readonly #tree: TreeEventWriter;
  readonly #options: TreeWriterOptions;
  readonly #task: TrackedTask;
  readonly #validatorState: ValidatorState;

  constructor(
    tree: TreeEventWriter,
    options: TreeWriterOptions,
    trackedTask: TrackedTask,
    validatorState: ValidatorState,
  ) {
    this.taskId = trackedTask.id;
    this.#tree = tree;
    this.#options = options;
    this.#task = trackedTask;
    this.#validatorState = validatorState;
  }

  get state(): TaskState {
    const state = this.#tree.state.tasks[this.taskId];
    if (state === undefined) throw new TaskError("invalid_event", `unknown task ${this.taskId}`);
    return state;
  }

  queued(position?: number): void {
    this.#write({ type: "task.queued", ...(position === undefined ? {} : { position }) });
  }

  /**
   * Resumes the task. Writes no event if it is already working or waits for a sub-agent. Ancestors that only waited for this task
   * are resumed too.
   */
  working(details: { recovered?: boolean; epoch?: number } = {}): void {
    if (details.recovered !== true) {
      if (this.#task.status === "working" || hasWaitingChild(this.#task)) return;
    }
    this.#write({ type: "task.working", ...details });
    this.#resumeAncestors();
  }

  paused(by?: string): void {
    this.#write({ type: "task.paused", ...(by === undefined ? {} : { by }) });
  }

  /** Also sets the ancestors to waiting, each for all pending approvals in it and below. */
  inputRequired(
    reason: "approval" | "question" | "limit" | "reconcile",
    approvalIds: string[],
  ): void {
    const ancestors: TrackedTask[] = [];
    for (let ancestor = this.#task.parent; ancestor !== undefined; ancestor = ancestor.parent)
      ancestors.unshift(ancestor);
    for (const ancestor of ancestors)
      this.#tree.write(ancestor.id, {
        type: "task.input_required",
        approval_ids: this.#findPendingApprovals(ancestor),
        reason,
      });
    this.#write({ type: "task.input_required", approval_ids: approvalIds, reason });
  }

  roundStarted(round: number, model: string): void {
    this.#write({ type: "task.round.started", round, model });
  }

  roundProgress(round: number, message: string, fraction?: number): void {
    const progress = fraction === undefined ? {} : { fraction };
    this.#write({ type: "task.round.progress", round, message, ...progress });
  }

  roundDone(round: number, finishReason: string, usage: Usage): void {
    this.#write({ type: "task.round.done", round, finish_reason: finishReason, usage });
  }

  warning(
    code: string,
    message: string,
    details: { retry_in_ms?: number; attempt?: number } = {},
  ): void {
    this.#write({ type: "task.warning", code, message, ...details });
  }

  inputAdded(item: InputItem, delivery: "steer" | "queue"): void {
    this.#write({ type: "task.input.added", item, delivery });
  }

  compaction(
    phase: "created" | "in_progress" | "completed",
    details: { before_tokens?: number; after_tokens?: number } = {},
    privateData?: JsonObject,
  ): void {
    this.#write({ type: `task.context_compression.${phase}`, ...details }, privateData);
  }

  usageUpdated(usage: Usage, treeUsage?: Usage): void {
    const treeUsageField = treeUsage === undefined ? {} : { tree_usage: treeUsage };
    this.#write({ type: "task.usage.updated", usage, ...treeUsageField });
  }

  reasoning(): ReasoningWriter {
    return new ReasoningWriter(this.#createItemContext("rs"));
  }

  toolCall(callId: string, name: string): ToolCallWriter {
    return new ToolCallWriter(this.#createItemContext("fc"), callId, name);
  }

  toolResult(callId: string): ToolResultWriter {
    return new ToolResultWriter(this.#createItemContext("fco"), callId, () =>
      this.#hasChild(callId),
    );
  }

  hasOpenResult(callId: string): boolean {
    return this.#task.calls.get(callId)?.result?.state === "open";
  }

  /**
   * Returns a writer for an open result. If an earlier process wrote blocks to it, the result is retracted and opened again with
   * the same blocks, because the last one may be incomplete; with `blocks: "drop"` it is opened again without them.
   */
  openResult(
    callId: string,
    { blocks = "keep" }: { blocks?: "keep" | "drop" } = {},
  ): ToolResultWriter | undefined {
    const result = this.#task.calls.get(callId)?.result;
    if (result?.state !== "open") return undefined;
    const hasChildTask = (): boolean => this.#hasChild(callId);
    // This runtime never adds a reference to an open result. If another runtime did, the result cannot be retracted.
    const canRetract = result.blocks.length > 0 && !hasChildTask() && !result.isCited;
    if (!canRetract || (blocks === "keep" && !result.isRestored)) {
      const context = this.#toItemContext(result.id, result.index);
      return new ToolResultWriter(
        context,
        callId,
        hasChildTask,
        [...result.blocks],
        result.openPart,
      );
    }
    this.retract(result.id, "interrupted");
    const reopenedResult = this.toolResult(callId);
    if (blocks === "keep") for (const block of result.blocks) reopenedResult.block(block);
    return reopenedResult;
  }

  /** `isKnownReference`: which numbers can be cited. Default: the references of this task. */
  message(options: { isKnownReference?: (n: number) => boolean } = {}): MessageWriter {
    const trackedTask = this.#task;
    const {
      isKnownReference = (n) =>
        n > trackedTask.lastEarlierReference && n <= trackedTask.lastReference,
    } = options;
    return new MessageWriter(this.#createItemContext("msg"), isKnownReference);
  }

  update(itemId: string, patch: ItemPatch): void {
    this.#write({ type: "task.output_item.updated", ...this.#getPosition(itemId), patch });
  }

  retract(itemId: string, reason: string): void {
    this.#write({ type: "task.output_item.retracted", ...this.#getPosition(itemId), reason });
  }

  referenceAdded(reference: Reference): void {
    this.#write({ type: "task.reference.added", reference });
  }

  approvalRequested(approval: Approval, privateData?: JsonObject): void {
    this.#write({ type: "task.approval.requested", approval }, privateData);
  }

  approvalResolved(approvalId: string, resolution: ApprovalResolution): void {
    this.#write({ type: "task.approval.resolved", approval_id: approvalId, ...resolution });
  }

  approvalExpired(approvalId: string): void {
    this.#write({ type: "task.approval.expired", approval_id: approvalId });
  }

  executionStarted(
    execution: Omit<Extract<TaskEventBody, { type: "task.tool_execution.started" }>, "type">,
  ): void {
    this.#write({ type: "task.tool_execution.started", ...execution });
  }

  executionProgress(
    callId: string,
    executionId: string,
    message?: string,
    fraction?: number,
  ): void {
    this.#write({
      type: "task.tool_execution.progress",
      call_id: callId,
      execution_id: executionId,
      ...(message === undefined ? {} : { message }),
      ...(fraction === undefined ? {} : { fraction }),
    });
  }

  executionDone(
    callId: string,
    executionId: string,
    outcome: CallOutcome,
    durationMs: number,
    error?: string,
  ): void {
    this.#write({
      type: "task.tool_execution.done",
      call_id: callId,
      execution_id: executionId,
      outcome,
      duration_ms: durationMs,
      ...(error === undefined ? {} : { error }),
    });
  }

  completed(usage: Usage): void {
    this.#end({ type: "task.completed", usage });
  }

  failed(error: TaskFailure, usage: Usage): void {
    this.#end({ type: "task.failed", error, usage });
  }

  canceled(by: string, reason: string | undefined, usage: Usage): void {
    const cancelReason = reason === undefined ? {} : { reason };
    this.#end({ type: "task.canceled", by, ...cancelReason, usage });
  }

  expired(reason: string, usage: Usage): void {
    this.#end({ type: "task.expired", reason, usage });
  }

  /** Expires the pending approvals, then writes the terminal event. */
  #end(terminalEvent: WithoutHash<TerminalEvent>): void {
    for (const [id, { task, isPending }] of this.#validatorState.approvals)
      if (task === this.#task && isPending) this.approvalExpired(id);
    const { state } = this.#tree;
    const event: TaskEvent = {
      ...terminalEvent,
      state_hash: "",
      task_id: this.taskId,
      sequence_number: state.head + 1,
    };
    const view = buildTaskView(reduce(state, [event]), this.taskId);
    this.#write({ ...terminalEvent, state_hash: computeStateHash(view, this.#options.sha256) });
    this.#resumeAncestors();
  }

  /** Resumes the ancestors that are no longer waiting for a user. */
  #resumeAncestors(): void {
    for (let ancestor = this.#task.parent; ancestor !== undefined; ancestor = ancestor.parent) {
      if (ancestor.status !== "input_required" || hasWaitingChild(ancestor)) return;
      for (const { task, isPending } of this.#validatorState.approvals.values())
        if (task === ancestor && isPending) return;
      this.#tree.write(ancestor.id, { type: "task.working" });
    }
  }

  #findPendingApprovals(ancestor: TrackedTask): string[] {
    const ids: string[] = [];
    for (const [id, { task, isPending }] of this.#validatorState.approvals)
      if (isPending && isSelfOrDescendant(task, ancestor)) ids.push(id);
    return ids;
  }

  #hasChild(callId: string): boolean {
    return this.#task.calls.get(callId)?.child !== undefined;
  }

  #getPosition(itemId: string): { item_id: string; output_index: number } {
    const item = this.#task.items.findLast(({ id }) => id === itemId);
    if (item === undefined) throw new TaskError("invalid_event", `unknown item ${itemId}`);
    return { item_id: itemId, output_index: item.index };
  }

  #createItemContext(prefix: string): ItemContext {
    return this.#toItemContext(this.#options.newId(prefix), this.#task.items.length);
  }

  #toItemContext(itemId: string, outputIndex: number): ItemContext {
    return {
      itemId,
      outputIndex,
      includesContent: this.#options.include?.includes("content") ?? false,
      write: (body, privateData) => this.#write(body, privateData),
    };
  }

  #write(body: TaskEventBody, privateData?: JsonObject): void {
    this.#tree.write(this.taskId, body, privateData);
  }
}

function hasWaitingChild(task: TrackedTask): boolean {
  return task.children.some(({ status }) => status === "input_required");
}
