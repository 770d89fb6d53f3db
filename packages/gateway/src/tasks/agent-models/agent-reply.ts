import type { Block, TaskEvent, Usage } from "@deltawire/tasks";
import type {
  JsonObject,
  OutputItem,
  ResponseEvent,
  ResponseObject,
  ResponseStatus,
  ResponseUsage,
} from "@deltawire/wire";
import {
  messageText,
  rawReasoning,
  SaidItem,
  summary,
  type Put,
  type Unnumbered,
} from "./agent-item.ts";
import { NeedsPerson } from "../needs-person.ts";

export interface AgentReplyOptions {
  taskId: string;
  /** Items that are known to have been taken back. */
  retracted: ReadonlySet<string>;
  /** The gateway as the client reaches it, for what a person is to look at. */
  origin: string;
  responseId: string;
  /** Seconds since 1970. */
  createdAt: number;
  /** The agent's name, which the client asked for as a model. */
  model: string;
  /** It tries again whatever it is told, but for a few words. */
  codex: boolean;
  /** As summary events, or as raw text. */
  reasoning: "summary" | "text";
  /** What the request asked for, for the response object. */
  echo: JsonObject;
}

/** What a reply ended in that did not come to its end. */
export interface AgentFailure extends JsonObject {
  code: string;
  message: string;
}

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

/**
 * A task as the reply of a model: its own reasoning and messages. Its calls are its own business; a client that saw them
 * would run them.
 */
export class AgentReply {
  readonly #options: AgentReplyOptions;
  readonly #needsPerson = new NeedsPerson();
  /** By the ids that they have in the task. */
  readonly #messages = new Map<string, SaidItem>();
  readonly #thoughts = new Map<string, SaidItem>();
  #out: ResponseEvent[] = [];
  readonly #output: { index: number; item: OutputItem }[] = [];
  #next = 0;
  #number = 0;
  #usage: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  /** Why the last round ended. */
  #finish = "stop";
  #response: ResponseObject;
  failure: AgentFailure | undefined;

  constructor(options: AgentReplyOptions) {
    this.#options = options;
    this.#response = this.#responseNow("in_progress");
  }

  /** As far as it has come. */
  get response(): ResponseObject {
    return this.#response;
  }

  get ended(): boolean {
    return this.#response.status !== "in_progress";
  }

