import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import { empty, type StreamEnd, type StreamMachine } from "../machine.ts";
import { ChoiceReader, type Piece, type ReplyOptions } from "../chat-upstream/choice.ts";
import { choicesOf, type IndexedChoice } from "../chat-upstream/choices.ts";
import type { ChatInput } from "../chat-upstream/chunk-reader.ts";
import { failureOfEnd } from "../chat-upstream/ending.ts";
import { upstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { chatUsage, usageIn } from "../mapping/usage.ts";
import { genericProfile, type ReplyFlags } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import type {
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ChatOutput,
  ChatToolCallDelta,
} from "../shapes/chat-reply.ts";
import type { AssembledCall } from "../tools/assembler.ts";

export interface ChatOverChatOptions {
  /** An id for the reply or for a call, where the upstream sends none: `newId("chatcmpl")`, `newId("call")`. */
  newId: (prefix: string) => string;
  /** Seconds since 1970, for an upstream that does not tell. */
  createdAt: number;
  /** The model's name for the client; the upstream's own where it is not given. */
  model?: string;
  /** Names of the tools that were offered. */
  toolNames?: ReadonlySet<string>;
  /** Their parameters, by name: some models write calls whose values have no type of their own. */
  toolSchemas?: ReadonlyMap<string, JsonObject>;
  /** Call ids of the history, which no new call may have again. */
  usedCallIds?: ReadonlySet<string>;
  /** Whether the client asked for usage (`stream_options.include_usage`). */
  includeUsage?: boolean;
  /**
   * Calls as the deltas they came in, or `whole`: each in one piece before the finish, in `delta.tool_calls` if it may
   * run and in `delta.incomplete_tool_calls` if not.
   */
  toolCalls?: "deltas" | "whole";
  /** How the upstream's replies differ; the generic profile where it is not given. */
  profile?: ReplyFlags;
  repairs?: Repairs;
}

/** One choice on its way through, with the chunk that told of its finish. */
interface PassingChoice {
  reader: ChoiceReader;
  finishChunk: ChatChunk | undefined;
  finishChoice: ChatChunkChoice | undefined;
}

/**
 * A Chat client on a Chat upstream: the same chunks, repaired. Deltas stay deltas and fields we do not know pass; ids,
 * call indexes, the finish and the usage are put right. A chunk with nothing to mend goes out as it came in.
 */
export class ChatOverChat implements StreamMachine<ChatInput, ChatOutput> {
  readonly repairs: Repairs;
  readonly #options: ChatOverChatOptions;
  readonly #reply: ReplyOptions;
  readonly #choices = new Map<number, PassingChoice>();
  readonly #pieces: Piece[] = [];
  /** Chunks without id and choices that came first: Azure's filter results. They get the id that comes later. */
  #early: ChatChunk[] = [];
  #ended = false;
  #id: string | undefined;
  #created: number | undefined;
  #model: string | undefined;
  #lastChunk: ChatChunk | undefined;
  #usage: JsonObject | undefined;
  #failure: UpstreamFailure | undefined;

  constructor(options: ChatOverChatOptions) {
    this.#options = options;
    this.repairs = options.repairs ?? new Repairs();
    this.#model = options.model;
    this.#reply = {
      repairs: this.repairs,
      newId: options.newId,
      toolNames: options.toolNames ?? new Set(),
      toolSchemas: options.toolSchemas ?? new Map(),
      usedCallIds: options.usedCallIds ?? new Set(),
      profile: options.profile ?? genericProfile,
    };
  }

  /** True when only usage and the sentinel can still come: after this, wait a second at the most. */
  get awaitsEnd(): boolean {
    return !this.#ended && (this.#failure !== undefined || this.#allFinished());
  }

  push(input: ChatInput, out: ChatOutput[]): void {
    if (this.#ended) {
      if (input !== "[DONE]") this.repairs.add("data_after_end", "");
      return;
    }
    if (input === "[DONE]") {
      for (const { reader } of this.#choices.values()) reader.finishByRule();
      return this.#finish(out);
    }
    const usage = usageIn(input);
    if (usage !== undefined) this.#usage = usage;
    this.#passChunk(input, out);
    if (input.error !== undefined && input.error !== null) this.#readError(input.error);
  }

  end(how: StreamEnd, out: ChatOutput[]): void {
    if (this.#ended) return;
    if (!this.#allFinished() || how === "aborted") this.#failure ??= failureOfEnd(how);
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
    const delta = this.#mendedDelta(choice, passing.reader);
    empty(this.#pieces);
    const finishes =
      nonEmptyString(choice.finish_reason) !== undefined ||
      nonEmptyString(choice["finishReason"]) !== undefined;
    if (finishes) {
      passing.finishChunk = chunk;
      const held = isEmptyDelta(delta);
      passing.finishChoice = held ? choice : { index: choice.index };
      if (held) return undefined;
    }
    const silent = choice.finish_reason === undefined || choice.finish_reason === null;
    if (delta === choice.delta && silent && choice["usage"] === undefined) return choice;
    const mended: ChatChunkChoice = { ...choice, delta };
    delete mended["usage"];
    delete mended["finishReason"];
    if (!silent || finishes) mended.finish_reason = null;
    return mended;
  }

  #mendedDelta(choice: ChatChunkChoice, reader: ChoiceReader): ChatDelta {
    const said =
      this.#options.toolCalls === "whole"
        ? wholeCalls(this.#pieces, reader)
        : callDeltas(this.#pieces, reader);
    return mendedDelta(choice, this.#pieces, said);
  }

  #choiceAt(index: number): PassingChoice {
    let passing = this.#choices.get(index);
    if (passing === undefined) {
      const reader = new ChoiceReader(index, this.#reply);
      passing = { reader, finishChunk: undefined, finishChoice: undefined };
      this.#choices.set(index, passing);
    }
    return passing;
  }

  #readError(error: unknown): void {
    // After `length` an error only says once more that the reply was cut.
    const { code, message } = upstreamFailure(error);
    for (const { reader } of this.#choices.values()) reader.failUnlessCut(code, message);
    if (this.#choices.size === 0) this.#failure = { code, message };
  }

  #finish(out: ChatOutput[]): void {
    this.#ended = true;
    for (const chunk of this.#early.splice(0)) out.push(this.#withEnvelope(chunk, undefined));
    for (const [index, passing] of this.#choices) this.#finishChoice(index, passing, out);
    if (this.#usage !== undefined && this.#options.includeUsage !== false) {
      const chunk = this.#withEnvelope({ choices: [] }, undefined);
      out.push({ ...chunk, usage: chatUsage(this.#usage) });
    }
    out.push(this.#failure === undefined ? "[DONE]" : errorChunk(this.#failure));
  }

  #finishChoice(index: number, passing: PassingChoice, out: ChatOutput[]): void {
    const { reader, finishChoice } = passing;
    if (this.#failure !== undefined) reader.fail(this.#failure.code, this.#failure.message);
    const finish = reader.end(this.#pieces);
    const delta = this.#mendedDelta({ index }, reader);
    empty(this.#pieces);
    if (finish.kind === "failed") {
      this.#failure ??= finish;
      if (!isEmptyDelta(delta)) out.push(this.#ownChunk({ index, delta, finish_reason: null }));
      return;
    }
    // What was held back goes out on its own, so that the last chunk of a choice only says how it ended.
    if (!isEmptyDelta(delta)) out.push(this.#ownChunk({ index, delta, finish_reason: null }));
    const last: ChatChunkChoice = { ...finishChoice, index, delta: {}, finish_reason: finish.kind };
    delete last["finishReason"];
    delete last["usage"];
    out.push(this.#withEnvelope(passing.finishChunk ?? {}, [last]));
  }

  #allFinished(): boolean {
    if (this.#choices.size === 0) return false;
    for (const { reader } of this.#choices.values()) if (!reader.hasFinished) return false;
    return true;
  }

  #waitsForId(chunk: ChatChunk, choices: IndexedChoice[]): boolean {
    if (this.#id !== undefined || choices.length > 0 || nonEmptyString(chunk.id) !== undefined)
      return false;
    if (this.#early.length === 4 || !hasMoreThanUsage(chunk)) return true;
    this.#early.push(chunk);
    return true;
  }

  #learnEnvelope(chunk: ChatChunk, out: ChatOutput[]): void {
    this.#lastChunk = chunk;
    if (typeof chunk.created === "number" && chunk.created > 0) this.#created ??= chunk.created;
    this.#model ??= nonEmptyString(chunk.model);
    if (this.#id !== undefined) return;
    this.#id = nonEmptyString(chunk.id) ?? this.#options.newId("chatcmpl");
    for (const early of this.#early.splice(0)) out.push(this.#withEnvelope(early, undefined));
  }

  #ownChunk(choice: ChatChunkChoice): ChatChunk {
    return this.#withEnvelope({}, [choice]);
  }

  /** The chunk with what every chunk must have. The same object if it has it all and its choices stay. */
  #withEnvelope(chunk: ChatChunk, choices: ChatChunkChoice[] | undefined): ChatChunk {
    const id = (this.#id ??= this.#options.newId("chatcmpl"));
    const model = this.#model ?? "";
    const fits =
      chunk.id === id &&
      chunk.model === model &&
      chunk.object === "chat.completion.chunk" &&
      typeof chunk.created === "number" &&
      Array.isArray(chunk.choices);
    const usage = chunk.usage !== undefined && chunk.usage !== null;
    if (fits && choices === undefined && !usage && chunk.error === undefined) return chunk;
    if (!fits && this.#lastChunk === chunk) this.repairs.add("envelope_completed", "");
    const { usage: moved, error: _error, choices: own, ...rest } = chunk;
    if (isObject(moved)) this.repairs.add("usage_moved", "");
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

/** A failure on this wire: never a finish that nobody sent (decision 9). */
function errorChunk({ code, message }: UpstreamFailure): ChatChunk {
  return { error: { message, type: "upstream_error", code, param: null } };
}

/** A chunk without choices may still say something that only this provider knows. */
function hasMoreThanUsage(chunk: ChatChunk): boolean {
  for (const field in chunk) {
    const known =
      /^(?:id|object|created|model|choices|usage|error|obfuscation|service_tier|system_fingerprint)$/;
    if (!known.test(field) && chunk[field] !== null) return true;
  }
  return false;
}

/** What a delta says of calls. */
type SaidCalls = Pick<ChatDelta, "tool_calls" | "incomplete_tool_calls">;

/** The delta as it goes on; the same object where the pieces say what it says. */
function mendedDelta(
  choice: ChatChunkChoice,
  pieces: readonly Piece[],
  calls: SaidCalls | undefined,
): ChatDelta {
  const delta = isObject(choice.delta) ? (choice.delta as ChatDelta) : {};
  let text = "";
  let reasoning = "";
  for (const piece of pieces) {
    if (piece.type === "text") text += piece.text;
    else if (piece.type === "reasoning" && piece.inContent) reasoning += piece.text;
  }
  const hadCalls = isObject(delta.function_call) || (delta.tool_calls ?? null) !== null;
  const sameText = (nonEmptyString(delta.content) ?? "") === text && !Array.isArray(delta.content);
  if (sameText && reasoning === "" && calls === undefined && !hadCalls && choice.delta === delta)
    return delta;
  const { content, tool_calls: _calls, function_call: _call, ...rest } = delta;
  const mended: ChatDelta = { ...rest, ...calls };
  if (text !== "") mended.content = text;
  else if (content !== undefined) mended.content = typeof content === "string" ? "" : null;
  if (reasoning !== "")
    mended.reasoning_content = (nonEmptyString(delta.reasoning_content) ?? "") + reasoning;
  return mended;
}

function callDeltas(pieces: readonly Piece[], reader: ChoiceReader): SaidCalls | undefined {
  let calls: ChatToolCallDelta[] | undefined;
  for (const piece of pieces)
    if (piece.type === "call.opened" || piece.type === "call.arguments")
      addCallDelta((calls ??= []), piece, reader);
  return calls === undefined ? undefined : { tool_calls: calls };
}

/** Calls are closed at the end of the reply only: before it this answers nothing. */
function wholeCalls(pieces: readonly Piece[], reader: ChoiceReader): SaidCalls | undefined {
  const closed = pieces
    .filter((piece) => piece.type === "call.closed")
    .toSorted((a, b) => a.call.index - b.call.index);
  if (closed.length === 0) return undefined;
  const listed = (whole: boolean) =>
    closed
      .filter((piece) => piece.whole === whole)
      .map(({ call, arguments: text }) => ({
        ...openedCall(call, reader),
        ...describedCall(call, call.name, text),
      }));
  const runnable = listed(true);
  const incomplete = listed(false);
  return {
    ...(runnable.length > 0 ? { tool_calls: runnable } : {}),
    ...(incomplete.length > 0 ? { incomplete_tool_calls: incomplete } : {}),
  };
}

/** What a fragment adds to its call; the opening and the first arguments make one entry. */
function addCallDelta(
  calls: ChatToolCallDelta[],
  piece: Piece & { type: "call.opened" | "call.arguments" },
  reader: ChoiceReader,
): void {
  const { call } = piece;
  if (piece.type === "call.opened") {
    calls.push({ ...openedCall(call, reader), ...describedCall(call, call.name, "") });
    return;
  }
  const open = calls.find((entry) => entry.index === call.index);
  const { name, text } = saidSoFar(open);
  const described = describedCall(call, name, text + piece.delta);
  if (open === undefined) calls.push({ index: call.index, ...described });
  else Object.assign(open, described);
}

function openedCall(call: AssembledCall, reader: ChoiceReader): ChatToolCallDelta {
  const extra = reader.callExtras[call.id];
  return {
    index: call.index,
    id: call.id,
    type: call.kind,
    ...(extra === undefined ? {} : { extra_content: extra }),
  };
}

function saidSoFar(entry: ChatToolCallDelta | undefined): { name?: string; text: string } {
  const name = nonEmptyString(entry?.function?.name ?? entry?.custom?.name);
  const text = nonEmptyString(entry?.function?.arguments ?? entry?.custom?.input) ?? "";
  return name === undefined ? { text } : { name, text };
}

function describedCall(call: AssembledCall, name: string | undefined, text: string) {
  const named = name === undefined ? {} : { name };
  return call.kind === "custom"
    ? { custom: { ...named, input: text } }
    : { function: { ...named, arguments: text } };
}

function isEmptyDelta(delta: ChatDelta): boolean {
  for (const field in delta) {
    const value = delta[field];
    if (field === "role" || value === null || value === "" || value === undefined) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    return false;
  }
  return true;
}
