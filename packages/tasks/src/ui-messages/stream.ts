import { isStored, type ProgressReport, type TaskEvent } from "../events.ts";
import type { Block, OutputItem, TaskFailure } from "../items.ts";
import { Reducer } from "../reducer.ts";
import type { TaskTree } from "../state.ts";
import type { UiChunk, UiMetadata } from "./chunks.ts";
import { blockChunk, citationsOf, finishReasonOf, inputParts, sourceChunk } from "./parts.ts";
import { subtaskChunk } from "./subtasks.ts";
import { TextParts } from "./texts.ts";
import { ToldMessage } from "./told-message.ts";
import { ToolParts } from "./tool-parts.ts";

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
  readonly #message = new ToldMessage();
  readonly #texts = new TextParts((chunk, item) => this.#message.put(chunk, item));
  readonly #tools = new ToolParts(this.#message);
  readonly #messages = new Set<string>();
  /** What the user said meanwhile, once the model has seen it. */
  readonly #steered = new Set<string>();
  #root = "";
  #waiting = false;
  #finishReason: string | undefined;

  constructor({ after = -1 }: UiMessageStreamOptions = {}) {
    this.#after = after;
  }

  /** Nothing goes on without a person. */
  get waiting(): boolean {
    return this.#waiting && !this.ended;
  }

  get ended(): boolean {
    return this.#message.ended;
  }

  push(event: TaskEvent | ProgressReport, out: UiChunk[]): void {
    if (!isStored(event)) return;
    if (event.sequence_number <= this.#reducer.head || this.ended) return;
    if (this.#root === "") this.#root = event.task_id;
    this.#reducer.apply(event);
    this.#message.tellTo(out);
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
    this.#message.tellTo(out);
    this.#begin();
    this.#message.finish(this.#waiting ? "tool-calls" : "interrupted", this.#metadata);
  }

  #begin(): void {
    // A text that was cut off cannot be gone on with: the reader has forgotten its id.
    this.#message.begin(this.#root, this.#texts.areOpen);
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
        this.#texts.drop(event.item_id);
        this.#tools.drop(event.item_id);
        this.#message.retract(event.item_id, event.reason);
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
        this.#tools.grow(event);
        return;
      case "task.text.added":
        if (this.#messages.has(event.item_id))
          this.#texts.open(blockId(event), "text", event.item_id, event.item.text);
        return;
      case "task.text.delta":
        if (this.#messages.has(event.item_id)) this.#texts.grow(blockId(event), event);
        else this.#growResult(event, event.delta.length);
        return;
      case "task.image.delta":
        if (!this.#messages.has(event.item_id)) this.#growResult(event, mediumSize);
        return;
      case "task.text.done":
      case "task.image.done":
      case "task.audio.done":
      case "task.file.done":
      case "task.data.done":
        if (this.#messages.has(event.item_id)) this.#closeBlock(event);
        else this.#growResult(event, mediumSize);
        return;
      case "task.reference.added":
        this.#message.put(sourceChunk(this.#root, event.reference));
        return;
      case "task.completed":
        this.#message.finish(finishReasonOf(this.#finishReason), this.#metadata);
        return;
      case "task.failed":
        this.#fail(event.error);
        return;
      case "task.expired":
        this.#fail({ code: "expired", message: event.reason, retryable: false });
        return;
      case "task.canceled":
        this.#message.say({
          type: "abort",
          ...(event.reason === undefined ? {} : { reason: event.reason }),
        });
        this.#message.finish("other", this.#metadata);
        return;
      default:
        this.#readAnyTask(event);
    }
  }

  #readSubtask(event: TaskEvent): void {
    const chunk = subtaskChunk(event, () => this.#tree);
    if (chunk === undefined) return this.#readAnyTask(event);
    if ("transient" in chunk) this.#message.say(chunk);
    else this.#message.put(chunk);
    if (event.type === "task.output_item.done") this.#closeResult(event);
  }

  #readAnyTask(event: TaskEvent): void {
    switch (event.type) {
      case "task.approval.requested":
        this.#tools.ask(event.approval.approval_id, this.#tree);
        return;
      case "task.approval.resolved":
        this.#tools.answer(event.approval_id, this.#tree);
        return;
      case "task.approval.expired":
        this.#tools.answer(event.approval_id, this.#tree);
        return;
      case "task.tool_execution.progress": {
        const { task_id, call_id, message, fraction } = event;
        const told = message === undefined ? {} : { message };
        const done = fraction === undefined ? {} : { fraction };
        this.#message.say({
          type: "data-tool-progress",
          transient: true,
          data: { task_id, call_id, ...told, ...done },
        });
        return;
      }
      case "task.warning": {
        const { code, message } = event;
        this.#message.say({ type: "data-notice", transient: true, data: { code, message } });
        return;
      }
      default:
    }
  }

  get #tree(): TaskTree {
    return this.#reducer.state;
  }

  #startStep(): void {
    this.#message.startStep();
    for (const { item, taken_at } of this.#tree.tasks[this.#root]?.inputs ?? []) {
      if (taken_at === undefined || this.#steered.has(item.id)) continue;
      this.#steered.add(item.id);
      this.#message.put({ type: "steering-message", id: item.id, parts: inputParts(item.content) });
    }
  }

  #openItem(item: OutputItem): void {
    if (item.type === "message") this.#messages.add(item.id);
    if (item.type === "tool_call") this.#tools.open(item);
  }

  #closeItem(event: { task_id: string; output_index: number }): void {
    const item = this.#tree.tasks[this.#root]?.output[event.output_index];
    if (item?.type === "tool_call") this.#tools.close(item);
    else this.#closeResult(event);
  }

  #closeResult({ task_id, output_index }: { task_id: string; output_index: number }): void {
    const item = this.#tree.tasks[task_id]?.output[output_index];
    if (item?.type === "tool_result") this.#tools.closeResult(item, this.#tree);
  }

  #growResult({ task_id, output_index }: TaskEvent & { output_index: number }, by: number): void {
    const task = this.#tree.tasks[task_id];
    const item = task?.output[output_index];
    if (item?.type !== "tool_result") return;
    const run = task?.executions.findLast(({ call_id }) => call_id === item.call_id);
    // What is written after the run is complete in a moment.
    if (run !== undefined && run.outcome === undefined) this.#tools.growResult(item, by);
  }

  #closeBlock(event: { item_id: string; block_index: number; item: Block }): void {
    const id = blockId(event);
    const { item: block, item_id } = event;
    if (block.type !== "text") {
      const chunk = blockChunk(id, block);
      if (chunk !== undefined) this.#message.put(chunk, item_id);
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

  #fail(error: TaskFailure): void {
    // `useChat` reads nothing behind an error, so that the metadata go first.
    this.#message.say({ type: "message-metadata", messageMetadata: { ...this.#metadata, error } });
    this.#message.say({ type: "error", errorText: error.message });
    this.#message.finish("error", this.#metadata);
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

/** What a medium counts for, as text: its address. */
const mediumSize = 100;

function summaryId(event: { item_id: string; summary_index: number }): string {
  return `${event.item_id}:summary:${event.summary_index}`;
}

function rawId(event: { item_id: string; content_index: number }): string {
  return `${event.item_id}:text:${event.content_index}`;
}

function blockId(event: { item_id: string; block_index: number }): string {
  return `${event.item_id}:${event.block_index}`;
}
