import type { Block, TaskEvent, Usage } from "@deltawire/tasks";
import type {
  JsonObject,
  ResponseOutputItem,
  ResponseEvent,
  ResponseObject,
  ResponseStatus,
  ResponseUsage,
} from "@deltawire/wire";
import {
  messagePartEncoder,
  reasoningTextPartEncoder,
  AgentItemStream,
  summaryPartEncoder,
  type EmitEvent,
  type UnnumberedEvent,
} from "./agent-item-stream.ts";
import { PendingApprovalTracker } from "../pending-approval-tracker.ts";

export interface AgentReplyOptions {
  taskId: string;
  /** Items that the task has already retracted. They are not sent. */
  retractedIds: ReadonlySet<string>;
  /** The origin under which the client reaches the gateway, for links. */
  origin: string;
  responseId: string;
  /** Unix time in seconds. */
  createdAt: number;
  /** The agent's name, which the client requested as the model. */
  model: string;
  /** Codex retries after all but a few errors, so it receives another code for a pending approval. */
  isCodex: boolean;
  /** `summary`: reasoning is sent as a summary. `raw`: it is sent as reasoning text. */
  reasoning: "summary" | "raw";
  /** Fields of the request that the response object repeats. */
  echo: JsonObject;
}

/** Why a reply failed. */
export interface AgentFailure extends JsonObject {
  code: string;
  message: string;
}

type TaskEventOfType<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

/**
 * Converts a task to the reply of a model, with the task's reasoning and messages. Tool calls are left out, because the
 * client would run them.
 */
export class AgentReply {
  readonly #options: AgentReplyOptions;
  readonly #approvals = new PendingApprovalTracker();
  /** Messages and reasoning items by their id in the task. */
  readonly #messages = new Map<string, AgentItemStream>();
  readonly #reasoningItems = new Map<string, AgentItemStream>();
  #out: ResponseEvent[] = [];
  readonly #output: { index: number; item: ResponseOutputItem }[] = [];
  #nextIndex = 0;
  #sequenceNumber = 0;
  #usage: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  /** Finish reason of the last round. */
  #finishReason = "stop";
  #response: ResponseObject;
  failure: AgentFailure | undefined;

  constructor(options: AgentReplyOptions) {
    this.#options = options;
    this.#response = this.#buildResponse("in_progress");
  }

  /** The response so far. */
  get response(): ResponseObject {
    return this.#response;
  }

  get hasEnded(): boolean {
    return this.#response.status !== "in_progress";
  }

  push(event: TaskEvent, out: ResponseEvent[]): void {
    if (this.hasEnded) return;
    this.#approvals.push(event);
    if (event.task_id !== this.#options.taskId) return;
    this.#out = out;
    switch (event.type) {
      case "task.created":
        this.#emit({ type: "response.created", response: this.#response });
        this.keepAlive(out);
        break;
      case "task.output_item.added":
        this.#openItem(event);
        break;
      case "task.reasoning_summary_item.added":
        this.#reasoningItems.get(event.item_id)?.pushDelta(event.summary_index, event.item.text);
        break;
      case "task.reasoning_summary_text.delta":
        this.#reasoningItems.get(event.item_id)?.pushDelta(event.summary_index, event.delta);
        break;
      case "task.reasoning_summary_item.done":
        this.#reasoningItems.get(event.item_id)?.closePart(event.summary_index, event.item.text);
        break;
      case "task.reasoning_text.delta":
        this.#reasoningItems.get(event.item_id)?.pushDelta(event.content_index, event.delta);
        break;
      case "task.reasoning_text.done":
        this.#reasoningItems.get(event.item_id)?.closePart(event.content_index, event.text);
        break;
      // Also emitted for tool results, which are not in `#messages`.
      case "task.text.added":
        this.#messages.get(event.item_id)?.pushDelta(event.block_index, event.item.text);
        break;
      case "task.text.delta":
        this.#messages.get(event.item_id)?.pushDelta(event.block_index, event.delta);
        break;
      case "task.text.done":
        this.#messages.get(event.item_id)?.closePart(event.block_index, event.item.text);
        break;
      case "task.image.done":
      case "task.audio.done":
      case "task.file.done":
        this.#messages
          .get(event.item_id)
          ?.closePart(event.block_index, this.#formatLink(event.item));
        break;
      case "task.output_item.done":
        this.#closeItem(event);
        break;
      case "task.output_item.retracted":
        this.#retractItem(event.item_id);
        break;
      case "task.usage.updated":
        this.#usage = event.tree_usage ?? event.usage;
        break;
      case "task.round.done":
        this.#finishReason = event.finish_reason;
        break;
      case "task.completed":
        this.#end(incompleteDetails[this.#finishReason] === undefined ? "completed" : "incomplete");
        break;
      case "task.failed":
        this.#fail({ code: event.error.code, message: event.error.message });
        break;
      case "task.canceled":
        this.#fail({
          code: "task_canceled",
          message: event.reason ?? `the task was canceled by ${event.by}`,
        });
        break;
      case "task.expired":
        this.#fail({ code: "task_expired", message: event.reason });
        break;
      default:
    }
  }

