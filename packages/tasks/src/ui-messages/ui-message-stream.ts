import { isTaskEvent, type ProgressReport, type TaskEvent } from "../events.ts";
import type { Block, OutputItem, TaskFailure } from "../items.ts";
import { Reducer } from "../reducer.ts";
import type { TaskTree } from "../state.ts";
import type { UiChunk, UiMetadata } from "./chunks.ts";
import {
  toBlockChunk,
  toCitations,
  toFinishReason,
  toUiInputParts,
  toSourceChunk,
} from "./ui-parts.ts";
import { toSubtaskChunk } from "./subtask-chunks.ts";
import { TextParts } from "./text-parts.ts";
import { UiMessageWriter } from "./ui-message-writer.ts";
import { ToolParts } from "./tool-parts.ts";

export interface UiMessageStreamOptions {
  /** Number of the last event that the message of the client contains; later events continue this message. */
  after?: number;
}

/**
 * Converts a task to the UI message stream of the `ai` SDK, for `useChat`: one message with the id of the task, and a step for
 * every round. Push all events from the first one on, even if only later ones (`after`) are sent.
 *
 * - A retracted item is removed from the message: its step is reset, and the rest of the step is sent again. A retracted item of
 *   an earlier step would stay and be reported in a `data-retracted` part, but tasks only retract items of the current round.
 * - A sub-agent becomes a `data-subtask` part, and a `data-subtask-item` part for every closed item. Its calls become tool parts
 *   only if they need an approval, so that `addToolApprovalResponse` works at any depth.
 * - `useChat` sends approval responses only after the stream has ended. Therefore, call `end` when `isWaiting` is true and all known
 *   events have been pushed. Use `areApprovalsAnswered` as `sendAutomaticallyWhen`: the SDK's own function waits for the results
 *   of calls, which wait for the approval.
 */
export class UiMessageStream {
  readonly #after: number;
  readonly #reducer = new Reducer();
  readonly #writer = new UiMessageWriter();
  readonly #texts = new TextParts((chunk, itemId) => this.#writer.write(chunk, itemId));
  readonly #tools = new ToolParts(this.#writer);
  readonly #messageIds = new Set<string>();
  /** User inputs that the model has received. */
  readonly #steeredIds = new Set<string>();
  #rootTaskId = "";
  #isWaiting = false;
  #finishReason: string | undefined;

  constructor({ after = -1 }: UiMessageStreamOptions = {}) {
    this.#after = after;
  }

  /** True if the task is waiting for a user. */
  get isWaiting(): boolean {
    return this.#isWaiting && !this.hasEnded;
  }

  get hasEnded(): boolean {
    return this.#writer.hasEnded;
  }

