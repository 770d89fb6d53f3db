import type { MessageWriter, ReasoningWriter, TaskWriter, ToolCallWriter } from "@deltawire/tasks";
import type { JsonObject, ResponseOutputItem, ResponseEvent, ResponseUsage } from "@deltawire/wire";
import type { Agent } from "../agent.ts";
import { clampFraction, safeToString } from "../event-text.ts";
import { parseReplyFailure } from "./stream-model.ts";
import { GeneratedMedia } from "./generated-media.ts";

export interface RoundWriterOptions {
  reasoning: Agent["reasoning"];
  newCallId: () => string;
  /** True if the model may cite this reference number. */
  isKnownReference: (reference: number) => boolean;
  /** Redacts and truncates text from the model for an event field. */
  toEventText: (text: string) => string;
  now: () => number;
}

export type RoundEnd =
  | { status: "done"; finishReason: string; usage: ResponseUsage | null }
  | { status: "failed"; code: string; message: string; usage: ResponseUsage | null };

type OpenItem =
  /** `startedAt` is the time of the first text; undefined before that. */
  | { type: "reasoning"; writer: ReasoningWriter; startedAt: number | undefined }
  | { type: "message"; writer: MessageWriter; isTextOpen: boolean; hasText: boolean }
  | { type: "call"; writer: ToolCallWriter; arguments: string };

/** Writes the events of one model round to the task. Synchronous; the caller pushes each batch from the connection. */
export class RoundWriter {
  readonly #task: TaskWriter;
  readonly #options: RoundWriterOptions;
  readonly #openItems = new Map<string, OpenItem>();
  /** Ids of completed items. */
  readonly #doneIds = new Set<string>();
  #hasToolCalls = false;
  readonly media: GeneratedMedia;
  /** True once the model has accepted the request. */
  hasStarted = false;
  end: RoundEnd | undefined;

  constructor(task: TaskWriter, options: RoundWriterOptions) {
    this.#task = task;
    this.#options = options;
    this.media = new GeneratedMedia(task);
  }

  push(batch: readonly (ResponseEvent | JsonObject)[]): void {
    this.hasStarted ||= batch.length > 0;
    for (const [index, event] of batch.entries()) {
      if (this.end !== undefined) return;
      if (event["type"] === "error") this.#fail(event);
      else if (event["type"] === partialImageEvent) this.#addPartialImage(event);
      else if (event["type"] === progressEvent) this.#writeProgress(event);
      else this.#handleEvent(event as ResponseEvent, batch, index);
    }
  }

  /** Closes open items as incomplete when the round ends early: the run was stopped, or the last attempt failed. */
  close(): void {
    for (const id of this.#openItems.keys()) this.#closeIncomplete(id);
    this.media.close();
  }

  #handleEvent(event: ResponseEvent, batch: readonly unknown[], index: number): void {
    switch (event.type) {
      case "response.output_item.added":
        if (!this.#openItems.has(event.item.id)) this.#openItem(event.item);
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#appendReasoning(event.item_id, event.delta);
        break;
      case "response.reasoning_summary_part.done":
        this.#findReasoning(event.item_id)?.writer.summaryDone();
        break;
      case "response.output_text.delta":
        this.#appendText(event.item_id, event.delta, findCompleteText(event, batch, index));
        break;
      case "response.refusal.delta":
        this.#appendText(event.item_id, event.delta, undefined);
        break;
      case "response.output_text.done":
      case "response.refusal.done":
        this.#endPart(event.item_id);
        break;
      case "response.function_call_arguments.delta": {
        const call = this.#openItems.get(event.item_id);
        if (call?.type !== "call") break;
        call.arguments += event.delta;
        call.writer.argumentsDelta(event.delta);
        break;
      }
      case "response.output_item.done":
        this.#closeItem(event.item);
        break;
      case "response.completed":
        this.#finish(this.#hasToolCalls ? "tool_calls" : "stop", event.response.usage);
        break;
      case "response.incomplete": {
        const reason = event.response.incomplete_details?.reason;
        this.#finish(reason === "content_filter" ? reason : "length", event.response.usage);
        break;
      }
      case "response.failed":
        this.#fail(event.response as unknown as JsonObject);
        break;
      default:
    }
  }

  /** Accepts a failed response or an `error` event. */
  #fail(event: JsonObject): void {
    const { usage } = event;
    this.end = {
      status: "failed",
      ...parseReplyFailure(event),
      usage: typeof usage === "object" ? (usage as ResponseUsage | null) : null,
    };
  }

