import {
  LeakedCallExtractor,
  type LeakedCallSegment,
} from "../chat-upstream/leaked-call-extractor.ts";
import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import { pickStrongerFinish, type Finish } from "../mapping/finish-reason.ts";
import { isIncompleteFinish, resolveFinish } from "../mapping/resolve-finish.ts";
import { parseUpstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyReader, ReplyReaderOptions } from "../reply/reply-reader.ts";
import { encryptedReasoningFormat, type OpaqueReasoning } from "../mapping/reasoning.ts";
import type { RepairCode } from "../repairs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import { ToolCallAssembler } from "../tools/tool-call-assembler.ts";
import type { UpstreamResponseEvent } from "./body.ts";
import { TranslatedItems, type TranslatedItem } from "./translated-items.ts";
import {
  getEventError,
  parseTerminalFinish,
  asArray,
  asObject,
  normalizeTerminalEvent,
  type TerminalEventType,
} from "./terminal-event.ts";
import { matchTerminalItems } from "./match-terminal-items.ts";

/** Reads the events of a Responses upstream. */
export class ResponseReader implements ReplyReader<UpstreamResponseEvent> {
  /** The fields of the response object in `responseFields`, each from the latest event that had it. */
  readonly response: JsonObject = {};
  #details: JsonObject[] = [];
  usage: JsonObject | undefined;
  readonly #options: ReplyReaderOptions;
  readonly #items: TranslatedItems;
  readonly #budget: ReplyBudget;
  readonly #calls: ToolCallAssembler;
  readonly #leakedCalls: LeakedCallExtractor | undefined;
  #finish: Finish | undefined;
  #callCount = 0;
  /** The final value of `#calls.hasCalls`, which `close` resets. */
  #hasCalls = false;
  #hasIncompleteCall = false;

