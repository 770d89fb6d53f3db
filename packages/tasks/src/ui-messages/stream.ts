import type { TaskEvent } from "../events.ts";
import type { Block, OutputItem, TaskFailure, ToolCallItem } from "../items.ts";
import { Reducer } from "../reducer.ts";
import type { TaskApproval, TaskTree } from "../state.ts";
import type { UiChunk, UiFinishReason, UiMetadata } from "./chunks.ts";
import {
  blockChunk,
  citationsOf,
  finishReasonOf,
  inputParts,
  outputChunk,
  sourceChunk,
  subtaskOf,
} from "./parts.ts";
import { inputOf, requestOf, whole } from "./calls.ts";
import { StepRecord } from "./step.ts";
import { TextParts, unseen } from "./texts.ts";

export interface UiMessageStreamOptions {
  /** The number of the last event that the client's message contains; what follows continues that message. */
  after?: number;
}

/**
 * A task as the UI message stream of the `ai` SDK, so that `useChat` shows it: one message, whose id is the task's, with
 * a step for every round. It is fed from the task's first event on, also where only later ones are to be sent.
 *
 * - What the model takes back is taken out of the message: its step is reset and the rest of it told again. A retracted
 *   item of an earlier step, which a task never has, would stay and be named in a `data-retracted` part.
 * - A sub-agent is a `data-subtask` part and a `data-subtask-item` part for every item that it closes. Its calls become
 *   tool parts only where a person is asked about them, so that `addToolApprovalResponse` answers at any depth.
 * - A client of `useChat` sends its answers when the stream has ended. So whoever feeds this ends it (`end`) when it is
 *   `waiting` and all that is known has been pushed. The client's `sendAutomaticallyWhen` is `approvalsAreAnswered`: the
 *   SDK's own waits for calls that have not been run, and those wait for the answer.
 */
export class UiMessageStream {
  readonly #after: number;
  readonly #reducer = new Reducer();
  readonly #step = new StepRecord();
  #out: UiChunk[] = [];
  #root = "";
  #state: "silent" | "speaking" | "ended" = "silent";
  /** A step begins with its first part: until then a reader of this stream would lose it when it is cut. */
  #roundStep: "none" | "due" | "open" = "none";
  #waiting = false;
  #finishReason: string | undefined;
  readonly #texts = new TextParts((chunk, item) => this.#put(chunk, item));
  /** Calls whose arguments are being written, by item. */
  readonly #inputs = new Map<string, { callId: string; sent: number }>();
  readonly #messages = new Set<string>();
  /** Calls of sub-agents that have a tool part. */
  readonly #shown = new Set<string>();
  readonly #refused = new Set<string>();
  /** What the user said meanwhile, once the model has seen it. */
  readonly #steered = new Set<string>();

  constructor({ after = -1 }: UiMessageStreamOptions = {}) {
    this.#after = after;
  }