  #openItem(item: ResponseOutputItem): void {
    switch (item.type) {
      case "reasoning":
        this.#openItems.set(item.id, {
          type: "reasoning",
          writer: this.#task.reasoning(),
          startedAt: undefined,
        });
        break;
      case "message":
        this.#openItems.set(item.id, {
          type: "message",
          writer: this.#task.message({ isKnownReference: this.#options.isKnownReference }),
          isTextOpen: false,
          hasText: false,
        });
        break;
      case "function_call": {
        this.#hasToolCalls = true;
        const writer = this.#task.toolCall(this.#options.newCallId(), item.name);
        this.#openItems.set(item.id, { type: "call", writer, arguments: "" });
        break;
      }
      default:
    }
  }

  #appendReasoning(itemId: string, delta: string): void {
    const reasoning = this.#findReasoning(itemId);
    if (reasoning !== undefined) this.#writeReasoning(reasoning, delta);
  }

  #writeReasoning(
    reasoning: Extract<OpenItem, { type: "reasoning" }>,
    text: string | undefined,
  ): void {
    if (text === undefined) return;
    reasoning.startedAt ??= this.#options.now();
    if (this.#options.reasoning === "raw") reasoning.writer.rawDelta(text);
    else reasoning.writer.summaryDelta(text);
  }

  #findReasoning(itemId: string): Extract<OpenItem, { type: "reasoning" }> | undefined {
    const openItem = this.#openItems.get(itemId);
    return openItem?.type === "reasoning" ? openItem : undefined;
  }

  #appendText(itemId: string, delta: string, completeText: string | undefined): void {
    const message = this.#openItems.get(itemId);
    if (message?.type !== "message") return;
    message.hasText = true;
    if (!message.isTextOpen && completeText === delta) return message.writer.text(completeText);
    message.isTextOpen = true;
    message.writer.delta(delta);
  }

  #endPart(itemId: string): void {
    const message = this.#openItems.get(itemId);
    if (message?.type !== "message" || !message.isTextOpen) return;
    message.isTextOpen = false;
    message.writer.textDone();
  }

  #addPartialImage({
    item_id: id,
    partial_image_b64: base64,
    output_format: format,
  }: JsonObject): void {
    if (typeof id !== "string" || typeof base64 !== "string" || this.#doneIds.has(id)) return;
    this.media.addPartialImage(id, base64, toImageType(format));
  }

  #writeProgress({ message, fraction }: JsonObject): void {
    const { round } = this.#task.state;
    this.#task.roundProgress(
      round,
      this.#options.toEventText(safeToString(message ?? "")),
      clampFraction(fraction),
    );
  }

  /** Adds a generated image or audio, or abandons it if the item has no result. */
  #addMedia(item: JsonObject & { id: string }): void {
    const { id, result, output_format, media_type, transcript } = item;
    this.#doneIds.add(id);
    if (typeof result !== "string" || result === "") this.media.abandon(id);
    else if (item["type"] === audioCallType)
      this.media.addAudio(
        id,
        result,
        typeof media_type === "string" && media_type !== "" ? media_type : "audio/mpeg",
        typeof transcript === "string" ? transcript : undefined,
      );
    else this.media.addImage(id, result, toImageType(output_format));
  }

  #closeItem(item: ResponseOutputItem): void {
    if (item.type === "image_generation_call" || (item.type as string) === audioCallType) {
      if (!this.#doneIds.has(item.id))
        this.#addMedia(item as unknown as JsonObject & { id: string });
      return;
    }
    // Some servers send no `output_item.added` event.
    if (!this.#openItems.has(item.id) && !this.#doneIds.has(item.id)) this.#openItem(item);
    const openItem = this.#openItems.get(item.id);
    if (openItem === undefined) return;
    this.#openItems.delete(item.id);
    this.#doneIds.add(item.id);
    const privateFields = { private: { model_item: item as unknown as JsonObject } };
    const incompleteStatus = item.status === "incomplete" ? { status: "incomplete" as const } : {};
    switch (openItem.type) {
      case "reasoning": {
        const duration = this.#measureDuration(openItem);
        if (openItem.startedAt === undefined)
          for (const { text } of getItemParts(item, "summary"))
            this.#writeReasoning(openItem, text);
        openItem.writer.done({ ...incompleteStatus, ...privateFields, ...duration });
        break;
      }
      case "message":
        if (!openItem.hasText)
          for (const { text, refusal } of getItemParts(item, "content"))
            if ((text ?? refusal ?? "") !== "") openItem.writer.text(text ?? refusal ?? "");
        openItem.writer.done(incompleteStatus);
        break;
      case "call": {
        const finalArguments = item.type === "function_call" ? item.arguments : openItem.arguments;
        const completeArguments = finalArguments === "" ? "{}" : finalArguments;
        // Streamed deltas cannot be changed: if the final arguments differ from them, the call is incomplete.
        if (completeArguments.startsWith(openItem.arguments))
          openItem.writer.done(completeArguments, { ...incompleteStatus, ...privateFields });
        else openItem.writer.done(openItem.arguments, { status: "incomplete", ...privateFields });
        break;
      }
      default:
    }
  }

  #finish(finishReason: string, usage: ResponseUsage | null): void {
    for (const id of this.#openItems.keys()) this.#closeIncomplete(id);
    this.media.abandon();
    this.end = { status: "done", finishReason, usage };
  }

  #closeIncomplete(id: string): void {
    const openItem = this.#openItems.get(id);
    this.#openItems.delete(id);
    const incompleteStatus = { status: "incomplete" as const };
    switch (openItem?.type) {
      case "reasoning":
        return openItem.writer.done({ ...incompleteStatus, ...this.#measureDuration(openItem) });
      case "message":
        return openItem.writer.done(incompleteStatus);
      case "call":
        return openItem.writer.done(openItem.arguments, incompleteStatus);
      default:
    }
  }

  /** Returns the duration of the reasoning, or `{}` if it was not streamed. */
  #measureDuration({ startedAt }: Extract<OpenItem, { type: "reasoning" }>): {
    durationMs?: number;
  } {
    return startedAt === undefined
      ? {}
      : { durationMs: Math.max(0, this.#options.now() - startedAt) };
  }
}

/** Type of the event with a preview of an image. Not all servers send it. */
const partialImageEvent = "response.image_generation_call.partial_image";
/** Extensions of the Responses wire for media models: generated audio, analogous to generated images, and progress. */
const audioCallType = "audio_generation_call";
const progressEvent = "deltawire.progress";

function toImageType(format: unknown): string {
  return `image/${typeof format === "string" && format !== "" ? format : "png"}`;
}

function getItemParts(
  item: ResponseOutputItem,
  name: "summary" | "content",
): { text?: string; refusal?: string }[] {
  const parts = (item as unknown as JsonObject)[name];
  return Array.isArray(parts) ? (parts as { text?: string; refusal?: string }[]) : [];
}

/** Returns the complete text of a part whose `done` event is next in the batch, so that the text is written as one event. */
function findCompleteText(
  { item_id, content_index }: Extract<ResponseEvent, { type: "response.output_text.delta" }>,
  batch: readonly unknown[],
  index: number,
): string | undefined {
  const next = batch[index + 1] as Partial<
    Extract<ResponseEvent, { type: "response.output_text.done" }>
  >;
  if (next?.type !== "response.output_text.done") return undefined;
  return next.item_id === item_id && next.content_index === content_index ? next.text : undefined;
}
