import type { ReplyPiece } from "../reply/reply-piece.ts";
import { isDeepEqual, isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import { reasoningFieldNames } from "../mapping/reasoning.ts";
import type { ChatChunkChoice, ChatDelta, ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { JsonValueScanner } from "../tools/arguments-buffer.ts";
import type { AssembledCall } from "../tools/tool-call-assembler.ts";

/** The fields of a delta that contain calls. */
export type CallDeltaFields = Pick<ChatDelta, "tool_calls" | "incomplete_tool_calls">;

/** Builds the delta for the client from the events. Returns the same object if nothing changes. */
export function repairDelta(
  choice: ChatChunkChoice,
  events: readonly ReplyPiece[],
  callFields: CallDeltaFields | undefined,
): ChatDelta {
  const delta = isObject(choice.delta) ? (choice.delta as ChatDelta) : {};
  let text = "";
  let reasoning = "";
  let isReasoningRepeated = false;
  const images: JsonObject[] = [];
  for (const event of events) {
    if (event.type === "text") text += event.text;
    else if (event.type === "reasoning" && event.inContent) reasoning += event.text;
    else if (event.type === "reasoning.repeated") isReasoningRepeated = true;
    else if (event.type === "image" && Array.isArray(delta.content))
      images.push({ type: "image_url", image_url: { url: event.url } });
  }
  const hasCalls = isObject(delta.function_call) || (delta.tool_calls ?? null) !== null;
  const areCallsUnchanged =
    callFields === undefined
      ? !hasCalls
      : callFields.incomplete_tool_calls === undefined &&
        isDeepEqual(callFields.tool_calls, delta.tool_calls);
  const hasNoContent = delta.content === undefined || delta.content === null;
  const isTextUnchanged = hasNoContent ? text === "" : delta.content === text;
  const isUnchanged =
    isTextUnchanged && areCallsUnchanged && reasoning === "" && !isReasoningRepeated;
  if (isUnchanged && choice.delta === delta) return delta;
  const { content, tool_calls: _calls, function_call: _call, ...rest } = delta;
  const repaired: ChatDelta = { ...rest, ...callFields };
  if (text !== "") repaired.content = text;
  else if (content !== undefined) repaired.content = typeof content === "string" ? "" : null;
  if (isReasoningRepeated) for (const field of reasoningFieldNames) delete repaired[field];
  if (images.length > 0) repaired["images"] = images;
  if (reasoning !== "")
    repaired.reasoning_content = (nonEmptyString(delta.reasoning_content) ?? "") + reasoning;
  return repaired;
}

/** Adds the role to the first delta of a choice, because OpenAI's SDK rejects a choice without it. */
export function withAssistantRole(
  { hasBegun }: { hasBegun: boolean },
  delta: ChatDelta,
): ChatDelta {
  if (hasBegun || nonEmptyString(delta.role) !== undefined) return delta;
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

type CallDeltaEvent = ReplyPiece & { type: "call.opened" | "call.arguments" | "call.fields" };

/**
 * Emits calls as deltas, one call after the other. OpenAI's SDK treats a call as ended when the next one begins, and
 * would parse incomplete arguments of interleaved calls. So later calls are held back until the active call is complete.
 */
export class SequentialCallDeltas {
  #activeCall: ActiveCall | undefined;
  /** Events of waiting calls, in the order in which the calls were opened. */
  readonly #waitingEvents = new Map<AssembledCall, CallDeltaEvent[]>();

  read(events: readonly ReplyPiece[]): CallDeltaFields | undefined {
    const calls = new CallDeltaList();
    for (const event of events)
      switch (event.type) {
        case "call.opened":
        case "call.arguments":
        case "call.fields":
          this.#handleEvent(event, calls);
          break;
        case "call.closed":
          if (event.call === this.#activeCall?.call) this.#activateNext(calls);
          break;
        default:
      }
    return calls.deltas.length === 0 ? undefined : { tool_calls: calls.deltas };
  }

  #handleEvent(event: CallDeltaEvent, calls: CallDeltaList): void {
    const { call } = event;
    const waitingEvents = this.#waitingEvents.get(call);
    if (waitingEvents !== undefined) return void waitingEvents.push(event);
    if (event.type === "call.opened") {
      if (this.#activeCall?.isOpen === true) return void this.#waitingEvents.set(call, [event]);
      this.#activeCall = new ActiveCall(call);
    }
    this.#emit(event, calls);
    if (this.#waitingEvents.size > 0 && this.#activeCall?.isOpen !== true)
      this.#activateNext(calls);
  }

  /** Emits an event, including one that arrives late for a finished call. */
  #emit(event: CallDeltaEvent, calls: CallDeltaList): void {
    calls.add(event);
    if (event.type === "call.arguments" && event.call === this.#activeCall?.call)
      this.#activeCall.add(event.delta);
  }

  #activateNext(calls: CallDeltaList): void {
    this.#activeCall = undefined;
    for (const [call, events] of this.#waitingEvents) {
      this.#waitingEvents.delete(call);
      this.#activeCall = new ActiveCall(call);
      for (const event of events) this.#emit(event, calls);
      if (this.#activeCall.isOpen) return;
    }
  }
}

/** The call that is being emitted. Its arguments are scanned once, and only if another call waits. */
class ActiveCall {
  readonly call: AssembledCall;
  #arguments = "";
  #unread = "";
  readonly #scanner = new JsonValueScanner();
  #state: "open" | "complete" | "not JSON" = "open";

  constructor(call: AssembledCall) {
    this.call = call;
  }

  add(delta: string): void {
    this.#unread += delta;
  }

  /** True if the arguments are incomplete. Custom input never counts as incomplete; invalid JSON always does. */
  get isOpen(): boolean {
    if (this.call.kind === "custom") return false;
    if (this.#unread !== "") this.#read();
    return this.#state !== "complete";
  }

  #read(): void {
    const unread = this.#unread;
    this.#unread = "";
    if (this.#state !== "open") {
      if (unread.trim() !== "") this.#state = "not JSON";
      return;
    }
    this.#arguments += unread;
    const end = this.#scanner.scan(unread, 0);
    if (end === -1) return;
    const isComplete = unread.slice(end).trim() === "" && isObject(parseJson(this.#arguments));
    this.#state = isComplete ? "complete" : "not JSON";
  }
}

/** Emits each call in one piece when it closes, at the end of the reply. */
export class BufferedCallDeltas {
  /** Unknown fields of open calls. */
  readonly #fields = new Map<AssembledCall, ReplyPiece & { type: "call.fields" }>();

  read(events: readonly ReplyPiece[]): CallDeltaFields | undefined {
    const completeCalls = new CallDeltaList();
    const incompleteCalls = new CallDeltaList();
    for (const event of events) {
      if (event.type === "call.fields") this.#storeFields(event);
      if (event.type !== "call.closed") continue;
      const calls = event.isComplete ? completeCalls : incompleteCalls;
      calls.add({ type: "call.opened", call: event.call });
      const fields = this.#fields.get(event.call);
      if (fields !== undefined) calls.add(fields);
      calls.add({ type: "call.arguments", call: event.call, delta: event.arguments });
    }
    if (completeCalls.deltas.length === 0 && incompleteCalls.deltas.length === 0) return undefined;
    return {
      ...(completeCalls.deltas.length > 0 ? { tool_calls: sortByIndex(completeCalls.deltas) } : {}),
      ...(incompleteCalls.deltas.length > 0
        ? { incomplete_tool_calls: sortByIndex(incompleteCalls.deltas) }
        : {}),
    };
  }

  #storeFields(event: ReplyPiece & { type: "call.fields" }): void {
    const stored = this.#fields.get(event.call);
    if (stored === undefined)
      return void this.#fields.set(event.call, {
        ...event,
        fields: { ...event.fields },
        functionFields: { ...event.functionFields },
      });
    Object.assign(stored.fields, event.fields);
    Object.assign(stored.functionFields, event.functionFields);
  }
}

function sortByIndex(calls: ChatToolCallDelta[]): ChatToolCallDelta[] {
  return calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
}

/** Maximum number of entries that are searched linearly. For more, a map is used. */
const maxLinearSearch = 8;

/** Collects the entries of one delta. The opening of a call and its first arguments form one entry. */
class CallDeltaList {
  readonly deltas: ChatToolCallDelta[] = [];
  #byIndex: Map<number, ChatToolCallDelta> | undefined;

  add(event: CallDeltaEvent): void {
    const { call } = event;
    if (event.type === "call.opened") {
      this.#push({ ...toOpeningDelta(call), ...toCallFields(call, call.name, "") });
      return;
    }
    const entry = this.#find(call.index) ?? this.#push({ index: call.index });
    const key = call.kind === "custom" ? "custom" : "function";
    if (event.type === "call.fields") {
      Object.assign(entry, event.fields);
      if (Object.keys(event.functionFields).length > 0)
        entry[key] = { ...entry[key], ...event.functionFields };
      return;
    }
    if (entry[key] === undefined) {
      entry[key] = key === "custom" ? { input: event.delta } : { arguments: event.delta };
      return;
    }
    const { name, text } = getPartialCall(entry);
    entry[key] = { ...entry[key], ...toCallFields(call, name, text + event.delta)[key] };
  }

  #find(index: number): ChatToolCallDelta | undefined {
    const { deltas } = this;
    const lastDelta = deltas[deltas.length - 1];
    if (lastDelta === undefined || lastDelta.index === index) return lastDelta;
    if (deltas.length <= maxLinearSearch) return deltas.find((entry) => entry.index === index);
    this.#byIndex ??= new Map(deltas.map((entry) => [entry.index ?? 0, entry]));
    return this.#byIndex.get(index);
  }

  #push(entry: ChatToolCallDelta): ChatToolCallDelta {
    this.deltas.push(entry);
    this.#byIndex?.set(entry.index ?? 0, entry);
    return entry;
  }
}

function toOpeningDelta({ index, id, kind: type }: AssembledCall): ChatToolCallDelta {
  return { index, id, type };
}

function getPartialCall(entry: ChatToolCallDelta): { name?: string; text: string } {
  const name = nonEmptyString(entry.function?.name ?? entry.custom?.name);
  const text = nonEmptyString(entry.function?.arguments ?? entry.custom?.input) ?? "";
  return name === undefined ? { text } : { name, text };
}

function toCallFields(
  call: AssembledCall,
  name: string | undefined,
  text: string,
): Pick<ChatToolCallDelta, "function" | "custom"> {
  const nameField = name === undefined ? {} : { name };
  return call.kind === "custom"
    ? { custom: { ...nameField, input: text } }
    : { function: { ...nameField, arguments: text } };
}