  constructor(options: ReplyReaderOptions) {
    this.#options = options;
    const {
      toolNames: names,
      toolSchemas: schemas,
      usedCallIds,
      repairs,
      profile,
      budget,
    } = options;
    this.#budget = budget;
    this.#items = new TranslatedItems(budget);
    const newCallId = () => options.newId("call");
    this.#calls = new ToolCallAssembler({
      choiceIndex: 0,
      repairs,
      newCallId,
      toolNames: names,
      usedCallIds,
      budget,
    });
    if (profile.leakedCalls.length > 0)
      this.#leakedCalls = new LeakedCallExtractor(profile.leakedCalls, { names, schemas });
  }

  /** How the response ended, considering its calls (decision 5); undefined until then. */
  get finish(): Finish | undefined {
    const hasCalls = this.#hasCalls || this.#calls.hasCalls;
    return (
      this.#finish &&
      resolveFinish(this.#finish, { hasCalls, hasIncompleteCall: this.#hasIncompleteCall })
    );
  }

  get hasFinished(): boolean {
    return this.#finish !== undefined;
  }

  get failure(): UpstreamFailure | undefined {
    return this.#finish?.kind === "failed" ? this.#finish : undefined;
  }

  get id(): unknown {
    return this.response["id"];
  }

  get createdAt(): unknown {
    return this.response["created_at"];
  }

  get model(): unknown {
    return this.response["model"];
  }

  get serviceTier(): unknown {
    return this.response["service_tier"];
  }

  /** Responses does not report it. */
  get stopSequence(): undefined {
    return undefined;
  }

  peekOpaqueReasoning(): OpaqueReasoning | undefined {
    return this.#details.length === 0 ? undefined : { details: this.#details };
  }

  takeOpaqueReasoning(): OpaqueReasoning | undefined {
    const opaque = this.peekOpaqueReasoning();
    this.#details = [];
    return opaque;
  }

  describeExtra(event: UpstreamResponseEvent): string {
    return event.type;
  }

  failAtEnd(failure: UpstreamFailure): void {
    this.fail(failure);
  }

  fail(failure: UpstreamFailure): void {
    this.#finish = pickStrongerFinish(this.#finish, { kind: "failed", ...failure });
  }

  /** An `error` event is not the last one: `response.failed` follows with details. */
  read(event: UpstreamResponseEvent, out: ReplyPiece[]): boolean {
    this.#readUnleaked(event, out);
    return this.#finish !== undefined && event.type !== "error";
  }

  #readUnleaked(event: UpstreamResponseEvent, out: ReplyPiece[]): void {
    if (this.#leakedCalls === undefined) return this.#read(event, out);
    const events: ReplyPiece[] = [];
    this.#read(event, events);
    const segments: LeakedCallSegment[] = [];
    for (const readerEvent of events)
      if (readerEvent.type !== "text") out.push(readerEvent);
      else {
        this.#leakedCalls.push(readerEvent.text, segments);
        this.#emitLeaked(segments.splice(0), out);
      }
  }

  /** Emits the segments: text, and calls that the upstream failed to parse and sent as text. */
  #emitLeaked(segments: readonly LeakedCallSegment[], out: ReplyPiece[]): void {
    for (const segment of segments) {
      if (segment.type === "text") {
        out.push(toTextEvent(segment.text));
        continue;
      }
      this.#addRepair("call_leaked", segment.source);
      this.#calls.pushLeakedCall(segment.call, out);
    }
  }

  #read(event: UpstreamResponseEvent, out: ReplyPiece[]): void {
    switch (event.type) {
      case "response.output_item.added":
        return this.#handleItemAdded(event, out);
      case "response.output_item.done":
        return this.#handleItemDone(
          this.#items.getByItemEvent(event),
          asObject(event["item"]),
          out,
        );
      case "response.output_text.delta":
        return this.#handleDelta(event, `text ${getContentIndex(event)}`, out, (text) => ({
          type: "text",
          text,
          logprobs: asArray(event["logprobs"]),
        }));
      case "response.output_text.done":
        return this.#emitRemaining(
          this.#items.getByDelta(event),
          `text ${getContentIndex(event)}`,
          event["text"],
          out,
          toTextEvent,
        );
      case "response.output_text.annotation.added":
        return this.#emitAnnotation(this.#items.getByDelta(event), event["annotation"], out);
      case "response.refusal.delta":
        return this.#handleDelta(event, `refusal ${getContentIndex(event)}`, out, toRefusalEvent);
      case "response.refusal.done":
        return this.#emitRemaining(
          this.#items.getByDelta(event),
          `refusal ${getContentIndex(event)}`,
          event["refusal"],
          out,
          toRefusalEvent,
        );
      case "response.reasoning_summary_text.delta":
        return this.#handleSummaryDelta(event, event["delta"], out);
      case "response.reasoning_summary_text.done":
        if (this.#items.getByDelta(event).reasoningForm === "reasoning") return;
        return this.#emitRemaining(
          this.#items.getByDelta(event),
          `summary ${getSummaryIndex(event)}`,
          event["text"],
          out,
          toReasoningEvent,
        );
      case "response.reasoning_text.delta":
        if (this.#items.getByDelta(event).reasoningForm === "summary") return;
        return this.#handleDelta(
          event,
          `reasoning ${getContentIndex(event)}`,
          out,
          toReasoningEvent,
        );
      case "response.reasoning_text.done":
        if (this.#items.getByDelta(event).reasoningForm === "summary") return;
        return this.#emitRemaining(
          this.#items.getByDelta(event),
          `reasoning ${getContentIndex(event)}`,
          event["text"],
          out,
          toReasoningEvent,
        );
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#handleCallDelta(this.#items.getByDelta(event), event["delta"], out);
      case "response.function_call_arguments.done":
        return this.#emitRemainingArguments(this.#items.getByDelta(event), event["arguments"], out);
      case "response.custom_tool_call_input.done":
        return this.#emitRemainingArguments(this.#items.getByDelta(event), event["input"], out);
      case "response.audio.delta":
        return this.#emitAudio(event["delta"], undefined, out);
      case "response.audio.transcript.delta":
        return this.#emitAudio(undefined, event["delta"], out);
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        this.#mergeResponse(asObject(event["response"]));
        return;
      case "error":
        return this.#handleError(getEventError(event));
      default: {
        const terminal = normalizeTerminalEvent(event);
        if (terminal !== undefined) return this.#handleTerminal(terminal, out);
        // Other events belong to hosted tools or are unknown. They only count as progress.
        if (event.type.startsWith("response.")) this.#budget.addText(0);
      }
    }
  }

  /** Emits buffered text and the ends of the calls, at the end of the stream. */
  end(out: ReplyPiece[]): Finish {
    const segments: LeakedCallSegment[] = [];
    this.#leakedCalls?.end(segments);
    this.#emitLeaked(segments, out);
    this.#hasCalls = this.#calls.hasCalls;
    this.#hasIncompleteCall =
      this.#finish?.kind === "stop" && this.#calls.hasIncompleteCall(false, () => false);
    const isTruncated = this.finish === undefined || isIncompleteFinish(this.finish);
    this.#calls.close({ isTruncated, upstreamFinished: !isTruncated }, out);
    return this.finish ?? { kind: "stop" };
  }

  #handleItemAdded(event: JsonObject, out: ReplyPiece[]): void {
    const item = asObject(event["item"]);
    const translatedItem = this.#items.getByItemEvent(event);
    if (translatedItem.state === "open") this.#items.update(translatedItem, item);
    this.#openCall(translatedItem, item, out);
  }

  #openCall(translatedItem: TranslatedItem, item: JsonObject, out: ReplyPiece[]): void {
    const type = item["type"];
    if (translatedItem.call !== undefined || translatedItem.state === "done") return;
    if (type !== "function_call" && type !== "custom_tool_call") return;
    const name = nonEmptyString(item["name"]);
    if (name === undefined) return;
    const { toolNames } = this.#options;
    if (type === "custom_tool_call" && toolNames.size > 0 && !toolNames.has(name)) {
      translatedItem.state = "done";
      return this.#addRepair("item_skipped", `${type} ${name}: run by the upstream`);
    }
    const kind = type === "custom_tool_call" ? "custom" : "function";
    translatedItem.call = { index: this.#callCount, kind };
    this.#callCount += 1;
    this.#pushCall(translatedItem.call, { id: nonEmptyString(item["call_id"]) ?? null, name }, out);
  }

  /** Passes a call to the assembler as a Chat delta, so that both wires follow the same rules. */
  #pushCall(
    { index, kind }: { index: number; kind: "function" | "custom" },
    {
      id = null,
      name = null,
      text = "",
    }: { id?: string | null; name?: string | null; text?: string },
    out: ReplyPiece[],
  ): void {
    const callFields =
      kind === "custom"
        ? { custom: { name, input: text } }
        : { function: { name, arguments: text } };
    this.#calls.push({ index, id, type: kind, ...callFields }, out);
  }

  #handleCallDelta(
    translatedItem: TranslatedItem,
    delta: JsonValue | undefined,
    out: ReplyPiece[],
  ): void {
    const text = nonEmptyString(delta);
    if (text === undefined || translatedItem.call === undefined || translatedItem.state === "done")
      return;
    translatedItem.sentTexts.set("call", (translatedItem.sentTexts.get("call") ?? "") + text);
    this.#budget.addText(0); // only progress: the assembler counts the text
    this.#pushCall(translatedItem.call, { text }, out);
  }

  #emitRemainingArguments(
    translatedItem: TranslatedItem,
    finalValue: JsonValue | undefined,
    out: ReplyPiece[],
  ): void {
    const { call } = translatedItem;
    if (
      call === undefined ||
      translatedItem.state === "done" ||
      finalValue === undefined ||
      finalValue === null
    )
      return;
    const finalText = typeof finalValue === "string" ? finalValue : JSON.stringify(finalValue);
    if (finalText !== finalValue) this.#addRepair("arguments_object", finalText);
    const sentText = translatedItem.sentTexts.get("call") ?? "";
    if (!finalText.startsWith(sentText)) return; // the deltas were not increments; the assembler handled them
    translatedItem.sentTexts.set("call", finalText);
    this.#pushCall(call, { text: finalText.slice(sentText.length) }, out);
  }

  #handleDelta(
    event: JsonObject,
    key: string,
    out: ReplyPiece[],
    createEvent: (text: string) => ReplyPiece,
  ): void {
    const text = nonEmptyString(event["delta"]);
    if (text === undefined) return;
    const translatedItem = this.#items.getByDelta(event);
    this.#budget.addText(text.length);
    translatedItem.type ??=
      key.startsWith("text") || key.startsWith("refusal") ? "message" : "reasoning";
    const sentText = translatedItem.sentTexts.get(key);
    translatedItem.sentTexts.set(key, (sentText ?? "") + text);
    if (sentText === undefined) translatedItem.reasoningForm ??= toReasoningForm(key);
    out.push(createEvent(text));
  }

  /** Separates the parts of a summary by a blank line. */
  #handleSummaryDelta(event: JsonObject, delta: JsonValue | undefined, out: ReplyPiece[]): void {
    const key = `summary ${getSummaryIndex(event)}`;
    const translatedItem = this.#items.getByDelta(event);
    if (nonEmptyString(delta) === undefined || translatedItem.reasoningForm === "reasoning") return;
    if (!translatedItem.sentTexts.has(key) && getSummaryIndex(event) > 0)
      out.push(toReasoningEvent("\n\n"));
    this.#handleDelta(event, key, out, toReasoningEvent);
  }

  /** Emits the part of finished text that its deltas did not contain. Text that was already sent cannot be changed. */
  #emitRemaining(
    translatedItem: TranslatedItem,
    key: string,
    finalText: JsonValue | undefined,
    out: ReplyPiece[],
    createEvent: (text: string) => ReplyPiece,
  ): void {
    if (typeof finalText !== "string") return;
    const sentText = translatedItem.sentTexts.get(key) ?? "";
    if (finalText === sentText) return;
    if (!finalText.startsWith(sentText)) return this.#addRepair("deltas_differ", finalText);
    this.#budget.addText(finalText.length - sentText.length);
    translatedItem.sentTexts.set(key, finalText);
    translatedItem.reasoningForm ??= toReasoningForm(key);
    out.push(createEvent(finalText.slice(sentText.length)));
  }

  #emitAudio(
    data: JsonValue | undefined,
    transcript: JsonValue | undefined,
    out: ReplyPiece[],
  ): void {
    const audio = {
      data: nonEmptyString(data) ?? "",
      transcript: nonEmptyString(transcript) ?? "",
    };
    if (audio.data === "" && audio.transcript === "") return;
    this.#budget.addStored(audio.data.length + audio.transcript.length);
    out.push({ type: "audio", ...audio });
  }

  #handleItemDone(translatedItem: TranslatedItem, item: JsonObject, out: ReplyPiece[]): void {
    if (translatedItem.state === "done") return;
    this.#budget.addValue(item);
    this.#items.update(translatedItem, item);
    switch (item["type"]) {
      case "message":
        this.#emitRemainingMessage(translatedItem, item, out);
        break;
      case "reasoning":
        this.#emitRemainingReasoning(translatedItem, item, out);
        break;
      case "function_call":
      case "custom_tool_call":
        this.#openCall(translatedItem, item, out);
        if (translatedItem.call === undefined) break;
        this.#emitRemainingArguments(translatedItem, item["arguments"] ?? item["input"], out);
        if (item["status"] === "incomplete") this.#calls.markIncomplete(translatedItem.call.index);
        else this.#calls.markEnded(translatedItem.call.index);
        break;
      case "image_generation_call": {
        const data = nonEmptyString(item["result"]);
        const format = nonEmptyString(item["output_format"]) ?? "png";
        if (data !== undefined)
          out.push({ type: "image", url: `data:image/${format};base64,${data}` });
        break;
      }
      default: {
        const type = nonEmptyString(item["type"]);
        // Chat has no equivalent for built-in client tools (shell, patch) or for hosted tools.
        if (type?.endsWith("_call")) this.#addRepair("item_skipped", type);
      }
    }
    translatedItem.state = "done";
  }

  #emitRemainingMessage(translatedItem: TranslatedItem, item: JsonObject, out: ReplyPiece[]): void {
    const { content } = item;
    if (typeof content === "string")
      return this.#emitRemaining(translatedItem, "text 0", content, out, toTextEvent);
    asArray(content).forEach((part, index) => {
      if (!isObject(part)) return;
      const isUnsent = !translatedItem.sentTexts.has(`text ${index}`);
      this.#emitRemaining(translatedItem, `text ${index}`, part["text"], out, (text) => ({
        type: "text",
        text,
        logprobs: isUnsent ? asArray(part["logprobs"]) : [],
      }));
      this.#emitRemaining(translatedItem, `refusal ${index}`, part["refusal"], out, toRefusalEvent);
      asArray(part["annotations"])
        .slice(translatedItem.sentAnnotations)
        .forEach((annotation) => this.#emitAnnotation(translatedItem, annotation, out));
    });
  }

  #emitAnnotation(
    translatedItem: TranslatedItem,
    annotation: JsonValue | undefined,
    out: ReplyPiece[],
  ): void {
    this.#budget.addValue(annotation);
    translatedItem.sentAnnotations += 1;
    out.push({ type: "annotation", annotation: toChatAnnotation(annotation) });
  }

  #emitRemainingReasoning(
    translatedItem: TranslatedItem,
    item: JsonObject,
    out: ReplyPiece[],
  ): void {
    const isRawReasoning = translatedItem.reasoningForm === "reasoning";
    const summary = asArray(item["summary"]);
    const content = asArray(item["content"]);
    // If both are present, the summary repeats the raw text.
    const source = isRawReasoning || summary.length === 0 ? content : summary;
    const kind = source === content ? "reasoning" : "summary";
    source.forEach((part, index) => {
      if (!isObject(part)) return;
      const key = `${kind} ${index}`;
      if (index > 0 && kind === "summary" && !translatedItem.sentTexts.has(key))
        out.push(toReasoningEvent("\n\n"));
      this.#emitRemaining(translatedItem, key, part["text"], out, toReasoningEvent);
    });
    const data = nonEmptyString(item["encrypted_content"]);
    if (data === undefined) return;
    const id = nonEmptyString(item["id"]);
    const detail = {
      type: "reasoning.encrypted",
      data,
      format: encryptedReasoningFormat,
      ...(id === undefined ? {} : { id }),
    };
    this.#details.push(detail);
    out.push({ type: "reasoning.detail", detail });
  }

  #handleTerminal(
    event: UpstreamResponseEvent & { type: TerminalEventType },
    out: ReplyPiece[],
  ): void {
    this.#mergeResponse(asObject(event["response"]));
    this.#handleTerminalItems(asArray(this.response["output"]).filter(isObject), out);
    if (isObject(this.response["usage"])) this.usage = this.response["usage"];
    this.#finish = pickStrongerFinish(this.#finish, parseTerminalFinish(event.type, this.response));
  }

  #mergeResponse(response: JsonObject): void {
    for (const field of responseFields)
      if (response[field] !== undefined) this.response[field] = response[field];
  }

  /** Handles items without `done` events: of a complete reply, or of a server that sends items only at the end. */
  #handleTerminalItems(output: JsonObject[], out: ReplyPiece[]): void {
    const matches = matchTerminalItems(this.#items.items, output);
    output.forEach((item, index) =>
      this.#handleItemDone(matches[index] ?? this.#items.addItem(), item, out),
    );
  }

  /** Handles an `error` event. `response.failed` with the same message may or may not follow. */
  #handleError(error: JsonValue): void {
    this.#finish ??= { kind: "failed", ...parseUpstreamFailure(error) };
  }

  #addRepair(code: RepairCode, detail: string): void {
    this.#options.repairs.add(code, detail);
  }
}

