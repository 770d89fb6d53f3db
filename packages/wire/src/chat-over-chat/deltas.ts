import type { Piece } from "../chat-upstream/choice.ts";
import { isDeepEqual, isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { reasoningFields } from "../mapping/reasoning.ts";
import type { ChatChunkChoice, ChatDelta, ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { ValueBoundary } from "../tools/arguments.ts";
import type { AssembledCall } from "../tools/assembler.ts";

/** What a delta says of calls. */
export type SaidCalls = Pick<ChatDelta, "tool_calls" | "incomplete_tool_calls">;

/** The delta as it goes on; the same object where the pieces say what it says. */
export function mendedDelta(
  choice: ChatChunkChoice,
  pieces: readonly Piece[],
  said: SaidCalls | undefined,
): ChatDelta {
  const delta = isObject(choice.delta) ? (choice.delta as ChatDelta) : {};
  let text = "";
  let reasoning = "";
  let repeated = false;
  const images: JsonObject[] = [];
  for (const piece of pieces) {
    if (piece.type === "text") text += piece.text;
    else if (piece.type === "reasoning" && piece.inContent) reasoning += piece.text;
    else if (piece.type === "reasoning.repeated") repeated = true;
    else if (piece.type === "image" && Array.isArray(delta.content))
      images.push({ type: "image_url", image_url: { url: piece.url } });
  }
  const hadCalls = isObject(delta.function_call) || (delta.tool_calls ?? null) !== null;
  const sameCalls =
    said === undefined
      ? !hadCalls
      : said.incomplete_tool_calls === undefined && isDeepEqual(said.tool_calls, delta.tool_calls);
  const silent = delta.content === undefined || delta.content === null;
  const sameText = silent ? text === "" : delta.content === text;
  const same = sameText && sameCalls && reasoning === "" && !repeated;
  if (same && choice.delta === delta) return delta;
  const { content, tool_calls: _calls, function_call: _call, ...rest } = delta;
  const mended: ChatDelta = { ...rest, ...said };
  if (text !== "") mended.content = text;
  else if (content !== undefined) mended.content = typeof content === "string" ? "" : null;
  if (repeated) for (const field of reasoningFields) delete mended[field];
  if (images.length > 0) mended["images"] = images;
  if (reasoning !== "")
    mended.reasoning_content = (nonEmptyString(delta.reasoning_content) ?? "") + reasoning;
  return mended;
}

/** The first delta of a choice says who speaks: the official SDK refuses a choice that never does. */
export function begunDelta({ begun }: { begun: boolean }, delta: ChatDelta): ChatDelta {
  if (begun || nonEmptyString(delta.role) !== undefined) return delta;
  return { ...delta, role: "assistant" };
}

export function isEmptyDelta(delta: ChatDelta): boolean {
  for (const field in delta) {
    const value = delta[field];
    if (field === "role" || value === null || value === "" || value === undefined) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    return false;
  }
  return true;
}

type CallPiece = Piece & { type: "call.opened" | "call.arguments" | "call.fields" };

/**
 * Calls as the deltas they come in, one call after the other: OpenAI's SDK takes a call for ended when the next one
 * begins, and would parse what is still held back of it, or comes in turns. So the next one waits.
 */
export class CallDeltas {
  #speaking: SpeakingCall | undefined;
  /** What has come of calls that wait for their turn, in the order in which they opened. */
  readonly #waiting = new Map<AssembledCall, CallPiece[]>();

  read(pieces: readonly Piece[]): SaidCalls | undefined {
    const calls = new CallEntries();
    for (const piece of pieces)
      switch (piece.type) {
        case "call.opened":
        case "call.arguments":
        case "call.fields":
          this.#take(piece, calls);
          break;
        case "call.closed":
          if (piece.call === this.#speaking?.call) this.#next(calls);
          break;
        default:
      }
    return calls.list.length === 0 ? undefined : { tool_calls: calls.list };
  }

  #take(piece: CallPiece, calls: CallEntries): void {
    const { call } = piece;
    const waiting = this.#waiting.get(call);
    if (waiting !== undefined) return void waiting.push(piece);
    if (piece.type === "call.opened") {
      if (this.#speaking?.goesOn === true) return void this.#waiting.set(call, [piece]);
      this.#speaking = new SpeakingCall(call);
    }
    this.#put(piece, calls);
    if (this.#waiting.size > 0 && this.#speaking?.goesOn !== true) this.#next(calls);
  }

  /** What comes late for a call that has had its turn is put out too. */
  #put(piece: CallPiece, calls: CallEntries): void {
    calls.add(piece);
    if (piece.type === "call.arguments" && piece.call === this.#speaking?.call)
      this.#speaking.add(piece.delta);
  }

  #next(calls: CallEntries): void {
    this.#speaking = undefined;
    for (const [call, pieces] of this.#waiting) {
      this.#waiting.delete(call);
      this.#speaking = new SpeakingCall(call);
      for (const piece of pieces) this.#put(piece, calls);
      if (this.#speaking.goesOn) return;
    }
  }
}

/** The call whose turn it is. Every character of its arguments is looked at once, and only if another call waits. */
class SpeakingCall {
  readonly call: AssembledCall;
  #arguments = "";
  #unread = "";
  readonly #boundary = new ValueBoundary();
  #state: "open" | "whole" | "not JSON" = "open";

  constructor(call: AssembledCall) {
    this.call = call;
  }

  add(delta: string): void {
    this.#unread += delta;
  }

  /** Whether its arguments are not whole yet. Custom input has no end to wait for; what is not JSON never ends. */
  get goesOn(): boolean {
    if (this.call.kind === "custom") return false;
    if (this.#unread !== "") this.#read();
    return this.#state !== "whole";
  }

  #read(): void {
    const unread = this.#unread;
    this.#unread = "";
    if (this.#state !== "open") {
      if (unread.trim() !== "") this.#state = "not JSON";
      return;
    }
    this.#arguments += unread;
    const end = this.#boundary.feed(unread, 0);
    if (end === -1) return;
    const isWhole = unread.slice(end).trim() === "" && isObject(parseJson(this.#arguments));
    this.#state = isWhole ? "whole" : "not JSON";
  }
}

/** Calls in one piece each, when they close: at the end of the reply, and not before. */
export class WholeCalls {
  /** Fields that we do not know, of the calls that are still open. */
  readonly #fields = new Map<AssembledCall, Piece & { type: "call.fields" }>();

  read(pieces: readonly Piece[]): SaidCalls | undefined {
    const runnable = new CallEntries();
    const incomplete = new CallEntries();
    for (const piece of pieces) {
      if (piece.type === "call.fields") this.#keep(piece);
      if (piece.type !== "call.closed") continue;
      const calls = piece.whole ? runnable : incomplete;
      calls.add({ type: "call.opened", call: piece.call });
      const fields = this.#fields.get(piece.call);
      if (fields !== undefined) calls.add(fields);
      calls.add({ type: "call.arguments", call: piece.call, delta: piece.arguments });
    }
    if (runnable.list.length === 0 && incomplete.list.length === 0) return undefined;
    return {
      ...(runnable.list.length > 0 ? { tool_calls: inOrder(runnable.list) } : {}),
      ...(incomplete.list.length > 0 ? { incomplete_tool_calls: inOrder(incomplete.list) } : {}),
    };
  }

  #keep(piece: Piece & { type: "call.fields" }): void {
    const before = this.#fields.get(piece.call);
    if (before === undefined)
      return void this.#fields.set(piece.call, {
        ...piece,
        fields: { ...piece.fields },
        described: { ...piece.described },
      });
    Object.assign(before.fields, piece.fields);
    Object.assign(before.described, piece.described);
  }
}

function inOrder(calls: ChatToolCallDelta[]): ChatToolCallDelta[] {
  return calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
}

/** More entries than this are found by a map. */
const mostSearched = 8;

/** The entries of one delta; the opening of a call and its first arguments make one entry. */
class CallEntries {
  readonly list: ChatToolCallDelta[] = [];
  #byIndex: Map<number, ChatToolCallDelta> | undefined;

  add(piece: CallPiece): void {
    const { call } = piece;
    if (piece.type === "call.opened") {
      this.#push({ ...opened(call), ...describedCall(call, call.name, "") });
      return;
    }
    const entry = this.#find(call.index) ?? this.#push({ index: call.index });
    const key = call.kind === "custom" ? "custom" : "function";
    if (piece.type === "call.fields") {
      Object.assign(entry, piece.fields);
      if (Object.keys(piece.described).length > 0)
        entry[key] = { ...entry[key], ...piece.described };
      return;
    }
    if (entry[key] === undefined) {
      entry[key] = key === "custom" ? { input: piece.delta } : { arguments: piece.delta };
      return;
    }
    const { name, text } = saidSoFar(entry);
    entry[key] = { ...entry[key], ...describedCall(call, name, text + piece.delta)[key] };
  }

  #find(index: number): ChatToolCallDelta | undefined {
    const { list } = this;
    const last = list[list.length - 1];
    if (last === undefined || last.index === index) return last;
    if (list.length <= mostSearched) return list.find((entry) => entry.index === index);
    this.#byIndex ??= new Map(list.map((entry) => [entry.index ?? 0, entry]));
    return this.#byIndex.get(index);
  }

  #push(entry: ChatToolCallDelta): ChatToolCallDelta {
    this.list.push(entry);
    this.#byIndex?.set(entry.index ?? 0, entry);
    return entry;
  }
}

function opened({ index, id, kind: type }: AssembledCall): ChatToolCallDelta {
  return { index, id, type };
}

function saidSoFar(entry: ChatToolCallDelta): { name?: string; text: string } {
  const name = nonEmptyString(entry.function?.name ?? entry.custom?.name);
  const text = nonEmptyString(entry.function?.arguments ?? entry.custom?.input) ?? "";
  return name === undefined ? { text } : { name, text };
}

function describedCall(
  call: AssembledCall,
  name: string | undefined,
  text: string,
): Pick<ChatToolCallDelta, "function" | "custom"> {
  const named = name === undefined ? {} : { name };
  return call.kind === "custom"
    ? { custom: { ...named, input: text } }
    : { function: { ...named, arguments: text } };
}
