import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import { parseFinishReason, pickStrongerFinish, type Finish } from "../mapping/finish-reason.ts";
import { isIncompleteFinish, resolveFinish } from "../mapping/resolve-finish.ts";
import { hasReasoning, ReasoningReader, type OpaqueReasoning } from "../mapping/reasoning.ts";
import {
  isErrorValue,
  parseUpstreamFailure,
  type UpstreamFailure,
} from "../mapping/upstream-error.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyReaderOptions } from "../reply/reply-reader.ts";
import type { RepairCode, Repairs } from "../repairs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import type { ChatChunkChoice, ChatDelta, ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { ToolCallAssembler } from "../tools/tool-call-assembler.ts";
import { LeakedCallExtractor, type LeakedCallSegment } from "./leaked-call-extractor.ts";
import { ThinkTagParser, type ThinkTagSegment } from "./think-tag-parser.ts";

const noLogprobs: readonly JsonValue[] = [];

/** Normalizes one choice of a Chat reply. Every translator from a Chat upstream uses it. */
export class ChoiceReader {
  readonly index: number;
  readonly #repairs: Repairs;
  readonly #budget: ReplyBudget;
  readonly #reasoning: ReasoningReader;
  readonly #thinkTags: ThinkTagParser | undefined;
  readonly #leakExtractor: LeakedCallExtractor | undefined;
  readonly #calls: ToolCallAssembler;
  /** True for a function that represents a custom tool. */
  readonly #acceptsText: (name: string) => boolean;
  readonly #tagSegments: ThinkTagSegment[] = [];
  readonly #leakSegments: LeakedCallSegment[] = [];
  /** Reasoning that arrived in a field and may be repeated between tags. */
  #unmatchedFieldText: string | undefined;
  /** Reasoning that arrived between tags and may be repeated in a field. */
  #unmatchedTagText: string | undefined;
  #hasRepeatedReasoning = false;
  #hasBegun = false;
  #finish: Finish | undefined;
  #hasReportedError = false;
  /** The upstream's finish_reason, unchanged. */
  #finishReason: string | undefined;
  /** The stop sequence that ended the choice. Only vLLM and SGLang report it. */
  stopSequence: string | undefined;