/** The fields of a response object that are read from events. */
const responseFields = [
  "id",
  "created_at",
  "model",
  "output",
  "usage",
  "error",
  "incomplete_details",
] as const;

function toReasoningForm(key: string): TranslatedItem["reasoningForm"] {
  if (key.startsWith("reasoning")) return "reasoning";
  return key.startsWith("summary") ? "summary" : undefined;
}

function toTextEvent(text: string): ReplyPiece {
  return { type: "text", text, logprobs: [] };
}

function toRefusalEvent(text: string): ReplyPiece {
  return { type: "refusal", text };
}

function toReasoningEvent(text: string): ReplyPiece {
  return { type: "reasoning", text, inContent: false };
}

function getContentIndex(event: JsonObject): number {
  return typeof event["content_index"] === "number" ? event["content_index"] : 0;
}

function getSummaryIndex(event: JsonObject): number {
  return typeof event["summary_index"] === "number" ? event["summary_index"] : 0;
}

/** Nests a flat Responses annotation as Chat does: `{type, url_citation: {url, title, …}}`. */
function toChatAnnotation(annotation: JsonValue | undefined): JsonObject {
  const { type, ...rest } = asObject(annotation);
  return type === "url_citation" ? { type, url_citation: rest } : { ...asObject(annotation) };
}
