import { isObject, nonEmptyString, boundedString, type JsonObject } from "../json.ts";
import { clearArray, type ClientTranslator, type StreamEndReason } from "../stream-machine.ts";
import { ChoiceReader } from "../chat-upstream/choice-reader.ts";
import {
  getIndexedChoices,
  findChunkError,
  type IndexedChoice,
} from "../chat-upstream/chunk-fields.ts";
import type { UpstreamChatEvent } from "../chat-upstream/chunk-reader.ts";
import { failureFromStreamEnd } from "../stream-end-failure.ts";
import {
  toChatError,
  parseUpstreamFailure,
  type UpstreamFailure,
} from "../mapping/upstream-error.ts";
import type { CachedReasoning } from "../mapping/reasoning.ts";
import { toChatUsage, toEstimatedChatUsage, toResponseUsage, findUsage } from "../mapping/usage.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyReaderOptions } from "../reply/reply-reader.ts";
import { UsageEstimator } from "../reply/usage-estimator.ts";
import { genericReplyFlags, type ReplyFlags } from "../upstream-profile.ts";
import { Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type {
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ChatStreamEvent,
} from "../shapes/chat-reply.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { DeclaredCallMapper } from "../chat-client/declared-call-mapper.ts";
import {
  withAssistantRole,
  SequentialCallDeltas,
  isEmptyDelta,
  repairDelta,
  BufferedCallDeltas,
} from "./deltas.ts";
import { hasProviderFields, withoutRelocatedFields, withoutChunkUsage } from "./envelope.ts";

export interface ChatOverChatOptions {
  /** Returns an id for a reply or call without one, for example for `newId("chatcmpl")` or `newId("call")`. */
  newId: (prefix: string) => string;
  /** Creation time in seconds since 1970, used if the upstream sends none. */
  createdAt: number;
  /** Model name in the reply. Default: the name that the upstream sends. */
  model?: string;
  /** Model name of the request, used if the upstream sends none. */
  requestedModel?: string;
  /** Names of the offered tools. Default: none. */
  toolNames?: ReadonlySet<string>;
  /** Maps calls to the declared tools, if these were offered under other names or in another form. */
  tools?: ToolTranslation;
  /** Parameter schemas by tool name, for leaked calls whose values have no types. */
  toolSchemas?: ReadonlyMap<string, JsonObject>;
  /** Call ids of the history, which new calls must not use. Default: none. */
  usedCallIds?: ReadonlySet<string>;
  /** Whether the client requested usage (`stream_options.include_usage`). Default true. */
  includeUsage?: boolean;
  /** Called at the end of a choice with calls and reasoning, in case the client drops the reasoning. */
  onReasoning?: (reasoning: CachedReasoning, callIds: string[]) => void;
  /** Estimates the input tokens, for upstreams that report no usage (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
  /**
   * `deltas` (default): calls are streamed. `complete`: each call is sent in one piece before the finish, in
   * `delta.tool_calls` if it may run and in `delta.incomplete_tool_calls` if not.
   */
  toolCalls?: "deltas" | "complete";
  /** Quirks of the upstream's replies. Default: the generic profile. */
  profile?: ReplyFlags;
  /** Enforces limits on the reply. Default: a new budget with `defaultReplyLimits`. */
  budget?: ReplyBudget;
  repairs?: Repairs;
}

/** Maximum number of chunks that are held back until an id arrives. */
const maxEarlyChunks = 8;

/** The state of one choice, with the chunk that finished it. */
interface ChoiceState {
  reader: ChoiceReader;
  callMapper: DeclaredCallMapper | undefined;
  callDeltas: SequentialCallDeltas | BufferedCallDeltas;
  /** What `onReasoning` receives. */
  reasoningText: string;
  callIds: string[];
  /** True once a delta was sent. The first delta contains the role. */
  hasBegun: boolean;
  /** True once the last chunk of the choice was sent. */
  hasEnded: boolean;
  finishChunk: ChatChunk | undefined;
  finishChoice: ChatChunkChoice | undefined;
}

/**
 * Serves a Chat client from a Chat upstream: the same chunks, repaired. Deltas stay deltas and unknown fields pass
 * through; ids, call indexes, finish reasons and usage are corrected. A valid chunk is forwarded unchanged.
 */
export class ChatOverChat implements ClientTranslator<UpstreamChatEvent, ChatStreamEvent> {
  readonly repairs: Repairs;
  readonly #options: ChatOverChatOptions;
  readonly #readerOptions: ReplyReaderOptions;
  readonly #budget: ReplyBudget;
  readonly #choices = new Map<number, ChoiceState>();
  readonly #events: ReplyPiece[] = [];
  /** Leading chunks without id and choices (Azure's filter results). They are sent with the id of a later chunk. */
  #earlyChunks: ChatChunk[] = [];
  #ended = false;
  #id: string | undefined;
  #created: number | undefined;
  #model: string | undefined;
  #lastChunk: ChatChunk | undefined;
  readonly #estimator: UsageEstimator | undefined;
  #usage: JsonObject | undefined;
  #usageChunk: ChatChunk | undefined;
  #failure: UpstreamFailure | undefined;

  constructor(options: ChatOverChatOptions) {
    this.#options = options;
    this.repairs = options.repairs ?? new Repairs();
    this.#model = options.model;
    this.#budget = options.budget ?? new ReplyBudget();
    this.#estimator = UsageEstimator.create(options, this.repairs);
    this.#readerOptions = {
      repairs: this.repairs,
      newId: options.newId,
      toolNames: options.toolNames ?? new Set(),
      toolSchemas: options.toolSchemas ?? new Map(),
      usedCallIds: options.usedCallIds ?? new Set(),
      tools: options.tools,
      profile: options.profile ?? genericReplyFlags,
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
    return this.#usage === undefined ? null : toResponseUsage(this.#usage);
  }

  push(input: UpstreamChatEvent, out: ChatStreamEvent[]): void {
    if (this.#ended) {
      if (input !== "[DONE]") this.repairs.add("data_after_end", JSON.stringify(input));
      return;
    }
    if (input === "[DONE]") {
      if (this.#choices.size === 0 && this.#failure === undefined) this.#getOrCreateChoice(0);
      for (const { reader } of this.#choices.values()) reader.finishWithoutReason();
      return this.#finish(out);
    }
    const usage = findUsage(input);
    if (usage !== undefined) {
      this.#usage = usage;
      this.#usageChunk = input;
    }
    const error = findChunkError(input);
    if (error !== input) this.#forwardChunk(input, out);
    if (error !== undefined) this.#failUnlessTruncated(parseUpstreamFailure(error));
  }

  end(reason: StreamEndReason, out: ChatStreamEvent[]): void {
    if (this.#ended) return;
    if (!this.#allFinished() || reason === "aborted")
      this.#failure ??= failureFromStreamEnd(reason);
    this.#finish(out);
  }

  fail(failure: UpstreamFailure, out: ChatStreamEvent[]): void {
    if (this.#ended) return;
    this.#failUnlessTruncated(failure);
    this.#finish(out);
  }

  #forwardChunk(chunk: ChatChunk, out: ChatStreamEvent[]): void {
    const choices = getIndexedChoices(chunk);
    if (this.#holdUntilId(chunk, choices)) return;
    this.#updateEnvelope(chunk, out);
    const repairedChoices: ChatChunkChoice[] = [];
    let hasChanges = choices !== chunk.choices;
    for (const choice of choices) {
      const repaired = this.#repairChoice(chunk, choice);
      if (repaired !== choice) hasChanges = true;
      if (repaired !== undefined) repairedChoices.push(repaired);
    }
    const hasContent =
      repairedChoices.length > 0 || (choices.length === 0 && hasProviderFields(chunk));
    if (hasContent) out.push(this.#withEnvelope(chunk, hasChanges ? repairedChoices : undefined));
  }

  /** Returns the choice for the client: unchanged, repaired, or undefined if it only contained the finish. */
  #repairChoice(chunk: ChatChunk, choice: IndexedChoice): ChatChunkChoice | undefined {
    const state = this.#getOrCreateChoice(choice.index);
    state.reader.read(choice, this.#events);
    const delta = withAssistantRole(
      state,
      this.#repairDelta(choice, state, this.#mapEvents(state)),
    );
    clearArray(this.#events);
    const isFinishing =
      nonEmptyString(choice.finish_reason) !== undefined ||
      nonEmptyString(choice["finishReason"]) !== undefined;
    if (isFinishing) {
      state.finishChunk = this.#takeFinishFields(chunk);
      const hasNoDelta = isEmptyDelta(delta);
      state.finishChoice = hasNoDelta ? choice : { index: choice.index };
      if (hasNoDelta) return undefined;
    }
    state.hasBegun = true;
    const hasNoFinishReason = choice.finish_reason === undefined || choice.finish_reason === null;
    const hasNoExtraFields =
      choice["usage"] === undefined &&
      choice["message"] === undefined &&
      choice["error"] === undefined;
    if (delta === choice.delta && hasNoFinishReason && hasNoExtraFields) return choice;
    const repaired = { ...withoutRelocatedFields(choice), delta };
    if (!hasNoFinishReason || isFinishing) repaired.finish_reason = null;
    return repaired;
  }

  /**
   * Returns the fields that are sent again with the finish. They count against the budget, because every finishing choice
   * repeats them.
   */
  #takeFinishFields(chunk: ChatChunk): ChatChunk {
    const { choices: _choices, ...fields } = withoutChunkUsage(chunk);
    this.#budget.addValue(fields as JsonObject);
    return fields;
  }

  /** Returns the latest events of the choice, with calls mapped to the declared tools. */
  #mapEvents(state: ChoiceState): readonly ReplyPiece[] {
    const { callMapper } = state;
    this.#estimator?.addPieces(this.#events);
    if (this.#options.onReasoning !== undefined)
      for (const event of this.#events)
        if (event.type === "reasoning") state.reasoningText += event.text;
        else if (event.type === "call.opened") state.callIds.push(event.call.id);
    return callMapper === undefined ? this.#events : callMapper.map(this.#events);
  }

  #repairDelta(
    choice: ChatChunkChoice,
    { callDeltas }: ChoiceState,
    events: readonly ReplyPiece[],
  ): ChatDelta {
    return repairDelta(choice, events, callDeltas.read(events));
  }

  #getOrCreateChoice(index: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      this.#budget.addChoice();
      const reader = new ChoiceReader(index, this.#readerOptions);
      const { tools, toolCalls } = this.#options;
      state = {
        reader,
        callMapper:
          tools === undefined ? undefined : new DeclaredCallMapper(tools, this.repairs, index),
        callDeltas:
          toolCalls === "complete" ? new BufferedCallDeltas() : new SequentialCallDeltas(),
        reasoningText: "",
        callIds: [],
        hasBegun: false,
        hasEnded: false,
        finishChunk: undefined,
        finishChoice: undefined,
      };
      this.#choices.set(index, state);
    }
    return state;
  }

  /** Fails all choices except truncated ones: after `length` an error only reports the truncation again. */
  #failUnlessTruncated(failure: UpstreamFailure): void {
    for (const { reader } of this.#choices.values()) reader.failUnlessTruncated(failure);
    if (this.#choices.size === 0) this.#failure = failure;
  }

  #finish(out: ChatStreamEvent[]): void {
    for (const chunk of this.#earlyChunks.splice(0)) out.push(this.#withEnvelope(chunk, undefined));
    let failure = this.#failure;
    for (const [index, state] of this.#choices) {
      // The choice ended in an earlier attempt, in which another choice exceeded a limit.
      if (state.hasEnded) {
        failure ??= state.reader.failure;
        continue;
      }
      // A failure of the reply applies to every choice; a failure of one choice only to that one.
      if (this.#failure !== undefined) state.reader.fail(this.#failure);
      const choiceFailure = this.#finishChoice(index, state, out);
      state.hasEnded = true;
      failure ??= choiceFailure;
    }
    const estimated =
      failure === undefined ? this.#estimator?.estimateUnlessReported(this.#usage) : undefined;
    if (estimated !== undefined) this.#usage = toEstimatedChatUsage(estimated);
    if (this.#usage !== undefined && this.#options.includeUsage !== false) {
      const chunk = this.#withEnvelope(withoutChunkUsage(this.#usageChunk ?? {}), []);
      out.push({ ...chunk, usage: toChatUsage(this.#usage) });
    }
    this.#ended = true;
    out.push(failure === undefined ? "[DONE]" : { error: toChatError(failure) });
  }

  #finishChoice(
    index: number,
    state: ChoiceState,
    out: ChatStreamEvent[],
  ): UpstreamFailure | undefined {
    const { reader, finishChoice } = state;
    const finish = reader.end(this.#events);
    const events = this.#mapEvents(state);
    const bufferedDelta = this.#repairDelta({ index }, state, events);
    clearArray(this.#events);
    // Buffered content is sent separately, so that the last chunk of a choice contains only the finish reason.
    if (!isEmptyDelta(bufferedDelta)) {
      const delta = withAssistantRole(state, bufferedDelta);
      out.push(this.#withEnvelope({}, [{ index, delta, finish_reason: null }]));
      state.hasBegun = true;
    }
    if (finish.kind === "failed") return finish;
    this.#reportReasoning(state);
    const delta = withAssistantRole(state, {});
    const lastChoice = {
      ...withoutRelocatedFields(finishChoice ?? {}),
      index,
      delta,
      finish_reason: finish.kind,
    };
    out.push(this.#withEnvelope(state.finishChunk ?? {}, [lastChoice]));
    return undefined;
  }

  #reportReasoning({ reader, reasoningText, callIds }: ChoiceState): void {
    if (this.#options.onReasoning === undefined || callIds.length === 0) return;
    const opaque = reader.peekOpaqueReasoning();
    if (reasoningText !== "" || opaque !== undefined)
      this.#options.onReasoning({ reasoning: reasoningText, ...opaque }, callIds);
  }

  #allFinished(): boolean {
    if (this.#choices.size === 0) return false;
    for (const { reader } of this.#choices.values()) if (!reader.hasFinished) return false;
    return true;
  }

  #holdUntilId(chunk: ChatChunk, choices: IndexedChoice[]): boolean {
    if (this.#id !== undefined || choices.length > 0 || nonEmptyString(chunk.id) !== undefined)
      return false;
    if (!hasProviderFields(chunk)) return true;
    if (this.#earlyChunks.length === maxEarlyChunks) return false;
    this.#earlyChunks.push(chunk);
    return true;
  }

  #updateEnvelope(chunk: ChatChunk, out: ChatStreamEvent[]): void {
    this.#lastChunk = chunk;
    if (typeof chunk.created === "number" && chunk.created > 0) this.#created ??= chunk.created;
    this.#model ??= boundedString(chunk.model);
    if (this.#id !== undefined) return;
    this.#id = boundedString(chunk.id) ?? this.#options.newId("chatcmpl");
    for (const earlyChunk of this.#earlyChunks.splice(0))
      out.push(this.#withEnvelope(earlyChunk, undefined));
  }

  /** Adds required fields to the chunk. Returns the same object if it has them and its choices are unchanged. */
  #withEnvelope(chunk: ChatChunk, choices: ChatChunkChoice[] | undefined): ChatChunk {
    const id = (this.#id ??= this.#options.newId("chatcmpl"));
    const model = this.#model ?? this.#options.requestedModel ?? "";
    const hasEnvelope =
      chunk.id === id &&
      chunk.model === model &&
      chunk.object === "chat.completion.chunk" &&
      typeof chunk.created === "number" &&
      Array.isArray(chunk.choices);
    const hasUsage = chunk.usage !== undefined && chunk.usage !== null;
    if (hasEnvelope && choices === undefined && !hasUsage && chunk.error === undefined)
      return chunk;
    if (!hasEnvelope && this.#lastChunk === chunk)
      // The id may be any JSON value: an object with a `toString` property cannot be converted to a string.
      this.repairs.add("envelope_completed", `id ${nonEmptyString(chunk.id) ?? "missing"}`);
    const { usage: relocatedUsage, error: _error, choices: chunkChoices, ...rest } = chunk;
    if (isObject(relocatedUsage)) this.repairs.add("usage_moved", JSON.stringify(relocatedUsage));
    return {
      ...rest,
      id,
      object: "chat.completion.chunk",
      created: typeof chunk.created === "number" ? chunk.created : this.#resolveCreatedAt(),
      model,
      choices: choices ?? (Array.isArray(chunkChoices) ? chunkChoices : []),
    };
  }

  #resolveCreatedAt(): number {
    return this.#created ?? this.#options.createdAt;
  }
}