  /** Nothing goes on without a person. */
  get waiting(): boolean {
    return this.#waiting && !this.ended;
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  push(event: TaskEvent, out: UiChunk[]): void {
    if (event.sequence_number <= this.#reducer.head || this.ended) return;
    if (this.#root === "") this.#root = event.task_id;
    this.#reducer.apply(event);
    this.#out = out;
    if (event.sequence_number > this.#after) this.#begin();
    if (event.task_id === this.#root) this.#readOwn(event);
    else this.#readSubtask(event);
  }

  /**
   * The connection ends, and that is not the end of the task: while a person is asked the message is whole as it is,
   * otherwise it is interrupted. After a terminal event there is nothing more to say.
   */
  end(out: UiChunk[]): void {
    if (this.ended || this.#root === "") return;
    this.#out = out;
    this.#begin();
    this.#finish(this.#waiting ? "tool-calls" : "interrupted");
  }

  #begin(): void {
    if (this.#state !== "silent") return;
    this.#state = "speaking";
    this.#out.push({
      type: "start",
      messageId: this.#root,
      messageMetadata: { task_id: this.#root },
    });
    // A text that was cut off cannot be gone on with: the reader has forgotten its id.
    if (this.#texts.areOpen) this.#tellStepAgain();
  }

  #tellStepAgain(): void {
    if (this.#state !== "speaking") return;
    this.#out.push({ type: "reset-step" }, ...this.#step.chunks);
  }

  /** Becomes a part of the message, or changes one. */
  #put(chunk: UiChunk, item?: string): void {
    if (this.#roundStep === "due") {
      this.#roundStep = "open";
      this.#say({ type: "start-step" });
    }
    this.#step.keep(chunk, item);
    this.#say(chunk);
  }

  #say(chunk: UiChunk): void {
    if (this.#state === "speaking") this.#out.push(chunk);
  }

  #readOwn(event: TaskEvent): void {
    switch (event.type) {
      case "task.working":
        this.#waiting = false;
        return;
      case "task.input_required":
        this.#waiting = true;
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
        this.#retract(event.item_id, event.reason);
        return;
      case "task.reasoning_summary_item.added":
        this.#texts.open(summaryId(event), "reasoning", event.item_id, event.item.text);
        return;
      case "task.reasoning_summary_text.delta":
        this.#texts.grow(summaryId(event), event);
        return;
      case "task.reasoning_summary_item.done":
        this.#texts.close(summaryId(event), "reasoning", event.item_id, event.item.text);
        return;
      case "task.reasoning_text.delta":
        this.#texts.open(rawId(event), "reasoning", event.item_id, "");
        this.#texts.grow(rawId(event), event);
        return;
      case "task.reasoning_text.done":
        this.#texts.close(rawId(event), "reasoning", event.item_id, event.text);
        return;
      case "task.tool_call_arguments.delta":
        this.#growInput(event);
        return;
      case "task.text.added":
        if (this.#messages.has(event.item_id))
          this.#texts.open(blockId(event), "text", event.item_id, event.item.text);
        return;
      case "task.text.delta":
        this.#texts.grow(blockId(event), event);
        return;
      case "task.text.done":
      case "task.image.done":
      case "task.audio.done":
      case "task.file.done":
      case "task.data.done":
        if (this.#messages.has(event.item_id)) this.#closeBlock(event);
        return;
      case "task.reference.added":
        this.#put(sourceChunk(this.#root, event.reference));
        return;
      case "task.completed":
        this.#finish(finishReasonOf(this.#finishReason));
        return;
      case "task.failed":
        this.#fail(event.error);
        return;
      case "task.expired":
        this.#fail({ code: "expired", message: event.reason, retryable: false });
        return;
      case "task.canceled":
        this.#say({
          type: "abort",
          ...(event.reason === undefined ? {} : { reason: event.reason }),
        });
        this.#finish("other");
        return;
      default:
        this.#readAnyTask(event);
    }
  }

  #readSubtask(event: TaskEvent): void {
    const { task_id } = event;
    switch (event.type) {
      case "task.created":
      case "task.queued":
      case "task.working":
      case "task.paused":
      case "task.input_required":
      case "task.round.started":
      case "task.completed":
      case "task.failed":
      case "task.canceled":
      case "task.expired": {
        const state = this.#tree.tasks[task_id];
        if (state !== undefined)
          this.#put({ type: "data-subtask", id: task_id, data: subtaskOf(state) });
        return;
      }
      case "task.output_item.done":
      case "task.output_item.updated":
      case "task.output_item.retracted": {
        const item = this.#tree.tasks[task_id]?.output[event.output_index];
        if (item === undefined) return;
        this.#put({
          type: "data-subtask-item",
          id: `${task_id}:${event.output_index}`,
          data: { task_id, output_index: event.output_index, item },
        });
        if (event.type === "task.output_item.done" && item.type === "tool_result")
          this.#closeResult(item);
        return;
      }
      case "task.text.delta":
      case "task.reasoning_summary_text.delta":
      case "task.reasoning_text.delta": {
        const { item_id, delta } = event;
        const kind = event.type === "task.text.delta" ? "text" : "reasoning";
        this.#say({
          type: "data-subtask-delta",
          transient: true,
          data: { task_id, item_id, kind, delta },
        });
        return;
      }
      default:
        this.#readAnyTask(event);
    }
  }

  #readAnyTask(event: TaskEvent): void {
    switch (event.type) {
      case "task.approval.requested":
        this.#ask(event.approval.approval_id);
        return;
      case "task.approval.resolved":
        this.#answer(event.approval_id, event.arguments);
        return;
      case "task.approval.expired":
        this.#answer(event.approval_id, undefined);
        return;
      case "task.tool_execution.progress": {
        const { task_id, call_id, message, fraction } = event;
        const told = message === undefined ? {} : { message };
        const done = fraction === undefined ? {} : { fraction };
        this.#say({
          type: "data-tool-progress",
          transient: true,
          data: { task_id, call_id, ...told, ...done },
        });
        return;
      }
      case "task.warning": {
        const { code, message } = event;
        this.#say({ type: "data-notice", transient: true, data: { code, message } });
        return;
      }
      default:
    }
  }

  get #tree(): TaskTree {
    return this.#reducer.state;
  }

  #startStep(): void {
    if (this.#roundStep === "open") this.#say({ type: "finish-step" });
    this.#roundStep = "due";
    this.#step.next();
    for (const { item, taken_at } of this.#tree.tasks[this.#root]?.inputs ?? []) {
      if (taken_at === undefined || this.#steered.has(item.id)) continue;
      this.#steered.add(item.id);
      this.#put({ type: "steering-message", id: item.id, parts: inputParts(item.content) });
    }
  }

  #openItem(item: OutputItem): void {
    if (item.type === "message") this.#messages.add(item.id);
    if (item.type !== "tool_call") return;
    this.#inputs.set(item.id, { callId: item.call_id, sent: 0 });
    this.#put({ type: "tool-input-start", ...inputOf(item) }, item.id);
  }

  #growInput(event: { item_id: string; delta: string; offset?: number }): void {
    const input = this.#inputs.get(event.item_id);
    if (input === undefined) return;
    const delta = unseen(input.sent, event);
    input.sent += delta.length;
    this.#put(
      { type: "tool-input-delta", toolCallId: input.callId, inputTextDelta: delta },
      event.item_id,
    );
  }

  #closeItem({ output_index }: { output_index: number }): void {
    const item = this.#tree.tasks[this.#root]?.output[output_index];
    if (item?.type === "tool_result") this.#closeResult(item);
    if (item?.type !== "tool_call") return;
    this.#inputs.delete(item.id);
    this.#put(whole(item), item.id);
  }

  #closeResult(result: OutputItem & { type: "tool_result" }): void {
    const { tasks } = this.#tree;
    const own = tasks[this.#root]?.output.some(
      (item) => item.type === "tool_call" && item.call_id === result.call_id,
    );
    if (own !== true && !this.#shown.has(result.call_id)) return;
    const refused = this.#refused.has(result.call_id);
    this.#put(outputChunk(result, tasks[result.call_id], refused), result.id);
  }

  #closeBlock(event: { item_id: string; block_index: number; item: Block }): void {
    const id = blockId(event);
    const { item: block, item_id } = event;
    if (block.type !== "text") {
      const chunk = blockChunk(id, block);
      if (chunk !== undefined) this.#put(chunk, item_id);
      return;
    }
    const { annotations = [], text } = block;
    const references =
      annotations.length === 0
        ? []
        : this.#tree.references.filter(({ task_id }) => task_id === this.#root);
    const citations = citationsOf(this.#root, annotations, references);
    this.#texts.close(id, "text", item_id, text, {
      type: "text-end",
      id,
      ...(citations.length === 0 ? {} : { citations }),
    });
  }

  #retract(item: string, reason: string): void {
    this.#texts.drop(item);
    this.#inputs.delete(item);
    switch (this.#step.remove(item)) {
      case "current":
        this.#tellStepAgain();
        return;
      case "earlier":
        this.#put({ type: "data-retracted", id: item, data: { item_id: item, reason } });
        return;
      case "nowhere":
    }
  }

  #ask(approvalId: string): void {
    const approval = this.#approval(approvalId);
    if (approval === undefined) return;
    const call = this.#callOf(approval);
    if (call === undefined) {
      this.#put({ type: "data-approval", id: approvalId, data: approval });
      return;
    }
    if (approval.task_id !== this.#root && !this.#shown.has(call.call_id)) {
      this.#shown.add(call.call_id);
      this.#put({ ...whole(call), toolMetadata: { task_id: approval.task_id } }, call.id);
    }
    this.#put(requestOf(call, approval), call.id);
  }

  #answer(approvalId: string, edited: string | undefined): void {
    const approval = this.#approval(approvalId);
    if (approval === undefined) return;
    const call = this.#callOf(approval);
    if (call === undefined) {
      this.#put({ type: "data-approval", id: approvalId, data: approval });
      return;
    }
    const { decision, reason = approval.status === "expired" ? "expired" : undefined } =
      approval.resolution ?? {};
    // A redacted result is told, though not as it was.
    const approved = decision === "approve" || decision === "redact";
    if (approved) this.#refused.delete(call.call_id);
    else this.#refused.add(call.call_id);
    if (edited !== undefined) this.#put(whole({ ...call, arguments: edited }), call.id);
    // Asked once more without the blocks that were held: what was refused stays in no message.
    if (decision !== "approve") this.#put(requestOf(call, approval), call.id);
    this.#put(
      {
        type: "tool-approval-response",
        approvalId,
        approved,
        ...(reason === undefined ? {} : { reason }),
      },
      call.id,
    );
  }

  #approval(id: string): TaskApproval | undefined {
    return this.#tree.approvals.findLast((approval) => approval.approval_id === id);
  }

  #callOf({ task_id, call_id }: TaskApproval): ToolCallItem | undefined {
    return this.#tree.tasks[task_id]?.output.findLast(
      (item): item is ToolCallItem => item.type === "tool_call" && item.call_id === call_id,
    );
  }

  #fail(error: TaskFailure): void {
    // `useChat` reads nothing behind an error, so that the metadata go first.
    this.#say({ type: "message-metadata", messageMetadata: { ...this.#metadata, error } });
    this.#say({ type: "error", errorText: error.message });
    this.#finish("error");
  }

  #finish(finishReason: UiFinishReason): void {
    if (this.#roundStep === "open" && finishReason !== "interrupted")
      this.#say({ type: "finish-step" });
    this.#say({ type: "finish", finishReason, messageMetadata: this.#metadata });
    this.#state = "ended";
  }

  get #metadata(): UiMetadata {
    const { head, tasks } = this.#tree;
    const task = tasks[this.#root];
    return {
      task_id: this.#root,
      ...(task === undefined ? {} : { status: task.status, usage: task.usage }),
      sequence_number: head,
    };
  }
}

function summaryId(event: { item_id: string; summary_index: number }): string {
  return `${event.item_id}:summary:${event.summary_index}`;
}

function rawId(event: { item_id: string; content_index: number }): string {
  return `${event.item_id}:text:${event.content_index}`;
}

function blockId(event: { item_id: string; block_index: number }): string {
  return `${event.item_id}:${event.block_index}`;
}
