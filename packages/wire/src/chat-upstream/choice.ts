import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import { finishOf, finishWithCalls, isCut, stronger, type Finish } from "../mapping/finish.ts";
import { hasReasoning, ReasoningReader, type ReasoningCarry } from "../mapping/reasoning.ts";
import { reportsError, upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import type { ReplyFlags } from "../profiles.ts";
import type { RepairCode, Repairs } from "../repairs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import type { ChatChunkChoice, ChatDelta, ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { ToolCallAssembler, type CallEvent } from "../tools/assembler.ts";
import type { ToolBridge } from "../tools/bridge.ts";
import { LeakedCalls, type LeakPiece } from "./leaked-calls.ts";
import { ThinkTags, type TaggedText } from "./think-tags.ts";

/** What a choice said, in order, whichever way its server says it. */
export type Piece =
  | { type: "text"; text: string; logprobs: readonly JsonValue[] }
  | { type: "refusal"; text: string }
  /** `inContent`: it stood in the content, between tags or as a part, and not in a field of its own. */
  | { type: "reasoning"; text: string; inContent: boolean }
  /** A field said again what tags had said. */
  | { type: "reasoning.repeated" }
  | { type: "annotation"; annotation: JsonObject }
  | { type: "audio"; data: string; transcript: string }
  | { type: "image"; url: string }
  | CallEvent;

export interface ReplyOptions {
  repairs: Repairs;
  newId: (prefix: string) => string;
  toolNames: ReadonlySet<string>;
  /** The parameters of these tools, as far as they are known. */
  toolSchemas: ReadonlyMap<string, JsonObject>;
  usedCallIds: ReadonlySet<string>;
  /** The tools as the client declared them, if they were offered in another form. */
  tools?: ToolBridge | undefined;
  profile: ReplyFlags;
  /** Shared by all choices of the reply. */
  budget: ReplyBudget;
}

const noLogprobs: readonly JsonValue[] = [];

/** Reads one choice of a Chat reply: the inbound normaliser that every translator from a Chat upstream uses. */
export class ChoiceReader {
  readonly index: number;
  readonly #repairs: Repairs;
  readonly #budget: ReplyBudget;
  readonly #reasoning: ReasoningReader;
  readonly #tags: ThinkTags | undefined;
  readonly #leaks: LeakedCalls | undefined;
  readonly #calls: ToolCallAssembler;
  readonly #takesText: (name: string) => boolean;
  readonly #tagged: TaggedText[] = [];
  readonly #leaked: LeakPiece[] = [];
  /** Reasoning that came in one of the two ways, in a field or between tags, and not yet in the other. */
  #onlyInField: string | undefined;
  #onlyInTags: string | undefined;
  #wasRepeated = false;
  #began = false;
  #finish: Finish | undefined;
  #errorTold = false;
  /** The provider's own word for it. */
  #finishWord: string | undefined;

  constructor(index: number, options: ReplyOptions) {
    this.index = index;
    this.#repairs = options.repairs;
    this.#budget = options.budget;
    this.#reasoning = new ReasoningReader(options.budget);
    const { toolNames: names, toolSchemas: schemas } = options;
    const { thinkTags, startsInsideThink, leakedCalls } = options.profile;
    this.#tags = thinkTags ? new ThinkTags(startsInsideThink) : undefined;
    if (leakedCalls.length > 0 && names.size > 0)
      this.#leaks = new LeakedCalls(leakedCalls, { names, schemas });
    const { tools } = options;
    this.#takesText = (name) => tools?.declared(name)?.kind === "custom";
    this.#calls = new ToolCallAssembler({
      choice: index,
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

  /** Why the choice failed, so far. */
  get failure(): UpstreamFailure | undefined {
    return this.#finish?.kind === "failed" ? this.#finish : undefined;
  }

  /** Signatures and encrypted reasoning, those of calls included, that came since they were last taken. */
  peekCarry(): ReasoningCarry | undefined {
    const carry: ReasoningCarry = { ...this.#reasoning.peekCarry() };
    const { extras } = this.#calls;
    if (extras.size > 0) carry.calls = Object.fromEntries(extras);
    return Object.keys(carry).length === 0 ? undefined : carry;
  }

  takeCarry(): ReasoningCarry | undefined {
    const carry = this.peekCarry();
    this.#reasoning.dropCarry();
    this.#calls.dropExtras();
    return carry;
  }

  read(choice: ChatChunkChoice, out: Piece[]): void {
    if (isObject(choice.delta)) this.#readDelta(choice.delta, choice, out);
    else if (isObject(choice["message"])) this.#readMessage(choice["message"], choice, out);
    else if (nonEmptyString(choice["text"]) !== undefined)
      this.#readContent(choice["text"] as string, choice, out); // the form of the old completions endpoint
    const word = nonEmptyString(choice.finish_reason) ?? nonEmptyString(choice["finishReason"]);
    if (word !== undefined) this.#readFinish(word);
    const { error } = choice;
    if (error !== undefined && error !== null && reportsError(error)) this.#readError(error);
  }

  /** An end that no finish_reason told of: the sentinel, which means `stop`. */
  finishByRule(): void {
    if (this.#finish !== undefined) return;
    this.#repair("finish_missing", "");
    this.#finish = { kind: "stop" };
  }

  fail(failure: UpstreamFailure): void {
    this.#finish = stronger(this.#finish, { kind: "failed", ...failure });
  }

  /**
   * An error object in the stream. It says more than a finish_reason "error"; after `length` it only says once more
   * that the reply was cut.
   */
  failUnlessCut(failure: UpstreamFailure): void {
    if (this.#finish?.kind === "length" || this.#errorTold) return;
    this.#errorTold = true;
    this.#finish = { kind: "failed", ...failure };
  }

  /** Closes what is open and answers how it ended. To be called once, after a finish. */
  end(out: Piece[]): Finish {
    this.#tags?.end(this.#tagged);
    this.#putTagged(noLogprobs, out);
    this.#leaks?.end(this.#leaked);
    this.#putLeaked(noLogprobs, out);
    const finish = this.#resolvedFinish();
    this.#calls.close({ cut: isCut(finish), finished: this.#finishWord !== undefined }, out);
    return finish;
  }

  #readDelta(delta: ChatDelta, choice: ChatChunkChoice, out: Piece[]): void {
    this.#began = true;
    if (hasReasoning(delta)) this.#readReasoning(delta, out);
    if (typeof delta.content === "string") {
      if (delta.content !== "") this.#readContent(delta.content, choice, out);
    } else if (Array.isArray(delta.content)) this.#readParts(delta.content, choice, out);
    else if (delta.content !== undefined && delta.content !== null)
      this.#repair("content_not_text", JSON.stringify(delta.content));
    const refusal = nonEmptyString(delta.refusal);
    if (refusal !== undefined) this.#readRefusal(refusal, out);
    if (Array.isArray(delta["images"])) this.#readImages(delta["images"], out);
    if (Array.isArray(delta.annotations)) this.#readAnnotations(delta.annotations, out);
    if (isObject(delta.audio)) this.#readAudio(delta.audio, out);
    if (isObject(delta.function_call)) this.#readLegacyCall(delta.function_call, out);
    if (Array.isArray(delta.tool_calls))
      for (const fragment of delta.tool_calls)
        if (isObject(fragment)) this.#pushCall(fragment, out);
  }

  #readReasoning(delta: ChatDelta, out: Piece[]): void {
    const { repeated, ignored } = this.#reasoning;
    const text = this.#reasoning.read(delta);
    if (text !== "") this.#budget.addText(text.length);
    if (text !== "" && this.#saidInTags(text)) out.push({ type: "reasoning.repeated" });
    else if (text !== "") {
      if (this.#tags?.isDone === false) this.#onlyInField = (this.#onlyInField ?? "") + text;
      this.#put({ type: "reasoning", text, inContent: false }, out);
    }
    if (this.#reasoning.repeated && !repeated) this.#repair("reasoning_repeated", text);
    if (this.#reasoning.ignored !== ignored)
      this.#repair("reasoning_ignored", this.#reasoning.ignored ?? "");
  }

  /** Words between tags that a field says too (or the other way) are one reasoning, not two. */
  #saidInTags(text: string): boolean {
    if (this.#onlyInTags?.startsWith(text) !== true) return false;
    this.#onlyInTags = this.#onlyInTags.slice(text.length);
    this.#reasoningRepeated(text);
    return true;
  }

  #saidInField(text: string): boolean {
    if (this.#onlyInField?.startsWith(text) !== true) return false;
    this.#onlyInField = this.#onlyInField.slice(text.length);
    this.#reasoningRepeated(text);
    return true;
  }

  #reasoningRepeated(text: string): void {
    if (!this.#wasRepeated) this.#repair("reasoning_repeated", text);
    this.#wasRepeated = true;
  }

  #readRefusal(text: string, out: Piece[]): void {
    this.#budget.addText(text.length);
    this.#put({ type: "refusal", text }, out);
  }

  #readContent(content: string, choice: ChatChunkChoice, out: Piece[]): void {
    this.#budget.addText(content.length);
    const logprobs = logprobsOf(choice);
    if (this.#tags === undefined || this.#tags.isDone) return this.#putText(content, logprobs, out);
    const found = this.#tags.found;
    this.#tags.push(content, this.#tagged);
    if (this.#tags.found && !found) this.#repair("reasoning_tags_split", content);
    this.#putTagged(logprobs, out);
  }

  #putTagged(logprobs: readonly JsonValue[], out: Piece[]): void {
    for (const { reasoning, text } of this.#tagged) {
      if (!reasoning) this.#putText(text, logprobs, out);
      else if (!this.#saidInField(text)) {
        this.#onlyInTags = (this.#onlyInTags ?? "") + text;
        this.#put({ type: "reasoning", text, inContent: true }, out);
      }
    }
    this.#tagged.length = 0;
  }

  #putText(text: string, logprobs: readonly JsonValue[], out: Piece[]): void {
    if (this.#leaks === undefined) return this.#put({ type: "text", text, logprobs }, out);
    this.#leaks.push(text, this.#leaked);
    this.#putLeaked(logprobs, out);
  }

  #putLeaked(logprobs: readonly JsonValue[], out: Piece[]): void {
    for (const piece of this.#leaked)
      if (piece.type === "text") this.#put({ ...piece, logprobs }, out);
      else {
        this.#repair("call_leaked", piece.words);
        this.#calls.pushLeaked(piece.call, out);
      }
    this.#leaked.length = 0;
  }

  /** Mistral sends content as parts, and its reasoning as parts of type `thinking`. */
  #readParts(parts: JsonValue[], choice: ChatChunkChoice, out: Piece[]): void {
    if (parts.length > 0) this.#repair("content_parts_flattened", JSON.stringify(parts));
    for (const part of parts) {
      if (typeof part === "string" && part !== "") this.#readContent(part, choice, out);
      if (!isObject(part)) continue;
      const thinking = part["thinking"] ?? (part["type"] === "thinking" ? part["text"] : undefined);
      if (thinking !== undefined) {
        const text = textOf(thinking);
        if (text === "") continue;
        this.#budget.addText(text.length);
        this.#put({ type: "reasoning", text, inContent: true }, out);
      } else {
        const text = textOf(part["text"]);
        if (text !== "") this.#readContent(text, choice, out);
        const refusal = nonEmptyString(part["refusal"]);
        if (refusal !== undefined) this.#readRefusal(refusal, out);
        this.#readImages([part], out);
      }
    }
  }

  /**
   * A message and no delta. First, it is the reply; later, it is the reply so far, which has been said; but calls that
   * no delta brought are new.
   */
  #readMessage(message: ChatDelta, choice: ChatChunkChoice, out: Piece[]): void {
    if (!this.#began) return this.#readDelta(message, choice, out);
    if (!this.#calls.hasCalls && Array.isArray(message.tool_calls))
      this.#readDelta({ tool_calls: message.tool_calls }, choice, out);
  }

  #readImages(images: unknown[], out: Piece[]): void {
    for (const image of images) {
      if (!isObject(image)) continue;
      const { image_url: given } = image;
      const url = nonEmptyString(isObject(given) ? given["url"] : given);
      if (url === undefined) continue;
      this.#budget.addStored(url.length);
      this.#put({ type: "image", url }, out);
    }
  }

  #readAnnotations(annotations: JsonValue[], out: Piece[]): void {
    for (const annotation of annotations)
      if (isObject(annotation)) {
        this.#budget.addValue(annotation);
        out.push({ type: "annotation", annotation });
      }
  }

  #readAudio(audio: JsonObject, out: Piece[]): void {
    const data = nonEmptyString(audio["data"]) ?? "";
    const transcript = nonEmptyString(audio["transcript"]) ?? "";
    if (data === "" && transcript === "") return;
    this.#budget.addStored(data.length + transcript.length);
    out.push({ type: "audio", data, transcript });
  }

  #readLegacyCall(call: JsonObject, out: Piece[]): void {
    this.#repair("legacy_function_call", nonEmptyString(call["name"]) ?? "");
    this.#pushCall({ index: 0, function: call }, out);
  }

  #pushCall(fragment: ChatToolCallDelta, out: Piece[]): void {
    if (this.#leaks !== undefined) {
      this.#leaks.putBlanks(this.#leaked);
      this.#putLeaked(noLogprobs, out);
    }
    this.#calls.push(fragment, out);
  }

  /** A call whose name is known comes before the words that follow it. */
  #put(piece: Piece, out: Piece[]): void {
    this.#calls.openNamed(out);
    out.push(piece);
  }

  #readFinish(word: string): void {
    let finish = finishOf(word);
    if (finish === undefined) {
      this.#repair("finish_unknown", word);
      finish = { kind: "stop" };
    }
    if (this.#finish !== undefined) this.#repair("finish_repeated", word);
    const before = this.#finish;
    this.#finish = stronger(before, finish);
    if (this.#finish !== before || this.#finishWord === undefined) this.#finishWord = word;
  }

  /** OpenRouter puts an error beside whole calls and a good finish_reason; only without one it is the end. */
  #readError(error: unknown): void {
    if (this.#finish !== undefined && this.#finish.kind !== "failed")
      return this.#repair("error_ignored", JSON.stringify(error));
    this.failUnlessCut(upstreamFailure(error));
  }

  #resolvedFinish(): Finish {
    const stated = this.#finish ?? { kind: "stop" };
    if (stated.kind === "failed") return stated;
    // With `tool_calls` the upstream says that the calls have ended: bad arguments are then the model's mistake.
    const half =
      stated.kind === "stop" &&
      this.#calls.hasHalfCall(this.#finishWord !== undefined, this.#takesText);
    const finish = finishWithCalls(stated, { any: this.#calls.hasCalls, half });
    if (finish.kind !== (this.#finishWord ?? "stop"))
      this.#repair("finish_corrected", this.#finishWord ?? "");
    return finish;
  }

  #repair(code: RepairCode, detail: string): void {
    this.#repairs.add(code, detail, this.index);
  }
}

function logprobsOf(choice: ChatChunkChoice): readonly JsonValue[] {
  const logprobs = choice["logprobs"];
  if (!isObject(logprobs) || !Array.isArray(logprobs["content"])) return noLogprobs;
  return logprobs["content"];
}

/** How many lists may stand inside each other around a text. */
const deepestText = 16;

function textOf(value: JsonValue | undefined, depth = 0): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || depth > deepestText) return "";
  return value.map((part) => textOf(isObject(part) ? part["text"] : part, depth + 1)).join("");
}
