import { TaskError } from "./error.ts";
import type { ItemPatch, TaskEvent, TaskEventBody } from "./events.ts";
import type { ItemContext } from "./item-context.ts";
import { MessageWriter, ToolResultWriter } from "./item-writers.ts";
import type {
  Approval,
  InputItem,
  Outcome,
  Reference,
  Resolution,
  TaskFailure,
  Usage,
} from "./items.ts";
import type { JsonObject } from "./json.ts";
import type { LogEntry } from "./log.ts";
import type { LogNotes, TaskNotes } from "./log-notes.ts";
import { ReasoningWriter, ToolCallWriter } from "./model-item-writers.ts";
import { reduce } from "./reducer.ts";
import { isWithin } from "./rules/tasks.ts";
import { stateHash } from "./state-hash.ts";
import type { TaskState, TaskTree } from "./state.ts";
import { taskView } from "./view.ts";

type Ending = Extract<TaskEventBody, { state_hash: string }>;
type WithoutHash<T> = T extends unknown ? Omit<T, "state_hash"> : never;

export interface TreeWriterOptions {
  /** `newId("msg")` might answer `msg_7f3a…`. */
  newId: (prefix: string) => string;
  /** The time, in ISO 8601. Deltas have none. */
  now: () => string;
  emit: (entry: LogEntry) => void;
  sha256?: (text: string) => string;
  /** What stands in the public items beside their blocks. */
  include?: readonly "content"[];
}

/** What the writer of a task needs of the one of its tree. */
interface TaskTreeWriter {
  readonly state: TaskTree;
  write(taskId: string, body: TaskEventBody, priv?: JsonObject): void;
}

export class TaskWriter {
  readonly taskId: string;
  readonly #tree: TaskTreeWriter;
  readonly #options: TreeWriterOptions;
  readonly #notes: TaskNotes;
  readonly #log: LogNotes;

  constructor(tree: TaskTreeWriter, options: TreeWriterOptions, notes: TaskNotes, log: LogNotes) {
    this.taskId = notes.id;
    this.#tree = tree;
    this.#options = options;
    this.#notes = notes;
    this.#log = log;
  }

  get state(): TaskState {
    const state = this.#tree.state.tasks[this.taskId];
    if (state === undefined) throw new TaskError("illegal_event", `no task ${this.taskId}`);
    return state;
  }

  queued(position?: number): void {
    this.#write({ type: "task.queued", ...(position === undefined ? {} : { position }) });
  }

  /**
   * It goes on. Says nothing where it does already or has to wait for a task below it. Ancestors that waited only for
   * it go on too.
   */
  working(more: { recovered?: boolean; epoch?: number } = {}): void {
    if (more.recovered !== true) {
      if (this.#notes.status === "working" || someoneBelowWaits(this.#notes)) return;
    }
    this.#write({ type: "task.working", ...more });
    this.#releaseAncestors();
  }

  paused(by?: string): void {
    this.#write({ type: "task.paused", ...(by === undefined ? {} : { by }) });
  }

  /** Its ancestors wait too, each for all that is pending in it and below. */
  inputRequired(
    reason: "approval" | "question" | "limit" | "reconcile",
    approvalIds: string[],
  ): void {
    const above: TaskNotes[] = [];
    for (let at = this.#notes.parent; at !== undefined; at = at.parent) above.unshift(at);
    for (const ancestor of above)
      this.#tree.write(ancestor.id, {
        type: "task.input_required",
        approval_ids: this.#pendingWithin(ancestor),
        reason,
      });
    this.#write({ type: "task.input_required", approval_ids: approvalIds, reason });
  }

  roundStarted(round: number, model: string): void {
    this.#write({ type: "task.round.started", round, model });
  }

  roundProgress(round: number, message: string, fraction?: number): void {
    const done = fraction === undefined ? {} : { fraction };
    this.#write({ type: "task.round.progress", round, message, ...done });
  }

  roundDone(round: number, finishReason: string, usage: Usage): void {
    this.#write({ type: "task.round.done", round, finish_reason: finishReason, usage });
  }

  warning(
    code: string,
    message: string,
    more: { retry_in_ms?: number; attempt?: number } = {},
  ): void {
    this.#write({ type: "task.warning", code, message, ...more });
  }

  inputAdded(item: InputItem, delivery: "steer" | "queue"): void {
    this.#write({ type: "task.input.added", item, delivery });
  }

  compression(
    phase: "created" | "in_progress" | "completed",
    more: { before_tokens?: number; after_tokens?: number } = {},
    priv?: JsonObject,
  ): void {
    this.#write({ type: `task.context_compression.${phase}`, ...more }, priv);
  }

  usageUpdated(usage: Usage, treeUsage?: Usage): void {
    const more = treeUsage === undefined ? {} : { tree_usage: treeUsage };
    this.#write({ type: "task.usage.updated", usage, ...more });
  }