  /** Called when all events so far have been pushed. Fails the reply if the task is waiting for an approval. */
  onCaughtUp(out: ResponseEvent[]): void {
    this.#out = out;
    if (!this.hasEnded && this.#approvals.isWaiting) this.#fail(this.#createApprovalFailure());
  }

  /** Emits `response.in_progress` again, because Codex does not treat SSE comments as keep-alives. */
  keepAlive(out: ResponseEvent[]): void {
    this.#out = out;
    if (!this.hasEnded) this.#emit({ type: "response.in_progress", response: this.#response });
  }

  #openItem({ item: { id, type } }: TaskEventOfType<"task.output_item.added">): void {
    const status = "in_progress";
    if (this.#options.retractedIds.has(id)) return;
    if (type === "message") {
      this.#messages.set(
        id,
        new AgentItemStream(
          this.#nextIndex,
          { type, id, status, role: "assistant", content: [] },
          messagePartEncoder,
          this.#emit,
        ),
      );
    } else if (type === "reasoning") {
      const encoder =
        this.#options.reasoning === "raw" ? reasoningTextPartEncoder : summaryPartEncoder;
      this.#reasoningItems.set(
        id,
        new AgentItemStream(
          this.#nextIndex,
          { type, id, status, summary: [] },
          encoder,
          this.#emit,
        ),
      );
    } else return;
    this.#nextIndex += 1;
  }

  /** Formats an image, audio or file as a Markdown link, because the reply can contain only text. */
  #formatLink(block: Exclude<Block, { type: "text" } | { type: "data" }>): string {
    const formatMarkdownLink = (name: string, url: string): string =>
      `[${name}](${url.startsWith("/") ? this.#options.origin : ""}${url})`;
    switch (block.type) {
      case "image":
        return `!${formatMarkdownLink("image", block.image_url.url)}`;
      case "audio":
        return formatMarkdownLink("audio", block.audio_url.url);
      default:
        return formatMarkdownLink(block.filename ?? "file", block.file_url.url);
    }
  }

  #closeItem({ item: { id, status } }: TaskEventOfType<"task.output_item.done">): void {
    const itemStream = this.#messages.get(id) ?? this.#reasoningItems.get(id);
    if (itemStream === undefined) return;
    const item = itemStream.close(status === "incomplete" ? "incomplete" : "completed");
    this.#output.push({ index: itemStream.index, item });
    this.#response = this.#buildResponse("in_progress");
  }

  /** Events that were sent cannot be undone, so the item is closed as incomplete and left out of the final response. */
  #retractItem(id: string): void {
    const itemStream = this.#messages.get(id) ?? this.#reasoningItems.get(id);
    if (itemStream === undefined) return;
    this.#messages.delete(id);
    this.#reasoningItems.delete(id);
    const outputIndex = this.#output.findIndex(({ index }) => index === itemStream.index);
    if (outputIndex < 0) itemStream.close("incomplete");
    else this.#output.splice(outputIndex, 1);
    this.#response = this.#buildResponse("in_progress");
  }

  #createApprovalFailure(): AgentFailure {
    const { origin, taskId } = this.#options;
    const taskUrl = `${origin}/api/tasks/${encodeURIComponent(taskId)}`;
    const approvalUrls = this.#approvals.approvalIds.map((id) => `${origin}/api/approvals/${id}`);
    return {
      code: "approval_required",
      message: `the agent is waiting for an approval: see ${taskUrl}, decide with POST ${approvalUrls.join(", ")}, then send the same request again`,
      type: "invalid_request_error",
      task: taskUrl,
      approvals: approvalUrls,
    };
  }

  #fail(failure: AgentFailure): void {
    this.failure = failure;
    this.#end("failed");
  }

  #end(status: "completed" | "incomplete" | "failed"): void {
    this.#response = this.#buildResponse(status);
    this.#emit({ type: `response.${status}`, response: this.#response });
  }

  #buildResponse(status: ResponseStatus): ResponseObject {
    const { responseId, createdAt, model, echo, taskId } = this.#options;
    return {
      ...echo,
      id: responseId,
      object: "response",
      created_at: createdAt,
      completed_at: status === "completed" ? Math.floor(Date.now() / 1000) : null,
      status,
      error: this.#getReportedFailure(),
      incomplete_details:
        (status === "incomplete" && incompleteDetails[this.#finishReason]) || null,
      model,
      output: this.#output.map(({ item }) => item),
      usage: status === "in_progress" ? null : toResponseUsage(this.#usage),
      metadata: { ...(echo["metadata"] as JsonObject), deltawire_task: taskId },
    };
  }

  /** `invalid_prompt` is the code that makes Codex stop immediately and show the message. */
  #getReportedFailure(): AgentFailure | null {
    const { failure } = this;
    if (failure?.code !== "approval_required" || !this.#options.isCodex) return failure ?? null;
    return { ...failure, code: "invalid_prompt" };
  }

  readonly #emit: EmitEvent = (event: UnnumberedEvent): void => {
    this.#out.push({ ...event, sequence_number: this.#sequenceNumber });
    this.#sequenceNumber += 1;
  };
}

/** Details of incomplete replies, by finish reason. */
const incompleteDetails: Readonly<Record<string, ResponseObject["incomplete_details"]>> = {
  length: { reason: "max_output_tokens" },
  content_filter: { reason: "content_filter" },
};

function toResponseUsage(usage: Usage): ResponseUsage {
  const { input_tokens, output_tokens, total_tokens, cached_tokens, reasoning_tokens } = usage;
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: cached_tokens ?? 0 },
    output_tokens,
    output_tokens_details: { reasoning_tokens: reasoning_tokens ?? 0 },
    total_tokens,
    ...(usage.estimated === true ? { estimated: true } : {}),
  };
}
