import type { MessageWriter, ReasoningWriter, TaskWriter, ToolCallWriter } from "@deltawire/tasks";
import type { JsonObject, OutputItem, ResponseEvent, ResponseUsage } from "@deltawire/wire";
import type { Agent } from "../agent.ts";
import { partOfOne, textOf } from "../event-text.ts";
import { replyFailure } from "./follow-model.ts";
import { RoundMedia } from "./round-media.ts";

export interface RoundOptions {
  reasoning: Agent["reasoning"];
  newCallId: () => string;
  /** Whether a number is one that the model may cite. */
  known: (reference: number) => boolean;
  /** Words of others for a field of an event. */
  told: (text: string) => string;
  now: () => number;
}

export type RoundEnd =
  | { is: "done"; finishReason: string; usage: ResponseUsage | null }
  | { is: "failed"; code: string; message: string; usage: ResponseUsage | null };

type Open =
  /** `since` is when its first words came; undefined: none have. */
  | { type: "reasoning"; writer: ReasoningWriter; since: number | undefined }
  | { type: "message"; writer: MessageWriter; open: boolean; said: boolean }
  | { type: "call"; writer: ToolCallWriter; arguments: string };

/** Writes what a model says in one round into its task. Synchronous: whoever holds the connection pushes batches. */
export class ModelRound {
  readonly #task: TaskWriter;
  readonly #options: RoundOptions;
  readonly #open = new Map<string, Open>();
  /** The ids of items that are done. */
  readonly #told = new Set<string>();
  #called = false;
  readonly media: RoundMedia;
  /** Whether the model has taken the request. */
  hasBegun = false;
  end: RoundEnd | undefined;

  constructor(task: TaskWriter, options: RoundOptions) {
    this.#task = task;
    this.#options = options;
    this.media = new RoundMedia(task);
  }

  push(batch: readonly (ResponseEvent | JsonObject)[]): void {
    this.hasBegun ||= batch.length > 0;
    for (const [at, event] of batch.entries()) {
      if (this.end !== undefined) return;
      if (event["type"] === "error") this.#failed(event);
      else if (event["type"] === partialImage) this.#drew(event);
      else if (event["type"] === progress) this.#cameOn(event);
      else this.#take(event as ResponseEvent, batch, at);
    }
  }

  /** Closes what is open as it is: the run was stopped, and what was said is kept. */
  close(): void {
    for (const id of this.#open.keys()) this.#closeIncomplete(id);
    this.media.close();
  }

  #take(event: ResponseEvent, batch: readonly unknown[], at: number): void {
    switch (event.type) {
      case "response.output_item.added":
        if (!this.#open.has(event.item.id)) this.#opened(event.item);
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#reasoned(event.item_id, event.delta);
        break;
      case "response.reasoning_summary_part.done":
        this.#reasoningOf(event.item_id)?.writer.summaryDone();
        break;
      case "response.output_text.delta":
        this.#said(event.item_id, event.delta, wholeText(event, batch, at));
        break;
      case "response.refusal.delta":
        this.#said(event.item_id, event.delta, undefined);
        break;
      case "response.output_text.done":
      case "response.refusal.done":
        this.#partEnded(event.item_id);
        break;
      case "response.function_call_arguments.delta": {
        const call = this.#open.get(event.item_id);
        if (call?.type !== "call") break;
        call.arguments += event.delta;
        call.writer.argumentsDelta(event.delta);
        break;
      }
      case "response.output_item.done":
        this.#closed(event.item);
        break;
      case "response.completed":
        this.#ended(this.#called ? "tool_calls" : "stop", event.response.usage);
        break;
      case "response.incomplete": {
        const reason = event.response.incomplete_details?.reason;
        this.#ended(reason === "content_filter" ? reason : "length", event.response.usage);
        break;
      }
      case "response.failed":
        this.#failed(event.response as unknown as JsonObject);
        break;
      default:
    }
  }

  /** The error of a response, or an event that is one. */
  #failed(event: JsonObject): void {
    const { usage } = event;
    this.end = {
      is: "failed",
      ...replyFailure(event),
      usage: typeof usage === "object" ? (usage as ResponseUsage | null) : null,
    };
  }