  constructor(index: number, options: ReplyReaderOptions) {
    this.index = index;
    this.#repairs = options.repairs;
    this.#budget = options.budget;
    this.#reasoning = new ReasoningReader(options.budget);
    const { toolNames: names, toolSchemas: schemas } = options;
    const { thinkTags, startsInsideThink, leakedCalls } = options.profile;
    this.#thinkTags = thinkTags ? new ThinkTagParser(startsInsideThink) : undefined;
    if (leakedCalls.length > 0 && names.size > 0)
      this.#leakExtractor = new LeakedCallExtractor(leakedCalls, { names, schemas });
    const { tools } = options;
    this.#acceptsText = (name) => tools?.findDeclared(name)?.kind === "custom";
    this.#calls = new ToolCallAssembler({
      choiceIndex: index,
      repairs: options.repairs,
      newCallId: () => options.newId("call"),
      toolNames: names,
      usedCallIds: options.usedCallIds,
      budget: options.budget,
    });
  }

  get hasFinished(): boolean {
    return this.#finish !== undefined;
  }

  /** Why the choice failed; undefined if it has not failed so far. */
  get failure(): UpstreamFailure | undefined {
    return this.#finish?.kind === "failed" ? this.#finish : undefined;
  }

  /** Returns the signatures and encrypted reasoning, including those of calls, since the last `takeOpaqueReasoning`. */
  peekOpaqueReasoning(): OpaqueReasoning | undefined {
    const opaque: OpaqueReasoning = { ...this.#reasoning.peekOpaque() };
    const { extraContents } = this.#calls;
    if (extraContents.size > 0) opaque.calls = Object.fromEntries(extraContents);
    return Object.keys(opaque).length === 0 ? undefined : opaque;
  }

  takeOpaqueReasoning(): OpaqueReasoning | undefined {
    const opaque = this.peekOpaqueReasoning();
    this.#reasoning.clearOpaque();
    this.#calls.clearExtraContents();
    return opaque;
  }

  read(choice: ChatChunkChoice, out: ReplyPiece[]): void {
    if (isObject(choice.delta)) this.#readDelta(choice.delta, choice, out);
    else if (isObject(choice["message"])) this.#readMessage(choice["message"], choice, out);
    else if (nonEmptyString(choice["text"]) !== undefined)
      this.#readContent(choice["text"] as string, choice, out); // the format of the legacy completions endpoint
    const reason = nonEmptyString(choice.finish_reason) ?? nonEmptyString(choice["finishReason"]);
    if (reason !== undefined) {
      this.#readFinish(reason);
      this.stopSequence =
        nonEmptyString(choice["stop_reason"]) ?? nonEmptyString(choice["matched_stop"]);
    }
    const { error } = choice;
    if (error !== undefined && error !== null && isErrorValue(error)) this.#readError(error);
  }

  /** Finishes the choice as `stop` if `[DONE]` arrived without a finish_reason. */
  finishWithoutReason(): void {
    if (this.#finish !== undefined) return;
    this.#addRepair("finish_missing", "");
    this.#finish = { kind: "stop" };
  }

  fail(failure: UpstreamFailure): void {
    this.#finish = pickStrongerFinish(this.#finish, { kind: "failed", ...failure });
  }

  /**
   * Handles an error object in the stream, which takes precedence over the finish_reason "error". After `length` the error
   * is ignored, because it only repeats that the reply was truncated.
   */
  failUnlessTruncated(failure: UpstreamFailure): void {
    if (this.#finish?.kind === "length" || this.#hasReportedError) return;
    this.#hasReportedError = true;
    this.#finish = { kind: "failed", ...failure };
  }

  /** Emits buffered text, closes all calls and returns how the choice ended. Call it once, at the end of the stream. */
  end(out: ReplyPiece[]): Finish {
    this.#thinkTags?.end(this.#tagSegments);
    this.#emitTagged(noLogprobs, out);
    this.#leakExtractor?.end(this.#leakSegments);
    this.#emitLeaked(noLogprobs, out);
    const finish = this.#resolveFinish();
    this.#calls.close(
      {
        isTruncated: isIncompleteFinish(finish),
        upstreamFinished: this.#finishReason !== undefined,
      },
      out,
    );
    return finish;
  }

  #readDelta(delta: ChatDelta, choice: ChatChunkChoice, out: ReplyPiece[]): void {
    this.#hasBegun = true;
    if (hasReasoning(delta)) this.#readReasoning(delta, out);
    if (typeof delta.content === "string") {
      if (delta.content !== "") this.#readContent(delta.content, choice, out);
    } else if (Array.isArray(delta.content)) this.#readParts(delta.content, choice, out);
    else if (delta.content !== undefined && delta.content !== null)
      this.#addRepair("content_not_text", JSON.stringify(delta.content));
    const refusal = nonEmptyString(delta.refusal);
    if (refusal !== undefined) this.#readRefusal(refusal, out);
    if (Array.isArray(delta["images"])) this.#readImages(delta["images"], out);
    if (Array.isArray(delta.annotations)) this.#readAnnotations(delta.annotations, out);
    if (isObject(delta.audio)) this.#readAudio(delta.audio, out);
    if (isObject(delta.function_call)) this.#readLegacyCall(delta.function_call, out);
    if (Array.isArray(delta.tool_calls))
      for (const callDelta of delta.tool_calls)
        if (isObject(callDelta)) this.#pushCall(callDelta, out);
  }

  #readReasoning(delta: ChatDelta, out: ReplyPiece[]): void {
    const { hasRepeatedText, ignoredText } = this.#reasoning;
    const text = this.#reasoning.read(delta);
    if (text !== "") this.#budget.addText(text.length);
    if (text !== "" && this.#consumeRepeatOfTags(text)) out.push({ type: "reasoning.repeated" });
    else if (text !== "") {
      if (this.#thinkTags?.isDone === false)
        this.#unmatchedFieldText = (this.#unmatchedFieldText ?? "") + text;
      this.#emit({ type: "reasoning", text, inContent: false }, out);
    }
    if (this.#reasoning.hasRepeatedText && !hasRepeatedText)
      this.#addRepair("reasoning_repeated", text);
    if (this.#reasoning.ignoredText !== ignoredText)
      this.#addRepair("reasoning_ignored", this.#reasoning.ignoredText ?? "");
  }

  /** True if the text of a reasoning field repeats text between tags, which was already emitted. */
  #consumeRepeatOfTags(text: string): boolean {
    if (this.#unmatchedTagText?.startsWith(text) !== true) return false;
    this.#unmatchedTagText = this.#unmatchedTagText.slice(text.length);
    this.#recordRepeatedReasoning(text);
    return true;
  }

  /** True if text between tags repeats a reasoning field, which was already emitted. */
  #consumeRepeatOfField(text: string): boolean {
    if (this.#unmatchedFieldText?.startsWith(text) !== true) return false;
    this.#unmatchedFieldText = this.#unmatchedFieldText.slice(text.length);
    this.#recordRepeatedReasoning(text);
    return true;
  }

  #recordRepeatedReasoning(text: string): void {
    if (!this.#hasRepeatedReasoning) this.#addRepair("reasoning_repeated", text);
    this.#hasRepeatedReasoning = true;
  }

  #readRefusal(text: string, out: ReplyPiece[]): void {
    this.#budget.addText(text.length);
    this.#emit({ type: "refusal", text }, out);
  }

  #readContent(content: string, choice: ChatChunkChoice, out: ReplyPiece[]): void {
    this.#budget.addText(content.length);
    const logprobs = getLogprobs(choice);
    if (this.#thinkTags === undefined || this.#thinkTags.isDone)
      return this.#emitText(content, logprobs, out);
    const hadTag = this.#thinkTags.hasFoundTag;
    this.#thinkTags.push(content, this.#tagSegments);
    if (this.#thinkTags.hasFoundTag && !hadTag) this.#addRepair("reasoning_tags_split", content);
    this.#emitTagged(logprobs, out);
  }

  #emitTagged(logprobs: readonly JsonValue[], out: ReplyPiece[]): void {
    for (const { isReasoning, text } of this.#tagSegments) {
      if (!isReasoning) this.#emitText(text, logprobs, out);
      else if (!this.#consumeRepeatOfField(text)) {
        this.#unmatchedTagText = (this.#unmatchedTagText ?? "") + text;
        this.#emit({ type: "reasoning", text, inContent: true }, out);
      }
    }
    this.#tagSegments.length = 0;
  }

  #emitText(text: string, logprobs: readonly JsonValue[], out: ReplyPiece[]): void {
    if (this.#leakExtractor === undefined) return this.#emit({ type: "text", text, logprobs }, out);
    this.#leakExtractor.push(text, this.#leakSegments);
    this.#emitLeaked(logprobs, out);
  }

  #emitLeaked(logprobs: readonly JsonValue[], out: ReplyPiece[]): void {
    for (const segment of this.#leakSegments)
      if (segment.type === "text") this.#emit({ ...segment, logprobs }, out);
      else {
        this.#addRepair("call_leaked", segment.source);
        this.#calls.pushLeakedCall(segment.call, out);
      }
    this.#leakSegments.length = 0;
  }

  /** Reads content that was sent as parts. Mistral sends reasoning in parts of type `thinking`. */
  #readParts(parts: JsonValue[], choice: ChatChunkChoice, out: ReplyPiece[]): void {
    if (parts.length > 0) this.#addRepair("content_parts_flattened", JSON.stringify(parts));
    for (const part of parts) {
      if (typeof part === "string" && part !== "") this.#readContent(part, choice, out);
      if (!isObject(part)) continue;
      const thinking = part["thinking"] ?? (part["type"] === "thinking" ? part["text"] : undefined);
      if (thinking !== undefined) {
        const text = flattenText(thinking);
        if (text === "") continue;
        this.#budget.addText(text.length);
        this.#emit({ type: "reasoning", text, inContent: true }, out);
      } else {
        const text = flattenText(part["text"]);
        if (text !== "") this.#readContent(text, choice, out);
        const refusal = nonEmptyString(part["refusal"]);
        if (refusal !== undefined) this.#readRefusal(refusal, out);
        this.#readImages([part], out);
      }
    }
  }

  /**
   * Handles a `message` in place of a delta. The first one is the reply. A later one repeats the reply so far, but may
   * contain new calls.
   */
  #readMessage(message: ChatDelta, choice: ChatChunkChoice, out: ReplyPiece[]): void {
    if (!this.#hasBegun) return this.#readDelta(message, choice, out);
    if (!this.#calls.hasCalls && Array.isArray(message.tool_calls))
      this.#readDelta({ tool_calls: message.tool_calls }, choice, out);
  }

  #readImages(images: unknown[], out: ReplyPiece[]): void {
    for (const image of images) {
      if (!isObject(image)) continue;
      const { image_url: imageUrl } = image;
      const url = nonEmptyString(isObject(imageUrl) ? imageUrl["url"] : imageUrl);
      if (url === undefined) continue;
      this.#budget.addStored(url.length);
      this.#emit({ type: "image", url }, out);
    }
  }

  #readAnnotations(annotations: JsonValue[], out: ReplyPiece[]): void {
    for (const annotation of annotations)
      if (isObject(annotation)) {
        this.#budget.addValue(annotation);
        out.push({ type: "annotation", annotation });
      }
  }

  #readAudio(audio: JsonObject, out: ReplyPiece[]): void {
    const data = nonEmptyString(audio["data"]) ?? "";
    const transcript = nonEmptyString(audio["transcript"]) ?? "";
    if (data === "" && transcript === "") return;
    this.#budget.addStored(data.length + transcript.length);
    out.push({ type: "audio", data, transcript });
  }

  #readLegacyCall(call: JsonObject, out: ReplyPiece[]): void {
    this.#addRepair("legacy_function_call", nonEmptyString(call["name"]) ?? "");
    this.#pushCall({ index: 0, function: call }, out);
  }

  #pushCall(callDelta: ChatToolCallDelta, out: ReplyPiece[]): void {
    if (this.#leakExtractor !== undefined) {
      this.#leakExtractor.flushBlanks(this.#leakSegments);
      this.#emitLeaked(noLogprobs, out);
    }
    this.#calls.push(callDelta, out);
  }

  /** Emits an event after opening the named calls that precede it. */
  #emit(event: ReplyPiece, out: ReplyPiece[]): void {
    this.#calls.openNamedCalls(out);
    out.push(event);
  }

  #readFinish(reason: string): void {
    let finish = parseFinishReason(reason);
    if (finish === undefined) {
      this.#addRepair("finish_unknown", reason);
      finish = { kind: "stop" };
    }
    if (this.#finish !== undefined) this.#addRepair("finish_repeated", reason);
    const previous = this.#finish;
    this.#finish = pickStrongerFinish(previous, finish);
    if (this.#finish !== previous || this.#finishReason === undefined) this.#finishReason = reason;
  }

  /**
   * Handles an error of the choice. It fails the choice only if there is no finish_reason, because OpenRouter may send an
   * error together with complete calls and a finish_reason.
   */
  #readError(error: unknown): void {
    if (this.#finish !== undefined && this.#finish.kind !== "failed")
      return this.#addRepair("error_ignored", JSON.stringify(error));
    this.failUnlessTruncated(parseUpstreamFailure(error));
  }

  #resolveFinish(): Finish {
    const reportedFinish = this.#finish ?? { kind: "stop" };
    if (reportedFinish.kind === "failed") return reportedFinish;
    // With `tool_calls` the upstream has ended the calls, so invalid arguments are the model's mistake, not a truncation.
    const hasIncompleteCall =
      reportedFinish.kind === "stop" &&
      this.#calls.hasIncompleteCall(this.#finishReason !== undefined, this.#acceptsText);
    const finish = resolveFinish(reportedFinish, {
      hasCalls: this.#calls.hasCalls,
      hasIncompleteCall,
    });
    if (finish.kind !== (this.#finishReason ?? "stop"))
      this.#addRepair("finish_corrected", this.#finishReason ?? "");
    return finish;
  }

  #addRepair(code: RepairCode, detail: string): void {
    this.#repairs.add(code, detail, this.index);
  }
}

function getLogprobs(choice: ChatChunkChoice): readonly JsonValue[] {
  const logprobs = choice["logprobs"];
  if (!isObject(logprobs) || !Array.isArray(logprobs["content"])) return noLogprobs;
  return logprobs["content"];
}

/** Content parts that are nested deeper are ignored. */
const maxTextDepth = 16;

function flattenText(value: JsonValue | undefined, depth = 0): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || depth > maxTextDepth) return "";
  return value.map((part) => flattenText(isObject(part) ? part["text"] : part, depth + 1)).join("");
}
