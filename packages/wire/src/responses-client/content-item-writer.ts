import { assertNever } from "../error.ts";
import { TextAccumulator } from "../text-accumulator.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type {
  MessagePhase,
  ResponseItemStatus,
  ResponseOutputMessage,
  ResponseOutputContent,
  ResponseReasoningItem,
  ResponseEvent,
} from "../shapes/responses-reply.ts";
import { toResponseLogprob } from "../mapping/logprobs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import type { ResponseOutputWriter } from "./output-writer.ts";

type OpenItem =
  | {
      kind: "message";
      index: number;
      item: ResponseOutputMessage;
      part: ResponseOutputContent | undefined;
      text: TextAccumulator;
    }
  | { kind: "reasoning"; index: number; id: string; text: TextAccumulator };
type OpenMessageItem = OpenItem & { kind: "message" };
type OpenReasoningItem = OpenItem & { kind: "reasoning" };

export interface ContentItemWriterOptions {
  output: ResponseOutputWriter;
  newId: (prefix: string) => string;
  /** Whether reasoning is sent as summary events or as raw text. */
  reasoningForm: "summary" | "raw";
  /** Returns the `encrypted_content` of the reasoning item that is being closed, with this text; undefined for none. */
  sealReasoning: (text: string) => string | undefined;
  budget: ReplyBudget;
}

/** Writes messages and reasoning. Each uninterrupted run of either is one item (decision 10). */
export class ContentItemWriter {
  readonly #options: ContentItemWriterOptions;
  readonly #output: ResponseOutputWriter;
  #openItem: OpenItem | undefined;
  #hasOpenedReasoning = false;
  /** Blank text before the first reasoning; prepended to the text that follows. */
  #leadingBlanks = "";
  /** Annotations that were not emitted yet: they may arrive before their text. */
  #annotations: JsonObject[] = [];

