import { isObject, nonEmptyString, repeatableString, type JsonObject } from "../json.ts";
import { empty, type ClientTranslator, type StreamEnd } from "../machine.ts";
import { ChoiceReader, type Piece, type ReplyOptions } from "../chat-upstream/choice.ts";
import { choicesOf, errorIn, type IndexedChoice } from "../chat-upstream/choices.ts";
import type { ChatInput } from "../chat-upstream/chunk-reader.ts";
import { failureOfEnd } from "../chat-upstream/ending.ts";
import { chatError, upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { chatUsage, estimatedChatUsage, responseUsage, usageIn } from "../mapping/usage.ts";
import { UsageEstimate } from "../chat-upstream/usage-estimate.ts";
import { genericProfile, type ReplyFlags } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type { ChatChunk, ChatChunkChoice, ChatDelta, ChatOutput } from "../shapes/chat-reply.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import type { ToolBridge } from "../tools/bridge.ts";
import { DeclaredCalls } from "./declared-calls.ts";
import { begunDelta, CallDeltas, isEmptyDelta, mendedDelta, WholeCalls } from "./deltas.ts";
import { hasMoreThanUsage, withoutMoved, withoutUsage } from "./envelope.ts";

export interface ChatOverChatOptions {
  /** An id for the reply or for a call, where the upstream sends none: `newId("chatcmpl")`, `newId("call")`. */
  newId: (prefix: string) => string;
  /** Seconds since 1970, for an upstream that does not tell. */
  createdAt: number;
  /** The model's name for the client; the upstream's own where it is not given. */
  model?: string;
  /** The name that the client asked for: its name where the upstream gives none. */
  requestedModel?: string;
  /** Names of the tools that were offered. */
  toolNames?: ReadonlySet<string>;
  /** How their calls are told to the client, where they were offered under other names or in another form. */
  tools?: ToolBridge;
  /** Their parameters, by name: some models write calls whose values have no type of their own. */
  toolSchemas?: ReadonlyMap<string, JsonObject>;
  /** Call ids of the history, which no new call may have again. */
  usedCallIds?: ReadonlySet<string>;
  /** Whether the client asked for usage (`stream_options.include_usage`). */
  includeUsage?: boolean;
  /** The tokens of the request, for an upstream that does not tell what the reply cost (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
  /**
   * Calls as the deltas they came in, or `whole`: each in one piece before the finish, in `delta.tool_calls` if it may
   * run and in `delta.incomplete_tool_calls` if not.
   */
  toolCalls?: "deltas" | "whole";
  /** How the upstream's replies differ; the generic profile where it is not given. */
  profile?: ReplyFlags;
  /** Limits of the reply. Default: those of `replyLimits`. */
  budget?: ReplyBudget;
  repairs?: Repairs;
}

/** How many chunks may wait for an id. */
const earlyKept = 8;

/** One choice on its way through, with the chunk that told of its finish. */
interface PassingChoice {
  reader: ChoiceReader;
  declared: DeclaredCalls | undefined;
  calls: CallDeltas | WholeCalls;
  /** Whether a delta has gone out; the first says who speaks. */
  begun: boolean;
  /** Whether its last chunk has gone out. */
  ended: boolean;
  finishChunk: ChatChunk | undefined;
  finishChoice: ChatChunkChoice | undefined;
}

/**
 * A Chat client on a Chat upstream: the same chunks, repaired. Deltas stay deltas and fields we do not know pass; ids,
 * call indexes, the finish and the usage are put right. A chunk with nothing to mend goes out as it came in.
 */
export class ChatOverChat implements ClientTranslator<ChatInput, ChatOutput> {
  readonly repairs: Repairs;
  readonly #options: ChatOverChatOptions;
  readonly #reply: ReplyOptions;
  readonly #budget: ReplyBudget;
  readonly #choices = new Map<number, PassingChoice>();
  readonly #pieces: Piece[] = [];
  /** Chunks without id and choices that came first: Azure's filter results. They get the id that comes later. */
  #early: ChatChunk[] = [];
  #ended = false;
  #id: string | undefined;
  #created: number | undefined;
  #model: string | undefined;
  #lastChunk: ChatChunk | undefined;
  readonly #estimate: UsageEstimate | undefined;
  #usage: JsonObject | undefined;
  #usageChunk: ChatChunk | undefined;
  #failure: UpstreamFailure | undefined;

  constructor(options: ChatOverChatOptions) {
    this.#options = options;
    this.repairs = options.repairs ?? new Repairs();
    this.#model = options.model;
    this.#budget = options.budget ?? new ReplyBudget();
    this.#estimate = UsageEstimate.of(options, this.repairs);
    this.#reply = {
      repairs: this.repairs,
      newId: options.newId,
      toolNames: options.toolNames ?? new Set(),
      toolSchemas: options.toolSchemas ?? new Map(),
      usedCallIds: options.usedCallIds ?? new Set(),
      tools: options.tools,
      profile: options.profile ?? genericProfile,
      budget: this.#budget,
    };
  }

  get ended(): boolean {
    return this.#ended;
  }

  get failure(): UpstreamFailure | undefined {
    if (this.#failure !== undefined) return this.#failure;
    for (const { reader } of this.#choices.values())
      if (reader.failure !== undefined) return reader.failure;
    return undefined;
  }

  get awaitsEnd(): boolean {
    return !this.#ended && (this.#failure !== undefined || this.#allFinished());
  }

  get progress(): number {
    return this.#budget.progress;
  }

  get usage(): ResponseUsage | null {
    return this.#usage === undefined ? null : responseUsage(this.#usage);
  }

  push(input: ChatInput, out: ChatOutput[]): void {
    if (this.#ended) {
      if (input !== "[DONE]") this.repairs.add("data_after_end", JSON.stringify(input));
      return;
    }
    if (input === "[DONE]") {
      if (this.#choices.size === 0 && this.#failure === undefined) this.#choiceAt(0);
      for (const { reader } of this.#choices.values()) reader.finishByRule();
      return this.#finish(out);
    }
    const usage = usageIn(input);
    if (usage !== undefined) {
      this.#usage = usage;
      this.#usageChunk = input;
    }
    const error = errorIn(input);
    if (error !== input) this.#passChunk(input, out);
    if (error !== undefined) this.#failUnlessCut(upstreamFailure(error));
  }

  end(how: StreamEnd, out: ChatOutput[]): void {
    if (this.#ended) return;
    if (!this.#allFinished() || how === "aborted") this.#failure ??= failureOfEnd(how);
    this.#finish(out);
  }

  fail(failure: UpstreamFailure, out: ChatOutput[]): void {
    if (this.#ended) return;
    this.#failUnlessCut(failure);
    this.#finish(out);
  }

  #passChunk(chunk: ChatChunk, out: ChatOutput[]): void {
    const choices = choicesOf(chunk);
    if (this.#waitsForId(chunk, choices)) return;
    this.#learnEnvelope(chunk, out);
    const passed: ChatChunkChoice[] = [];
    let changed = choices !== chunk.choices;
    for (const choice of choices) {
      const mended = this.#passChoice(chunk, choice);
      if (mended !== choice) changed = true;
      if (mended !== undefined) passed.push(mended);
    }
    const says = passed.length > 0 || (choices.length === 0 && hasMoreThanUsage(chunk));
    if (says) out.push(this.#withEnvelope(chunk, changed ? passed : undefined));
  }

  /** The choice as it may go on: itself, mended, or not at all if it only told of the finish. */
  #passChoice(chunk: ChatChunk, choice: IndexedChoice): ChatChunkChoice | undefined {
    const passing = this.#choiceAt(choice.index);
    passing.reader.read(choice, this.#pieces);
    const delta = begunDelta(passing, this.#mendedDelta(choice, passing, this.#said(passing)));
    empty(this.#pieces);
    const finishes =
      nonEmptyString(choice.finish_reason) !== undefined ||
      nonEmptyString(choice["finishReason"]) !== undefined;
    if (finishes) {
      passing.finishChunk = this.#finishChunk(chunk);
      const held = isEmptyDelta(delta);
      passing.finishChoice = held ? choice : { index: choice.index };
      if (held) return undefined;
    }
    passing.begun = true;
    const silent = choice.finish_reason === undefined || choice.finish_reason === null;
    const clean =
      choice["usage"] === undefined &&
      choice["message"] === undefined &&
      choice["error"] === undefined;
    if (delta === choice.delta && silent && clean) return choice;
    const mended = { ...withoutMoved(choice), delta };
    if (!silent || finishes) mended.finish_reason = null;
    return mended;
  }

  /** The fields that go out again with the finish. Each choice that a chunk finishes repeats them, so they are counted. */
  #finishChunk(chunk: ChatChunk): ChatChunk {
    const { choices: _choices, ...fields } = withoutUsage(chunk);
    this.#budget.addValue(fields as JsonObject);
    return fields;
  }

  /** What the choice has said just now, its calls as their tools were declared. */
  #said({ declared }: PassingChoice): readonly Piece[] {
    this.#estimate?.addPieces(this.#pieces);
    return declared === undefined ? this.#pieces : declared.read(this.#pieces);
  }

  #mendedDelta(
    choice: ChatChunkChoice,
    { calls }: PassingChoice,
    said: readonly Piece[],
  ): ChatDelta {
    return mendedDelta(choice, said, calls.read(said));
  }

  #choiceAt(index: number): PassingChoice {
    let passing = this.#choices.get(index);
    if (passing === undefined) {
      this.#budget.addChoice();
      const reader = new ChoiceReader(index, this.#reply);
      const { tools, toolCalls } = this.#options;
      passing = {
        reader,
        declared: tools === undefined ? undefined : new DeclaredCalls(tools, this.repairs, index),
        calls: toolCalls === "whole" ? new WholeCalls() : new CallDeltas(),
        begun: false,
        ended: false,
        finishChunk: undefined,
        finishChoice: undefined,
      };
      this.#choices.set(index, passing);
    }
    return passing;
  }

  /** After `length` an error only says once more that the reply was cut. */
  #failUnlessCut(failure: UpstreamFailure): void {
    for (const { reader } of this.#choices.values()) reader.failUnlessCut(failure);
    if (this.#choices.size === 0) this.#failure = failure;
  }

  #finish(out: ChatOutput[]): void {
    for (const chunk of this.#early.splice(0)) out.push(this.#withEnvelope(chunk, undefined));
    let failure = this.#failure;
    for (const [index, passing] of this.#choices) {
      // Already ended when another choice exceeded a limit.
      if (passing.ended) {
        failure ??= passing.reader.failure;
        continue;
      }
      // What befell the whole reply befell each choice; what befell one choice is no matter of the others.
      if (this.#failure !== undefined) passing.reader.fail(this.#failure);
      const own = this.#finishChoice(index, passing, out);
      passing.ended = true;
      failure ??= own;
    }
    const estimated = failure === undefined ? this.#estimate?.unlessTold(this.#usage) : undefined;
    if (estimated !== undefined) this.#usage = estimatedChatUsage(estimated);
    if (this.#usage !== undefined && this.#options.includeUsage !== false) {
      const chunk = this.#withEnvelope(withoutUsage(this.#usageChunk ?? {}), []);
      out.push({ ...chunk, usage: chatUsage(this.#usage) });
    }
    this.#ended = true;
    out.push(failure === undefined ? "[DONE]" : { error: chatError(failure) });
  }

  #finishChoice(
    index: number,
    passing: PassingChoice,
    out: ChatOutput[],
  ): UpstreamFailure | undefined {
    const { reader, finishChoice } = passing;
    const finish = reader.end(this.#pieces);
    const said = this.#said(passing);
    const held = this.#mendedDelta({ index }, passing, said);
    empty(this.#pieces);
    // What was held back goes out on its own, so that the last chunk of a choice only says how it ended.
    if (!isEmptyDelta(held)) {
      const delta = begunDelta(passing, held);
      out.push(this.#withEnvelope({}, [{ index, delta, finish_reason: null }]));
      passing.begun = true;
    }
    if (finish.kind === "failed") return finish;
    const delta = begunDelta(passing, {});
    const last = { ...withoutMoved(finishChoice ?? {}), index, delta, finish_reason: finish.kind };
    out.push(this.#withEnvelope(passing.finishChunk ?? {}, [last]));
    return undefined;
  }

  #allFinished(): boolean {
    if (this.#choices.size === 0) return false;
    for (const { reader } of this.#choices.values()) if (!reader.hasFinished) return false;
    return true;
  }

  #waitsForId(chunk: ChatChunk, choices: IndexedChoice[]): boolean {
    if (this.#id !== undefined || choices.length > 0 || nonEmptyString(chunk.id) !== undefined)
      return false;
    if (!hasMoreThanUsage(chunk)) return true;
    if (this.#early.length === earlyKept) return false;
    this.#early.push(chunk);
    return true;
  }

  #learnEnvelope(chunk: ChatChunk, out: ChatOutput[]): void {
    this.#lastChunk = chunk;
    if (typeof chunk.created === "number" && chunk.created > 0) this.#created ??= chunk.created;
    this.#model ??= repeatableString(chunk.model);
    if (this.#id !== undefined) return;
    this.#id = repeatableString(chunk.id) ?? this.#options.newId("chatcmpl");
    for (const early of this.#early.splice(0)) out.push(this.#withEnvelope(early, undefined));
  }

  /** The chunk with what every chunk must have. The same object if it has it all and its choices stay. */
  #withEnvelope(chunk: ChatChunk, choices: ChatChunkChoice[] | undefined): ChatChunk {
    const id = (this.#id ??= this.#options.newId("chatcmpl"));
    const model = this.#model ?? this.#options.requestedModel ?? "";
    const fits =
      chunk.id === id &&
      chunk.model === model &&
      chunk.object === "chat.completion.chunk" &&
      typeof chunk.created === "number" &&
      Array.isArray(chunk.choices);
    const usage = chunk.usage !== undefined && chunk.usage !== null;
    if (fits && choices === undefined && !usage && chunk.error === undefined) return chunk;
    if (!fits && this.#lastChunk === chunk)
      // An id may be any JSON: an object with a `toString` of its own cannot be put into a text.
      this.repairs.add("envelope_completed", `id ${nonEmptyString(chunk.id) ?? "missing"}`);
    const { usage: moved, error: _error, choices: own, ...rest } = chunk;
    if (isObject(moved)) this.repairs.add("usage_moved", JSON.stringify(moved));
    return {
      ...rest,
      id,
      object: "chat.completion.chunk",
      created: typeof chunk.created === "number" ? chunk.created : this.#createdAt(),
      model,
      choices: choices ?? (Array.isArray(own) ? own : []),
    };
  }

  #createdAt(): number {
    return this.#created ?? this.#options.createdAt;
  }
}