  push(event: TaskEvent, out: ResponseEvent[]): void {
    if (this.ended) return;
    this.#needsPerson.push(event);
    if (event.task_id !== this.#options.taskId) return;
    this.#out = out;
    switch (event.type) {
      case "task.created":
        this.#put({ type: "response.created", response: this.#response });
        this.keepAlive(out);
        break;
      case "task.output_item.added":
        this.#opened(event);
        break;
      case "task.reasoning_summary_item.added":
        this.#thoughts.get(event.item_id)?.say(event.summary_index, event.item.text);
        break;
      case "task.reasoning_summary_text.delta":
        this.#thoughts.get(event.item_id)?.say(event.summary_index, event.delta);
        break;
      case "task.reasoning_summary_item.done":
        this.#thoughts.get(event.item_id)?.closePart(event.summary_index, event.item.text);
        break;
      case "task.reasoning_text.delta":
        this.#thoughts.get(event.item_id)?.say(event.content_index, event.delta);
        break;
      case "task.reasoning_text.done":
        this.#thoughts.get(event.item_id)?.closePart(event.content_index, event.text);
        break;
      // Results have texts too, which are not shown.
      case "task.text.added":
        this.#messages.get(event.item_id)?.say(event.block_index, event.item.text);
        break;
      case "task.text.delta":
        this.#messages.get(event.item_id)?.say(event.block_index, event.delta);
        break;
      case "task.text.done":
        this.#messages.get(event.item_id)?.closePart(event.block_index, event.item.text);
        break;
      case "task.image.done":
      case "task.audio.done":
      case "task.file.done":
        this.#messages.get(event.item_id)?.closePart(event.block_index, this.#linkTo(event.item));
        break;
      case "task.output_item.done":
        this.#closed(event);
        break;
      case "task.output_item.retracted":
        this.#retracted(event.item_id);
        break;
      case "task.usage.updated":
        this.#usage = event.tree_usage ?? event.usage;
        break;
      case "task.round.done":
        this.#finish = event.finish_reason;
        break;
      case "task.completed":
        this.#end(cuts[this.#finish] === undefined ? "completed" : "incomplete");
        break;
      case "task.failed":
        this.#failed({ code: event.error.code, message: event.error.message });
        break;
      case "task.canceled":
        this.#failed({
          code: "task_canceled",
          message: event.reason ?? `the task was cancelled by ${event.by}`,
        });
        break;
      case "task.expired":
        this.#failed({ code: "task_expired", message: event.reason });
        break;
      default:
    }
  }

  /** Nothing more is known: a reply ends where a person is needed, and its task waits. */
  pause(out: ResponseEvent[]): void {
    this.#out = out;
    if (!this.ended && this.#needsPerson.isSo) this.#failed(this.#approvalRequired());
  }

  /** An event that says nothing: to Codex a comment is no sign of life. */
  keepAlive(out: ResponseEvent[]): void {
    this.#out = out;
    if (!this.ended) this.#put({ type: "response.in_progress", response: this.#response });
  }

  #opened({ item: { id, type } }: EventOf<"task.output_item.added">): void {
    const status = "in_progress";
    if (this.#options.retracted.has(id)) return;
    if (type === "message") {
      const item = { type, id, status, role: "assistant", content: [] } as const;
      this.#messages.set(
        id,
        new SaidItem(this.#next, { ...item, content: [] }, messageText, this.#put),
      );
    } else if (type === "reasoning") {
      const form = this.#options.reasoning === "text" ? rawReasoning : summary;
      this.#thoughts.set(
        id,
        new SaidItem(this.#next, { type, id, status, summary: [] }, form, this.#put),
      );
    } else return;
    this.#next += 1;
  }

  /** A model that makes a picture has no text for it. */
  #linkTo(block: Exclude<Block, { type: "text" } | { type: "data" }>): string {
    const link = (name: string, url: string): string =>
      `[${name}](${url.startsWith("/") ? this.#options.origin : ""}${url})`;
    switch (block.type) {
      case "image":
        return `!${link("image", block.image_url.url)}`;
      case "audio":
        return link("audio", block.audio_url.url);
      default:
        return link(block.filename ?? "file", block.file_url.url);
    }
  }

  #closed({ item: { id, status } }: EventOf<"task.output_item.done">): void {
    const said = this.#messages.get(id) ?? this.#thoughts.get(id);
    if (said === undefined) return;
    const item = said.close(status === "incomplete" ? "incomplete" : "completed");
    this.#output.push({ index: said.index, item });
    this.#response = this.#responseNow("in_progress");
  }

  /** What was sent cannot be called back: it is closed as what it is, and the whole does not have it. */
  #retracted(id: string): void {
    const said = this.#messages.get(id) ?? this.#thoughts.get(id);
    if (said === undefined) return;
    this.#messages.delete(id);
    this.#thoughts.delete(id);
    const at = this.#output.findIndex(({ index }) => index === said.index);
    if (at < 0) said.close("incomplete");
    else this.#output.splice(at, 1);
    this.#response = this.#responseNow("in_progress");
  }

  #approvalRequired(): AgentFailure {
    const { origin, taskId } = this.#options;
    const task = `${origin}/api/tasks/${encodeURIComponent(taskId)}`;
    const approvals = this.#needsPerson.approvalIds.map((id) => `${origin}/api/approvals/${id}`);
    return {
      code: "approval_required",
      message: `the agent needs a person: look at ${task}, decide with POST ${approvals.join(", ")}, then send the same request again`,
      type: "invalid_request_error",
      task,
      approvals,
    };
  }

  #failed(failure: AgentFailure): void {
    this.failure = failure;
    this.#end("failed");
  }

  #end(status: "completed" | "incomplete" | "failed"): void {
    this.#response = this.#responseNow(status);
    this.#put({ type: `response.${status}`, response: this.#response });
  }

  #responseNow(status: ResponseStatus): ResponseObject {
    const { responseId, createdAt, model, echo, taskId } = this.#options;
    return {
      ...echo,
      id: responseId,
      object: "response",
      created_at: createdAt,
      status,
      error: this.#toldFailure(),
      incomplete_details: (status === "incomplete" && cuts[this.#finish]) || null,
      model,
      output: this.#output.map(({ item }) => item),
      usage: status === "in_progress" ? null : responseUsage(this.#usage),
      metadata: { ...(echo["metadata"] as JsonObject), deltawire_task: taskId },
    };
  }

  /** `invalid_prompt` is the word with which Codex stops at once and shows what it was told. */
  #toldFailure(): AgentFailure | null {
    const { failure } = this;
    if (failure?.code !== "approval_required" || !this.#options.codex) return failure ?? null;
    return { ...failure, code: "invalid_prompt" };
  }

  readonly #put: Put = (event: Unnumbered): void => {
    this.#out.push({ ...event, sequence_number: this.#number });
    this.#number += 1;
  };
}

/** The last words are not all that there was to say. */
const cuts: Readonly<Record<string, ResponseObject["incomplete_details"]>> = {
  length: { reason: "max_output_tokens" },
  content_filter: { reason: "content_filter" },
};

function responseUsage(usage: Usage): ResponseUsage {
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