  constructor(options: ContentItemWriterOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  pushText(added: string, chatLogprobs: readonly JsonValue[], out: ResponseEvent[]): void {
    const text = this.#leadingBlanks + added;
    const mayPrecedeReasoning = this.#openItem?.kind !== "message" && !this.#hasOpenedReasoning;
    this.#leadingBlanks = mayPrecedeReasoning && text.trim() === "" ? text : "";
    if (this.#leadingBlanks !== "") return;
    const openItem = this.#getOrOpenMessage(out);
    if (openItem.part?.type !== "output_text")
      this.#openPart(
        openItem,
        { type: "output_text", text: "", annotations: [], logprobs: [] },
        out,
      );
    const part = openItem.part as ResponseOutputContent & { type: "output_text" };
    openItem.text.append(text);
    const logprobs = chatLogprobs.length === 0 ? chatLogprobs : chatLogprobs.map(toResponseLogprob);
    for (const logprob of logprobs) {
      this.#options.budget.addValue(logprob);
      part.logprobs.push(logprob);
    }
    out.push({
      type: "response.output_text.delta",
      sequence_number: this.#output.nextSequenceNumber(),
      item_id: openItem.item.id,
      output_index: openItem.index,
      content_index: openItem.item.content.length - 1,
      delta: text,
      logprobs: logprobs as JsonValue[],
    });
    if (this.#annotations.length > 0) this.#emitAnnotations(out);
  }

  pushRefusal(text: string, out: ResponseEvent[]): void {
    const openItem = this.#getOrOpenMessage(out);
    if (openItem.part?.type !== "refusal")
      this.#openPart(openItem, { type: "refusal", refusal: "" }, out);
    openItem.text.append(text);
    out.push({ type: "response.refusal.delta", ...this.#nextEventFields(openItem), delta: text });
  }

  pushAudio(data: string, transcript: string, out: ResponseEvent[]): void {
    const openItem = this.#getOrOpenMessage(out);
    if (openItem.part?.type !== "output_audio")
      this.#openPart(openItem, { type: "output_audio", data: "", transcript: "" }, out);
    const part = openItem.part as ResponseOutputContent & { type: "output_audio" };
    part.data += data;
    part.transcript += transcript;
    const pushDelta = (
      type: "response.audio.transcript.delta" | "response.audio.delta",
      delta: string,
    ) => out.push({ type, ...this.#output.nextSequenceField(), delta });
    if (transcript !== "") pushDelta("response.audio.transcript.delta", transcript);
    if (data !== "") pushDelta("response.audio.delta", data);
  }

  /**
   * Writes a base64 image as a call of the hosted image tool, the only form of images in Responses. Other URLs are written
   * as Markdown.
   */
  pushImage(url: string, out: ResponseEvent[]): void {
    const { format, result } = parseBase64Image(url) ?? {};
    if (format === undefined || result === undefined)
      return this.pushText(`![image](${url})`, [], out);
    const id = this.#options.newId("ig");
    const item = { type: "image_generation_call" as const, id, output_format: format };
    const index = this.#output.addItem({ ...item, status: "in_progress", result: null }, out);
    this.#output.finishItem(index, { ...item, status: "completed", result }, out);
  }

  /** Writes a search that the upstream ran. Items must not be open. */
  pushWebSearch(query: string, out: ResponseEvent[]): void {
    const id = this.#options.newId("ws");
    const action = { type: "search" as const, query };
    const item = { type: "web_search_call" as const, id, action };
    const index = this.#output.addItem({ ...item, status: "in_progress" }, out);
    this.#output.finishItem(index, { ...item, status: "completed" }, out);
  }

  pushAnnotation(annotation: JsonObject, out: ResponseEvent[]): void {
    this.#annotations.push(toResponseAnnotation(annotation));
    this.#emitAnnotations(out);
  }

  pushReasoning(text: string, out: ResponseEvent[]): void {
    const openItem =
      this.#openItem?.kind === "reasoning" ? this.#openItem : this.#openReasoning(out);
    const isRawText = this.#options.reasoningForm === "raw";
    if (openItem.text.isEmpty) this.#openReasoningPart(openItem, isRawText, out);
    openItem.text.append(text);
    const sequence_number = this.#output.nextSequenceNumber();
    if (isRawText)
      out.push({
        type: "response.reasoning_text.delta",
        sequence_number,
        item_id: openItem.id,
        output_index: openItem.index,
        content_index: 0,
        delta: text,
      });
    else
      out.push({
        type: "response.reasoning_summary_text.delta",
        sequence_number,
        item_id: openItem.id,
        output_index: openItem.index,
        summary_index: 0,
        delta: text,
      });
  }

  #openReasoningPart(openItem: OpenReasoningItem, isRawText: boolean, out: ResponseEvent[]): void {
    const position = {
      ...this.#output.nextSequenceField(),
      item_id: openItem.id,
      output_index: openItem.index,
    };
    if (isRawText) {
      const part = { type: "reasoning_text" as const, text: "" };
      out.push({ type: "response.content_part.added", ...position, content_index: 0, part });
    } else {
      const part = { type: "summary_text" as const, text: "" };
      out.push({
        type: "response.reasoning_summary_part.added",
        ...position,
        summary_index: 0,
        part,
      });
    }
  }

  get hasOpenMessage(): boolean {
    return this.#openItem?.kind === "message";
  }

  /** Opens a reasoning item without text for the result of `sealReasoning`, unless a reasoning item is already open. */
  openEmptyReasoning(out: ResponseEvent[]): void {
    if (this.#openItem?.kind !== "reasoning") this.#openReasoning(out);
  }

  /** Closes the open item and emits buffered blank text. `phase`: the phase of a message; undefined if it is unknown. */
  close(status: ResponseItemStatus, phase: MessagePhase | undefined, out: ResponseEvent[]): void {
    if (this.#leadingBlanks !== "") {
      // Makes `pushText` emit the blanks instead of waiting for reasoning.
      this.#hasOpenedReasoning = true;
      this.pushText("", [], out);
    }
    this.#closeItem(status, phase, out);
  }

  #closeItem(
    status: ResponseItemStatus,
    phase: MessagePhase | undefined,
    out: ResponseEvent[],
  ): void {
    const openItem = this.#openItem;
    this.#openItem = undefined;
    if (openItem?.kind === "message") {
      this.#closePart(openItem, out);
      const item = { ...openItem.item, status, ...(phase === undefined ? {} : { phase }) };
      this.#output.finishItem(openItem.index, item, out);
    } else if (openItem?.kind === "reasoning") this.#closeReasoning(openItem, status, out);
  }

  #getOrOpenMessage(out: ResponseEvent[]): OpenMessageItem {
    if (this.#openItem?.kind === "message") return this.#openItem;
    this.#closeItem("completed", undefined, out);
    const id = this.#options.newId("msg");
    const item: ResponseOutputMessage = {
      type: "message",
      id,
      status: "in_progress",
      role: "assistant",
      content: [],
    };
    const index = this.#output.addItem({ ...item, content: [] }, out);
    const openItem: OpenMessageItem = {
      kind: "message",
      index,
      item,
      part: undefined,
      text: new TextAccumulator(),
    };
    this.#openItem = openItem;
    return openItem;
  }

  #openPart(openItem: OpenMessageItem, part: ResponseOutputContent, out: ResponseEvent[]): void {
    this.#closePart(openItem, out);
    openItem.part = part;
    openItem.item.content.push(part);
    const empty =
      part.type === "output_text" ? { ...part, annotations: [], logprobs: [] } : { ...part };
    out.push({
      type: "response.content_part.added",
      ...this.#nextEventFields(openItem),
      part: empty,
    });
  }

  #closePart(openItem: OpenMessageItem, out: ResponseEvent[]): void {
    const { part } = openItem;
    if (part === undefined) return;
    switch (part.type) {
      case "output_text": {
        part.text = openItem.text.toString();
        const { text, logprobs } = part;
        out.push({
          type: "response.output_text.done",
          ...this.#nextEventFields(openItem),
          text,
          logprobs,
        });
        break;
      }
      case "refusal":
        part.refusal = openItem.text.toString();
        out.push({
          type: "response.refusal.done",
          ...this.#nextEventFields(openItem),
          refusal: part.refusal,
        });
        break;
      case "output_audio":
        out.push({ type: "response.audio.transcript.done", ...this.#output.nextSequenceField() });
        out.push({ type: "response.audio.done", ...this.#output.nextSequenceField() });
        break;
      default:
        assertNever(part);
    }
    out.push({ type: "response.content_part.done", ...this.#nextEventFields(openItem), part });
    openItem.part = undefined;
    openItem.text.clear();
  }

  #emitAnnotations(out: ResponseEvent[]): void {
    const openItem = this.#openItem;
    if (openItem?.kind !== "message" || openItem.part?.type !== "output_text") return;
    for (const annotation of this.#annotations) {
      const annotation_index = openItem.part.annotations.push(annotation) - 1;
      out.push({
        type: "response.output_text.annotation.added",
        ...this.#nextEventFields(openItem),
        annotation_index,
        annotation,
      });
    }
    this.#annotations = [];
  }

  #openReasoning(out: ResponseEvent[]): OpenReasoningItem {
    this.#hasOpenedReasoning = true;
    this.#closeItem("completed", undefined, out);
    const id = this.#options.newId("rs");
    const item: ResponseReasoningItem = {
      type: "reasoning",
      id,
      status: "in_progress",
      summary: [],
    };
    const openItem: OpenReasoningItem = {
      kind: "reasoning",
      index: this.#output.addItem(item, out),
      id,
      text: new TextAccumulator(),
    };
    this.#openItem = openItem;
    return openItem;
  }

  #closeReasoning(
    openItem: OpenReasoningItem,
    status: ResponseItemStatus,
    out: ResponseEvent[],
  ): void {
    const position = { item_id: openItem.id, output_index: openItem.index };
    const text = openItem.text.toString();
    const item: ResponseReasoningItem = { type: "reasoning", id: openItem.id, status, summary: [] };
    if (text !== "" && this.#options.reasoningForm === "raw") {
      const partPosition = { ...position, content_index: 0 };
      const part = { type: "reasoning_text" as const, text };
      out.push({
        type: "response.reasoning_text.done",
        ...this.#output.nextSequenceField(),
        ...partPosition,
        text,
      });
      out.push({
        type: "response.content_part.done",
        ...this.#output.nextSequenceField(),
        ...partPosition,
        part,
      });
      item.content = [part];
    } else if (text !== "") {
      const partPosition = { ...position, summary_index: 0 };
      const part = { type: "summary_text" as const, text };
      out.push({
        type: "response.reasoning_summary_text.done",
        ...this.#output.nextSequenceField(),
        ...partPosition,
        text,
      });
      out.push({
        type: "response.reasoning_summary_part.done",
        ...this.#output.nextSequenceField(),
        ...partPosition,
        part,
      });
      item.summary = [part];
    }
    const sealed = this.#options.sealReasoning(text);
    if (sealed !== undefined) item.encrypted_content = sealed;
    this.#output.finishItem(openItem.index, item, out);
  }

  #nextEventFields(openItem: OpenMessageItem) {
    return {
      sequence_number: this.#output.nextSequenceNumber(),
      item_id: openItem.item.id,
      output_index: openItem.index,
      content_index: openItem.item.content.length - 1,
    };
  }
}

/** How many characters of a data URL are searched for the comma that ends its header. */
const maxImageHeaderLength = 256;

function parseBase64Image(url: string): { format: string; result: string } | undefined {
  const comma = url.slice(0, maxImageHeaderLength).indexOf(",");
  if (comma === -1) return undefined;
  const [, format] = /^data:image\/(\w+)(?!\w)[^,]*;base64$/.exec(url.slice(0, comma)) ?? [];
  return format === undefined ? undefined : { format, result: url.slice(comma + 1) };
}

/** Flattens a Chat annotation, for example `{type, url_citation: {url, title, …}}`, and adds missing positions. */
function toResponseAnnotation(annotation: JsonObject): JsonObject {
  const citation = annotation["url_citation"];
  if (isObject(citation)) return { ...emptyCitation, ...citation };
  return annotation["type"] === "url_citation" ? { ...emptyCitation, ...annotation } : annotation;
}

const emptyCitation = { type: "url_citation", url: "", title: "", start_index: 0, end_index: 0 };
