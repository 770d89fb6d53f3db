import type { Piece } from "../chat-upstream/choice.ts";
import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { reasoningFields } from "../mapping/reasoning.ts";
import type { ChatChunkChoice, ChatDelta, ChatToolCallDelta } from "../shapes/chat-reply.ts";
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
  #speaking: { call: AssembledCall; said: string } | undefined;
  #waiting: CallPiece[] = [];

  read(pieces: readonly Piece[]): SaidCalls | undefined {
    const calls: ChatToolCallDelta[] = [];
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
    return calls.length === 0 ? undefined : { tool_calls: calls };
  }

  #take(piece: CallPiece, calls: ChatToolCallDelta[]): void {
    const { call } = piece;
    if (piece.type === "call.opened" && !this.#isSpeaking()) this.#speaking = { call, said: "" };
    const speaking = this.#speaking;
    // What comes late for a call that has had its turn goes on as it is.
    const waits = piece.type === "call.opened" || this.#waiting.some((each) => each.call === call);
    if (speaking !== undefined && speaking.call !== call && waits) {
      this.#waiting.push(piece);
      return;
    }
    addCallDelta(calls, piece);
    if (speaking?.call !== call || piece.type !== "call.arguments") return;
    speaking.said += piece.delta;
    if (this.#waiting.length > 0 && !this.#isSpeaking()) this.#next(calls);
  }

  /** Whether a call has begun and its arguments are not whole. What is no JSON cannot be waited for. */
  #isSpeaking(): boolean {
    if (this.#speaking === undefined || this.#speaking.call.kind === "custom") return false;
    const { said } = this.#speaking;
    return !said.trimEnd().endsWith("}") || parseJson(said) === undefined;
  }

  #next(calls: ChatToolCallDelta[]): void {
    this.#speaking = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const piece of waiting) this.#take(piece, calls);
  }
}

/** Calls in one piece each, when they close: at the end of the reply, and not before. */
export class WholeCalls {
  /** Fields that we do not know, of the calls that are still open. */
  readonly #fields = new Map<AssembledCall, Piece & { type: "call.fields" }>();

  read(pieces: readonly Piece[]): SaidCalls | undefined {
    const runnable: ChatToolCallDelta[] = [];
    const incomplete: ChatToolCallDelta[] = [];
    for (const piece of pieces) {
      if (piece.type === "call.fields") this.#keep(piece);
      if (piece.type !== "call.closed") continue;
      const calls: ChatToolCallDelta[] = [];
      addCallDelta(calls, { type: "call.opened", call: piece.call });
      const fields = this.#fields.get(piece.call);
      if (fields !== undefined) addCallDelta(calls, fields);
      addCallDelta(calls, { type: "call.arguments", call: piece.call, delta: piece.arguments });
      (piece.whole ? runnable : incomplete).push(...calls);
    }
    if (runnable.length === 0 && incomplete.length === 0) return undefined;
    return {
      ...(runnable.length > 0 ? { tool_calls: inOrder(runnable) } : {}),
      ...(incomplete.length > 0 ? { incomplete_tool_calls: inOrder(incomplete) } : {}),
    };
  }

  #keep(piece: Piece & { type: "call.fields" }): void {
    const before = this.#fields.get(piece.call);
    this.#fields.set(piece.call, {
      ...piece,
      fields: { ...before?.fields, ...piece.fields },
      described: { ...before?.described, ...piece.described },
    });
  }
}

function inOrder(calls: ChatToolCallDelta[]): ChatToolCallDelta[] {
  return calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
}

/** What a piece adds to its call; the opening and the first arguments make one entry. */
function addCallDelta(
  calls: ChatToolCallDelta[],
  piece: Piece & { type: "call.opened" | "call.arguments" | "call.fields" },
): void {
  const { call } = piece;
  if (piece.type === "call.opened") {
    calls.push({ ...opened(call), ...describedCall(call, call.name, "") });
    return;
  }
  let open = calls.find((entry) => entry.index === call.index);
  if (open === undefined) calls.push((open = { index: call.index }));
  const key = call.kind === "custom" ? "custom" : "function";
  if (piece.type === "call.fields") {
    Object.assign(open, piece.fields);
    if (Object.keys(piece.described).length > 0) open[key] = { ...open[key], ...piece.described };
    return;
  }
  const { name, text } = saidSoFar(open);
  open[key] = { ...open[key], ...describedCall(call, name, text + piece.delta)[key] };
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

/** Whether two JSON values say the same. */
function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [one, other] = [a as JsonObject, b as JsonObject];
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isDeepEqual(one[key], other[key]))
  );
}