  push(event: TaskEvent | ProgressReport, out: UiChunk[]): void {
    if (!isTaskEvent(event)) return;
    if (event.sequence_number <= this.#reducer.head || this.hasEnded) return;
    if (this.#rootTaskId === "") this.#rootTaskId = event.task_id;
    this.#reducer.apply(event);
    this.#writer.setOutput(out);
    if (event.sequence_number > this.#after) this.#begin();
    if (event.task_id === this.#rootTaskId) this.#onRootEvent(event);
    else this.#onSubtaskEvent(event);
  }

  /**
   * Ends the message although the task has not ended: with `tool-calls` if the task is waiting for a user, otherwise with
   * `interrupted`. No effect after a terminal event.
   */
  end(out: UiChunk[]): void {
    if (this.hasEnded || this.#rootTaskId === "") return;
    this.#writer.setOutput(out);
    this.#begin();
    this.#writer.finish(this.#isWaiting ? "tool-calls" : "interrupted", this.#metadata);
  }

  #begin(): void {
    // A text part that was cut off cannot be continued: the client that reconnects no longer knows its id.
    this.#writer.begin(this.#rootTaskId, this.#texts.hasOpenPart);
  }

  #onRootEvent(event: TaskEvent): void {
    switch (event.type) {
      case "task.working":
        this.#isWaiting = false;
        return;
      case "task.input_required":
        this.#isWaiting = true;
        return;
      case "task.round.started":
        this.#startStep();
        return;
      case "task.round.done":
        this.#finishReason = event.finish_reason;
        return;
      case "task.output_item.added":
        this.#openItem(event.item);
        return;
      case "task.output_item.done":
        this.#closeItem(event);
        return;
      case "task.output_item.retracted":
        this.#texts.drop(event.item_id);
        this.#tools.drop(event.item_id);
        this.#writer.retract(event.item_id, event.reason);
        return;
      case "task.reasoning_summary_item.added":
        this.#texts.open(getSummaryId(event), "reasoning", event.item_id, event.item.text);
        return;
      case "task.reasoning_summary_text.delta":
        this.#texts.append(getSummaryId(event), event);
        return;
      case "task.reasoning_summary_item.done":
        this.#texts.close(getSummaryId(event), "reasoning", event.item_id, event.item.text);
        return;
      case "task.reasoning_text.delta":
        this.#texts.open(getRawId(event), "reasoning", event.item_id, "");
        this.#texts.append(getRawId(event), event);
        return;
      case "task.reasoning_text.done":
        this.#texts.close(getRawId(event), "reasoning", event.item_id, event.text);
        return;
      case "task.tool_call_arguments.delta":
        this.#tools.appendInput(event);
        return;
      case "task.text.added":
        if (this.#messageIds.has(event.item_id))
          this.#texts.open(getBlockId(event), "text", event.item_id, event.item.text);
        return;
      case "task.text.delta":
        if (this.#messageIds.has(event.item_id)) this.#texts.append(getBlockId(event), event);
        else this.#streamResult(event, event.delta.length);
        return;
      case "task.image.delta":
        if (!this.#messageIds.has(event.item_id)) this.#streamResult(event, mediaSize);
        return;
      case "task.text.done":
      case "task.image.done":
      case "task.audio.done":
      case "task.file.done":
      case "task.data.done":
        if (this.#messageIds.has(event.item_id)) this.#closeBlock(event);
        else this.#streamResult(event, mediaSize);
        return;
      case "task.reference.added":
        this.#writer.write(toSourceChunk(this.#rootTaskId, event.reference));
        return;
      case "task.completed":
        this.#writer.finish(toFinishReason(this.#finishReason), this.#metadata);
        return;
      case "task.failed":
        this.#fail(event.error);
        return;
      case "task.expired":
        this.#fail({ code: "expired", message: event.reason, retryable: false });
        return;
      case "task.canceled":
        this.#writer.emit({
          type: "abort",
          ...(event.reason === undefined ? {} : { reason: event.reason }),
        });
        this.#writer.finish("other", this.#metadata);
        return;
      default:
        this.#onAnyTaskEvent(event);
    }
  }

  #onSubtaskEvent(event: TaskEvent): void {
    const chunk = toSubtaskChunk(event, () => this.#tree);
    if (chunk === undefined) return this.#onAnyTaskEvent(event);
    if ("transient" in chunk) this.#writer.emit(chunk);
    else this.#writer.write(chunk);
    if (event.type === "task.output_item.done") this.#closeResult(event);
  }

  #onAnyTaskEvent(event: TaskEvent): void {
    switch (event.type) {
      case "task.approval.requested":
        this.#tools.requestApproval(event.approval.approval_id, this.#tree);
        return;
      case "task.approval.resolved":
        this.#tools.resolveApproval(event.approval_id, this.#tree);
        return;
      case "task.approval.expired":
        this.#tools.resolveApproval(event.approval_id, this.#tree);
        return;
      case "task.tool_execution.progress": {
        const { task_id, call_id, message, fraction } = event;
        const messageField = message === undefined ? {} : { message };
        const fractionField = fraction === undefined ? {} : { fraction };
        this.#writer.emit({
          type: "data-tool-progress",
          transient: true,
          data: { task_id, call_id, ...messageField, ...fractionField },
        });
        return;
      }
      case "task.warning": {
        const { code, message } = event;
        this.#writer.emit({ type: "data-notice", transient: true, data: { code, message } });
        return;
      }
      default:
    }
  }

  get #tree(): TaskTree {
    return this.#reducer.state;
  }

  #startStep(): void {
    this.#writer.startStep();
    for (const { item, taken_at } of this.#tree.tasks[this.#rootTaskId]?.inputs ?? []) {
      if (taken_at === undefined || this.#steeredIds.has(item.id)) continue;
      this.#steeredIds.add(item.id);
      this.#writer.write({
        type: "steering-message",
        id: item.id,
        parts: toUiInputParts(item.content),
      });
    }
  }

  #openItem(item: OutputItem): void {
    if (item.type === "message") this.#messageIds.add(item.id);
    if (item.type === "tool_call") this.#tools.open(item);
  }

  #closeItem(event: { task_id: string; output_index: number }): void {
    const item = this.#tree.tasks[this.#rootTaskId]?.output[event.output_index];
    if (item?.type === "tool_call") this.#tools.close(item);
    else this.#closeResult(event);
  }

  #closeResult({ task_id, output_index }: { task_id: string; output_index: number }): void {
    const item = this.#tree.tasks[task_id]?.output[output_index];
    if (item?.type === "tool_result") this.#tools.closeResult(item, this.#tree);
  }

  #streamResult(
    { task_id, output_index }: TaskEvent & { output_index: number },
    growth: number,
  ): void {
    const task = this.#tree.tasks[task_id];
    const item = task?.output[output_index];
    if (item?.type !== "tool_result") return;
    const execution = task?.executions.findLast(({ call_id }) => call_id === item.call_id);
    // Not streamed after the execution has ended: the remaining blocks follow immediately.
    if (execution !== undefined && execution.outcome === undefined)
      this.#tools.streamResult(item, growth);
  }

  #closeBlock(event: { item_id: string; block_index: number; item: Block }): void {
    const id = getBlockId(event);
    const { item: block, item_id } = event;
    if (block.type !== "text") {
      const chunk = toBlockChunk(id, block);
      if (chunk !== undefined) this.#writer.write(chunk, item_id);
      return;
    }
    const { annotations = [], text } = block;
    const references =
      annotations.length === 0
        ? []
        : this.#tree.references.filter(({ task_id }) => task_id === this.#rootTaskId);
    const citations = toCitations(this.#rootTaskId, annotations, references);
    this.#texts.close(id, "text", item_id, text, {
      type: "text-end",
      id,
      ...(citations.length === 0 ? {} : { citations }),
    });
  }

  #fail(error: TaskFailure): void {
    // `useChat` ignores everything after an error, so the metadata is sent first.
    this.#writer.emit({ type: "message-metadata", messageMetadata: { ...this.#metadata, error } });
    this.#writer.emit({ type: "error", errorText: error.message });
    this.#writer.finish("error", this.#metadata);
  }

  get #metadata(): UiMetadata {
    const { head, tasks } = this.#tree;
    const task = tasks[this.#rootTaskId];
    return {
      task_id: this.#rootTaskId,
      ...(task === undefined ? {} : { status: task.status, usage: task.usage }),
      sequence_number: head,
    };
  }
}

/** The assumed size of an image or a file in characters. Its chunk contains only its URL. */
const mediaSize = 100;

function getSummaryId(event: { item_id: string; summary_index: number }): string {
  return `${event.item_id}:summary:${event.summary_index}`;
}

function getRawId(event: { item_id: string; content_index: number }): string {
  return `${event.item_id}:text:${event.content_index}`;
}

function getBlockId(event: { item_id: string; block_index: number }): string {
  return `${event.item_id}:${event.block_index}`;
}