  reasoning(): ReasoningWriter {
    return new ReasoningWriter(this.#newItem("rs"));
  }

  toolCall(callId: string, name: string): ToolCallWriter {
    return new ToolCallWriter(this.#newItem("fc"), callId, name);
  }

  toolResult(callId: string): ToolResultWriter {
    return new ToolResultWriter(this.#newItem("fco"), callId, () => this.#hasChild(callId));
  }

  hasOpenResult(callId: string): boolean {
    return this.#notes.calls.get(callId)?.result?.state === "open";
  }

  /**
   * A result that is open. If an earlier process has left blocks in it, it is retracted and opened anew with the same
   * blocks: it is not known whether the last of them is complete. With `blocks: "dropped"` it is opened anew, without them.
   */
  openResult(
    callId: string,
    { blocks = "kept" }: { blocks?: "kept" | "dropped" } = {},
  ): ToolResultWriter | undefined {
    const result = this.#notes.calls.get(callId)?.result;
    if (result?.state !== "open") return undefined;
    const isChild = (): boolean => this.#hasChild(callId);
    // A result that is cited before it is closed is none of this runtime, and cannot be retracted.
    const mayRetract = result.blocks.length > 0 && !isChild() && !result.cited;
    if (!mayRetract || (blocks === "kept" && !result.restored)) {
      const context = this.#context(result.id, result.index);
      return new ToolResultWriter(context, callId, isChild, [...result.blocks], result.part);
    }
    this.retract(result.id, "interrupted");
    const again = this.toolResult(callId);
    if (blocks === "kept") for (const block of result.blocks) again.block(block);
    return again;
  }

  /** `known` tells which numbers can be cited: those that this task has references for, unless it says otherwise. */
  message(options: { known?: (n: number) => boolean } = {}): MessageWriter {
    const notes = this.#notes;
    const { known = (n) => n > notes.referencesBefore && n <= notes.references } = options;
    return new MessageWriter(this.#newItem("msg"), known);
  }

  update(itemId: string, patch: ItemPatch): void {
    this.#write({ type: "task.output_item.updated", ...this.#place(itemId), patch });
  }

  retract(itemId: string, reason: string): void {
    this.#write({ type: "task.output_item.retracted", ...this.#place(itemId), reason });
  }

  referenceAdded(reference: Reference): void {
    this.#write({ type: "task.reference.added", reference });
  }

  approvalRequested(approval: Approval, priv?: JsonObject): void {
    this.#write({ type: "task.approval.requested", approval }, priv);
  }

  approvalResolved(approvalId: string, resolution: Resolution): void {
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
    outcome: Outcome,
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
    const why = reason === undefined ? {} : { reason };
    this.#end({ type: "task.canceled", by, ...why, usage });
  }

  expired(reason: string, usage: Usage): void {
    this.#end({ type: "task.expired", reason, usage });
  }

  /** What was still asked of a person expires. */
  #end(ending: WithoutHash<Ending>): void {
    for (const [id, { task, pending }] of this.#log.approvals)
      if (task === this.#notes && pending) this.approvalExpired(id);
    const { state } = this.#tree;
    const event: TaskEvent = {
      ...ending,
      state_hash: "",
      task_id: this.taskId,
      sequence_number: state.head + 1,
    };
    const view = taskView(reduce(state, [event]), this.taskId);
    this.#write({ ...ending, state_hash: stateHash(view, this.#options.sha256) });
    this.#releaseAncestors();
  }

  #releaseAncestors(): void {
    for (let at = this.#notes.parent; at !== undefined; at = at.parent) {
      if (at.status !== "input_required" || someoneBelowWaits(at)) return;
      for (const { task, pending } of this.#log.approvals.values())
        if (task === at && pending) return;
      this.#tree.write(at.id, { type: "task.working" });
    }
  }

  #pendingWithin(ancestor: TaskNotes): string[] {
    const ids: string[] = [];
    for (const [id, { task, pending }] of this.#log.approvals)
      if (pending && isWithin(task, ancestor)) ids.push(id);
    return ids;
  }

  #hasChild(callId: string): boolean {
    return this.#notes.calls.get(callId)?.child !== undefined;
  }

  #place(itemId: string): { item_id: string; output_index: number } {
    const item = this.#notes.items.findLast(({ id }) => id === itemId);
    if (item === undefined) throw new TaskError("illegal_event", `there is no item ${itemId}`);
    return { item_id: itemId, output_index: item.index };
  }

  #newItem(prefix: string): ItemContext {
    return this.#context(this.#options.newId(prefix), this.#notes.items.length);
  }

  #context(itemId: string, outputIndex: number): ItemContext {
    return {
      itemId,
      outputIndex,
      includesContent: this.#options.include?.includes("content") ?? false,
      write: (body, priv) => this.#write(body, priv),
    };
  }

  #write(body: TaskEventBody, priv?: JsonObject): void {
    this.#tree.write(this.taskId, body, priv);
  }
}

function someoneBelowWaits(task: TaskNotes): boolean {
  return task.children.some(({ status }) => status === "input_required");
}