  #opened(item: OutputItem): void {
    switch (item.type) {
      case "reasoning":
        this.#open.set(item.id, {
          type: "reasoning",
          writer: this.#task.reasoning(),
          since: undefined,
        });
        break;
      case "message":
        this.#open.set(item.id, {
          type: "message",
          writer: this.#task.message({ known: this.#options.known }),
          open: false,
          said: false,
        });
        break;
      case "function_call": {
        this.#called = true;
        const writer = this.#task.toolCall(this.#options.newCallId(), item.name);
        this.#open.set(item.id, { type: "call", writer, arguments: "" });
        break;
      }
      default:
    }
  }

  #reasoned(itemId: string, delta: string): void {
    const reasoning = this.#reasoningOf(itemId);
    if (reasoning !== undefined) this.#think(reasoning, delta);
  }

  #think(reasoning: Extract<Open, { type: "reasoning" }>, text: string | undefined): void {
    if (text === undefined) return;
    reasoning.since ??= this.#options.now();
    if (this.#options.reasoning === "raw") reasoning.writer.rawDelta(text);
    else reasoning.writer.summaryDelta(text);
  }

  #reasoningOf(itemId: string): Extract<Open, { type: "reasoning" }> | undefined {
    const open = this.#open.get(itemId);
    return open?.type === "reasoning" ? open : undefined;
  }

  #said(itemId: string, delta: string, whole: string | undefined): void {
    const message = this.#open.get(itemId);
    if (message?.type !== "message") return;
    message.said = true;
    if (!message.open && whole === delta) return message.writer.text(whole);
    message.open = true;
    message.writer.delta(delta);
  }

  #partEnded(itemId: string): void {
    const message = this.#open.get(itemId);
    if (message?.type !== "message" || !message.open) return;
    message.open = false;
    message.writer.textDone();
  }

  #drew({ item_id: id, partial_image_b64: base64, output_format: format }: JsonObject): void {
    if (typeof id !== "string" || typeof base64 !== "string" || this.#told.has(id)) return;
    this.media.partial(id, base64, imageType(format));
  }

  #cameOn({ message, fraction }: JsonObject): void {
    const { round } = this.#task.state;
    this.#task.roundProgress(round, this.#options.told(textOf(message ?? "")), partOfOne(fraction));
  }

  /** What it made, or that it made nothing of it. */
  #made(item: JsonObject & { id: string }): void {
    const { id, result, output_format, media_type, transcript } = item;
    this.#told.add(id);
    if (typeof result !== "string" || result === "") this.media.cut(id);
    else if (item["type"] === audioCall)
      this.media.audio(
        id,
        result,
        typeof media_type === "string" && media_type !== "" ? media_type : "audio/mpeg",
        typeof transcript === "string" ? transcript : undefined,
      );
    else this.media.image(id, result, imageType(output_format));
  }

  #closed(item: OutputItem): void {
    if (item.type === "image_generation_call" || (item.type as string) === audioCall) {
      if (!this.#told.has(item.id)) this.#made(item as unknown as JsonObject & { id: string });
      return;
    }
    // A server may tell an item when it is done, and only then.
    if (!this.#open.has(item.id) && !this.#told.has(item.id)) this.#opened(item);
    const open = this.#open.get(item.id);
    if (open === undefined) return;
    this.#open.delete(item.id);
    this.#told.add(item.id);
    const kept = { private: { model_item: item as unknown as JsonObject } };
    const cut = item.status === "incomplete" ? { status: "incomplete" as const } : {};
    switch (open.type) {
      case "reasoning": {
        const took = this.#tookOf(open);
        if (open.since === undefined)
          for (const { text } of partsOf(item, "summary")) this.#think(open, text);
        open.writer.done({ ...cut, ...kept, ...took });
        break;
      }
      case "message":
        if (!open.said)
          for (const { text, refusal } of partsOf(item, "content"))
            if ((text ?? refusal ?? "") !== "") open.writer.text(text ?? refusal ?? "");
        open.writer.done(cut);
        break;
      case "call": {
        const given = item.type === "function_call" ? item.arguments : open.arguments;
        const told = given === "" ? "{}" : given;
        // What was told by deltas cannot be taken back: arguments that are others are not whole.
        if (told.startsWith(open.arguments)) open.writer.done(told, { ...cut, ...kept });
        else open.writer.done(open.arguments, { status: "incomplete", ...kept });
        break;
      }
      default:
    }
  }

  #ended(finishReason: string, usage: ResponseUsage | null): void {
    for (const id of this.#open.keys()) this.#closeIncomplete(id);
    this.media.cut();
    this.end = { is: "done", finishReason, usage };
  }

  #closeIncomplete(id: string): void {
    const open = this.#open.get(id);
    this.#open.delete(id);
    const cut = { status: "incomplete" as const };
    switch (open?.type) {
      case "reasoning":
        return open.writer.done({ ...cut, ...this.#tookOf(open) });
      case "message":
        return open.writer.done(cut);
      case "call":
        return open.writer.done(open.arguments, cut);
      default:
    }
  }

  /** How long it thought. Nobody knows that of a thought which came as a whole. */
  #tookOf({ since }: Extract<Open, { type: "reasoning" }>): { durationMs?: number } {
    return since === undefined ? {} : { durationMs: Math.max(0, this.#options.now() - since) };
  }
}

/** A picture before it is done, of a server that sends such. */
const partialImage = "response.image_generation_call.partial_image";
/** Ours, for models that make no text: a sound, as pictures are known to Responses; and how far they have come. */
const audioCall = "audio_generation_call";
const progress = "deltawire.progress";

function imageType(format: unknown): string {
  return `image/${typeof format === "string" && format !== "" ? format : "png"}`;
}

function partsOf(
  item: OutputItem,
  name: "summary" | "content",
): { text?: string; refusal?: string }[] {
  const parts = (item as unknown as JsonObject)[name];
  return Array.isArray(parts) ? (parts as { text?: string; refusal?: string }[]) : [];
}

/** The whole text of a part whose end came with its beginning: it is told in one piece. */
function wholeText(
  { item_id, content_index }: Extract<ResponseEvent, { type: "response.output_text.delta" }>,
  batch: readonly unknown[],
  at: number,
): string | undefined {
  const next = batch[at + 1] as Partial<
    Extract<ResponseEvent, { type: "response.output_text.done" }>
  >;
  if (next?.type !== "response.output_text.done") return undefined;
  return next.item_id === item_id && next.content_index === content_index ? next.text : undefined;
}
