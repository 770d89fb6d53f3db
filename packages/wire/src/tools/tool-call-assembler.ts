import { isObject, parseJson, type JsonObject } from "../json.ts";
import type { RepairCode, Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type { ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { ArgumentsBuffer, canonicalizeJson } from "./arguments-buffer.ts";
import {
  hasUnknownFields,
  joinToolName,
  parseToolCallFragment,
  pickUnknownFields,
} from "./tool-call-fragment.ts";

export interface AssembledCall {
  /** Position among the calls, in the order in which they opened. */
  readonly index: number;
  /** The provider's id, or a generated one if that is missing, too short or already used. */
  readonly id: string;
  readonly name: string;
  /** `custom` only if the upstream supports custom tools; the arguments are then plain text. */
  readonly kind: "function" | "custom";
}

/** Run a call only on `call.closed` with `isComplete`. Each call closes once. */
export type CallEvent =
  | { type: "call.opened"; call: AssembledCall }
  | { type: "call.arguments"; call: AssembledCall; delta: string }
  /** Unknown fields of a delta: those of the call, and those of its `function` or `custom` object. */
  | { type: "call.fields"; call: AssembledCall; fields: JsonObject; functionFields: JsonObject }
  | {
      type: "call.closed";
      call: AssembledCall;
      arguments: string;
      isComplete: boolean;
      /** The received text. Differs from `arguments` if that is only its first JSON value or a default. */
      rawArguments: string;
      /** True if the reply was truncated or failed, so that the call may be incomplete. */
      isTruncated: boolean;
      /** True if the upstream finished the reply. This is the only sign that plain text is complete. */
      upstreamFinished: boolean;
      /**
       * True if the call named two different tools, or the upstream reported it as incomplete. It must not run then, even
       * with complete arguments.
       */
      isUnreliable: boolean;
    };

/** An array of events, or of a type that includes them. */
interface CallSink {
  push(event: CallEvent): unknown;
}

export interface ToolCallAssemblerOptions {
  choiceIndex: number;
  repairs: Repairs;
  /** Returns a new id for a call whose own id is missing or unusable. */
  newCallId: () => string;
  /**
   * The tool names that the request offered. A name that is split over deltas is joined only if the result is a prefix
   * of one of them.
   */
  toolNames: ReadonlySet<string>;
  /** Ids that already occur in the history (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** Enforces limits on the reply; shared by all its readers. Default: a new budget. */
  budget?: ReplyBudget;
}

/** Shorter ids, such as "0" (TGI, Kimi on Novita), repeat in every turn. */
const minCallIdLength = 6;

/**
 * Assembles the streamed tool calls of one choice and emits each once (decisions 2 to 6). Deltas may identify their call
 * by id, by index, by both, by a wrong index or not at all.
 */
export class ToolCallAssembler {
  readonly #options: ToolCallAssemblerOptions;
  readonly #budget: ReplyBudget;
  readonly #calls: PendingCall[] = [];
  /** The calls that have not opened yet, in order of arrival. */
  readonly #unopenedCalls = new Set<PendingCall>();
  /** False if no unopened call can open. */
  #canOpenAny = false;
  #hasNames = false;
  readonly #byId = new Map<string, PendingCall>();
  readonly #byIndex = new Map<number, PendingCall>();
  readonly #usedIds = new Set<string>();
  #extraContents = new Map<string, JsonObject>();
  #openedCount = 0;

  constructor(options: ToolCallAssemblerOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new ReplyBudget();
  }

  /** True if at least one call has a name. */
  get hasCalls(): boolean {
    return this.#hasNames;
  }

  /** `extra_content` of the opened calls, by call id, since the last `clearExtraContents`. */
  get extraContents(): ReadonlyMap<string, JsonObject> {
    return this.#extraContents;
  }

  clearExtraContents(): void {
    this.#extraContents = new Map();
  }

  push(callDelta: ChatToolCallDelta, out: CallSink): void {
    const fragment = parseToolCallFragment(callDelta, this.#options.toolNames);
    const {
      id,
      name,
      index,
      kind,
      arguments: text,
      hasNonStringArguments,
      extraContent,
    } = fragment;
    if (hasNonStringArguments) this.#addRepair("arguments_object", text);
    const pending = this.#findOrCreateCall(id, name, index, text);
    if (pending.kind === "unknown" && kind !== "unknown") pending.kind = kind;
    if (id !== undefined) this.#addId(pending, id);
    if (name !== undefined) this.#addName(pending, name);
    if (extraContent !== undefined) this.#addExtraContent(pending, extraContent);
    this.#addUnknownFields(pending, callDelta, out);
    if (text === "") return;
    const argumentsDelta = this.#append(pending, text, hasNonStringArguments);
    this.#budget.addText(pending.takeGrowth());
    // A call opens only when its name is known. Until then `unsentArguments` collects its arguments.
    if (
      pending.call === undefined &&
      pending.name !== undefined &&
      pending.source === this.#calls[0]?.source
    )
      this.openNamedCalls(out, pending);
    if (argumentsDelta === "") return;
    if (pending.call === undefined) pending.unsentArguments += argumentsDelta;
    else out.push({ type: "call.arguments", call: pending.call, delta: argumentsDelta });
  }

  /** Marks the call at this index as incomplete, as reported by the upstream. It must not run. */
  markIncomplete(index: number): void {
    const pending = this.#byIndex.get(index);
    if (pending === undefined) return;
    pending.isUnreliable = true;
    pending.endState = "truncated";
    if (pending.hasEndedArguments)
      this.#addRepair("arguments_incomplete", pending.arguments.rawText);
  }

  /** Marks the call at this index as ended by the upstream, complete or not. */
  markEnded(index: number): void {
    const pending = this.#byIndex.get(index);
    if (pending !== undefined) pending.endState = "ended";
  }

  /**
   * True if a call is incomplete and the upstream did not mark it as ended. `acceptsText` returns true for a function
   * that represents a custom tool. Call it once, before `close`.
   */
  hasIncompleteCall(upstreamFinished: boolean, acceptsText: (name: string) => boolean): boolean {
    const incompleteCalls = this.#calls.filter((pending) =>
      isIncompleteCall(pending, upstreamFinished, acceptsText),
    );
    for (const pending of incompleteCalls)
      if (pending.kind !== "custom" && !pending.hasEndedArguments)
        this.#addRepair("arguments_incomplete", pending.arguments.rawText);
    return incompleteCalls.length > 0;
  }

  /** Adds a complete call that was found in the text of the reply. */
  pushLeakedCall(
    call: { id: string | undefined; name: string; arguments: string },
    out: CallSink,
  ): void {
    const pending = this.#createPendingCall(undefined);
    pending.source = "text";
    pending.kind = "function";
    this.#setName(pending, call.name);
    pending.providerId = call.id;
    pending.unsentArguments = pending.arguments.push(call.arguments);
    this.openNamedCalls(out);
  }

  /**
   * Opens the calls whose name is known, in order of arrival, up to and including `lastToOpen` (default: all). Some servers
   * (mistral.rs) send the same call in the text and as a tool call, so calls from the second source are only opened in
   * `close`, after a comparison.
   */
  openNamedCalls(out: CallSink, lastToOpen?: PendingCall): void {
    if (!this.#canOpenAny && lastToOpen === undefined) return;
    const firstSource = this.#calls[0]?.source;
    for (const pending of this.#unopenedCalls) {
      const { name } = pending;
      // A partial name may still be completed, until the arguments begin.
      const canOpen = name !== undefined && (pending === lastToOpen || !pending.hasPartialName);
      if (canOpen && pending.source === firstSource) this.#open(pending, name, out);
      if (pending === lastToOpen) return;
    }
    this.#canOpenAny = false;
  }

  /**
   * Closes all calls at the end of the choice. With `isTruncated`, no call is complete. `upstreamFinished` is true if
   * the upstream reported the end and did not merely stop sending.
   */
  close(
    { isTruncated, upstreamFinished }: { isTruncated: boolean; upstreamFinished: boolean },
    out: CallSink,
  ): void {
    // Checked before any call closes: if the reply exceeds a limit, it fails and no call may run.
    if (!isTruncated)
      for (const pending of this.#calls)
        pending.isTooDeep = this.#budget.addArguments(pending.arguments.rawText) === "depth";
    this.#openRemaining(out);
    for (const pending of this.#calls) {
      if (pending.isDuplicate) continue;
      if (pending.call === undefined) {
        this.#addRepair("call_without_name", pending.arguments.truncate().text);
        continue;
      }
      this.#flushHeldArguments(pending, pending.call, out);
      if (isTruncated) this.#closeTruncated(pending, pending.call, out);
      else if (pending.kind === "custom") {
        const { isUnreliable } = pending;
        const isComplete = upstreamFinished && !isUnreliable;
        out.push(
          createClosedEvent(pending.call, pending.input, {
            isComplete,
            upstreamFinished,
            isUnreliable,
          }),
        );
      } else this.#closeComplete(pending, pending.call, upstreamFinished, out);
    }
    this.#calls.length = 0;
    this.#unopenedCalls.clear();
    this.#hasNames = false;
    this.#byId.clear();
    this.#byIndex.clear();
  }

  /** Opens the remaining calls: those with a partial name and those from the second source. */
  #openRemaining(out: CallSink): void {
    const firstSource = this.#calls[0]?.source;
    let firstSourceKeys: Set<string> | undefined;
    for (const pending of this.#unopenedCalls) {
      if (pending.name === undefined) continue;
      if (pending.source !== firstSource) {
        firstSourceKeys ??= new Set(
          this.#calls.flatMap((other) =>
            other.source === firstSource ? [toComparisonKey(other)] : [],
          ),
        );
        pending.isDuplicate = firstSourceKeys.has(toComparisonKey(pending));
      }
      if (pending.isDuplicate) this.#addRepair("call_repeated", pending.name);
      else this.#open(pending, pending.name, out);
    }
  }

  #closeTruncated(pending: PendingCall, call: AssembledCall, out: CallSink): void {
    const { unsent, text } = pending.arguments.truncate();
    if (unsent !== "") out.push({ type: "call.arguments", call, delta: unsent });
    const finalText = pending.kind === "custom" ? pending.input : text;
    out.push(createClosedEvent(call, finalText, { isComplete: false, isTruncated: true }));
  }

  #closeComplete(
    pending: PendingCall,
    call: AssembledCall,
    upstreamFinished: boolean,
    out: CallSink,
  ): void {
    if (pending.isTooDeep) {
      const { unsent, text } = pending.arguments.truncate();
      if (unsent !== "") out.push({ type: "call.arguments", call, delta: unsent });
      this.#addRepair("arguments_incomplete", text);
      const { isUnreliable } = pending;
      out.push(
        createClosedEvent(call, text, { isComplete: false, upstreamFinished, isUnreliable }),
      );
      return;
    }
    const { unsent, calls } = pending.arguments.close();
    if (unsent !== "") out.push({ type: "call.arguments", call, delta: unsent });
    calls.forEach(({ text, isComplete }, position) => {
      let current = call;
      if (position > 0) {
        this.#budget.addCall();
        current = this.#createCall(undefined, call.name, call.kind);
        out.push({ type: "call.opened", call: current });
        out.push({ type: "call.arguments", call: current, delta: text });
      }
      if (!isComplete) this.#addRepair("arguments_incomplete", text);
      const rawArguments = position === 0 ? pending.arguments.rawText : text;
      const { isUnreliable } = pending;
      out.push(
        createClosedEvent(current, text, {
          isComplete: isComplete && !isUnreliable,
          rawArguments,
          upstreamFinished,
          isUnreliable,
        }),
      );
    });
  }

  /** Finds the call of a fragment, in the order of decision 4, or creates it. */
  #findOrCreateCall(
    id: string | undefined,
    name: string | undefined,
    index: number | undefined,
    text: string,
  ): PendingCall {
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index);
    const byId = id === undefined ? undefined : this.#byId.get(id);
    if (byId !== undefined) {
      // Some servers send the same id for all calls ("0", "functions"). Then the index distinguishes them.
      if (byIndex !== undefined && byIndex !== byId && byIndex.providerId === id) return byIndex;
      return this.#isAnotherCall(byId, name, index !== undefined && byIndex === undefined)
        ? this.#createPendingCall(index)
        : byId;
    }

    if (byIndex !== undefined) {
      if (id !== undefined && byIndex.providerId !== undefined) {
        // Servers that send a new id with every delta send the name only in the first one.
        if (name !== undefined || byIndex.hasEndedArguments) return this.#createPendingCall(index);
        this.#addRepair("call_id_changed", id);
        return byIndex;
      }
      return startsNewCall(byIndex, name, text) ? this.#createPendingCall(index) : byIndex;
    }

    const lastCall = this.#calls.at(-1);
    if (lastCall !== undefined && id === undefined) {
      if (name === undefined) {
        if (index !== undefined) this.#addRepair("call_index_ignored", String(index));
        return lastCall;
      }
      const continuesLast =
        index === undefined && name === lastCall.name && !lastCall.hasEndedArguments;
      if (continuesLast && lastCall.providerId === undefined) return lastCall;
    }
    return this.#createPendingCall(index);
  }

  /** True if a fragment with the id of a known call belongs to another call, judged by name and index. */
  #isAnotherCall(known: PendingCall, name: string | undefined, hasNewIndex: boolean): boolean {
    if (name === undefined || known.name === undefined) return false;
    // A repeated short id such as "0" at another index is another call of the same tool. A long id is the same call.
    if (name === known.name) return hasNewIndex && isShortId(known.providerId);
    if (known.hasEndedArguments) return true;
    return hasNewIndex && joinToolName(known.name, name, this.#options.toolNames) === known.name;
  }

  #createPendingCall(index: number | undefined): PendingCall {
    this.#budget.addCall();
    const pending = new PendingCall((code, detail) =>
      this.#addRepair(code, detail || (pending.name ?? "")),
    );
    this.#calls.push(pending);
    this.#unopenedCalls.add(pending);
    if (index !== undefined) this.#byIndex.set(index, pending);
    return pending;
  }

  #addId(pending: PendingCall, id: string): void {
    if (pending.providerId === undefined) {
      pending.providerId = id;
      if (pending.call !== undefined) this.#addRepair("call_id_changed", id);
    }
    this.#byId.set(id, pending);
  }

  #addExtraContent(pending: PendingCall, extra: JsonObject): void {
    pending.extraContent = extra;
    this.#budget.addValue(extra);
    if (pending.call !== undefined) this.#extraContents.set(pending.call.id, extra);
  }

  #addName(pending: PendingCall, name: string): void {
    if (pending.name === undefined) this.#setName(pending, name);
    if (pending.name === undefined || pending.name === name) return;
    const joined = joinToolName(pending.name, name, this.#options.toolNames);
    if (pending.call === undefined && joined !== pending.name) {
      this.#setName(pending, joined);
      this.#addRepair("call_name_joined", joined);
      return;
    }
    this.#addRepair("call_name_ignored", name);
    // It is unknown which of the two tools is meant, so the call must not run.
    if (this.#options.toolNames.has(name)) pending.isUnreliable = true;
  }

  /** Stores unknown fields and emits them once the call has opened. */
  #addUnknownFields(pending: PendingCall, callDelta: ChatToolCallDelta, out: CallSink): void {
    if (!hasUnknownFields(callDelta)) return;
    const { callFields, functionFields } = pickUnknownFields(callDelta);
    this.#budget.addValue(callFields);
    this.#budget.addValue(functionFields);
    Object.assign(pending.unknownFields, callFields);
    Object.assign(pending.unknownFunctionFields, functionFields);
    if (pending.call !== undefined) this.#emitFields(pending, pending.call, out);
  }

  #emitFields(pending: PendingCall, call: AssembledCall, out: CallSink): void {
    if (isEmpty(pending.unknownFields) && isEmpty(pending.unknownFunctionFields)) return;
    out.push({
      type: "call.fields",
      call,
      fields: pending.unknownFields,
      functionFields: pending.unknownFunctionFields,
    });
    pending.unknownFields = {};
    pending.unknownFunctionFields = {};
  }

  #append(pending: PendingCall, text: string, hasNonStringArguments: boolean): string {
    if (pending.kind === "custom") return pending.appendInput(text);
    if (!hasNonStringArguments) {
      const previous = pending.heldArguments ?? "";
      pending.heldArguments = undefined;
      return pending.arguments.push(previous) + pending.arguments.push(text);
    }
    // An object may be a snapshot of a growing one, so the latest one is held back until the end.
    const previous = pending.heldArguments;
    pending.heldArguments = text;
    if (previous === undefined || hasAllKeys(text, previous)) return "";
    return pending.arguments.push(previous);
  }

  #flushHeldArguments(pending: PendingCall, call: AssembledCall, out: CallSink): void {
    if (pending.heldArguments === undefined) return;
    const delta = pending.arguments.push(pending.heldArguments);
    pending.heldArguments = undefined;
    if (delta !== "") out.push({ type: "call.arguments", call, delta });
  }

  #setName(pending: PendingCall, name: string): void {
    this.#budget.addText(name.length);
    pending.name = name;
    pending.hasPartialName = this.#isPartialName(name);
    this.#hasNames = true;
    this.#canOpenAny = true;
  }

  /** True if the name is a prefix of an offered name. */
  #isPartialName(partialName: string): boolean {
    const { toolNames } = this.#options;
    if (toolNames.has(partialName)) return false;
    for (const name of toolNames) if (name.startsWith(partialName)) return true;
    return false;
  }

  #open(pending: PendingCall, name: string, out: CallSink): void {
    const call = this.#createCall(
      pending.providerId,
      name,
      pending.kind === "custom" ? "custom" : "function",
    );
    pending.call = call;
    this.#unopenedCalls.delete(pending);
    if (pending.extraContent !== undefined) this.#extraContents.set(call.id, pending.extraContent);
    out.push({ type: "call.opened", call });
    this.#emitFields(pending, call, out);
    if (pending.unsentArguments !== "")
      out.push({ type: "call.arguments", call, delta: pending.unsentArguments });
    pending.unsentArguments = "";
  }

  #createCall(
    providerId: string | undefined,
    name: string,
    kind: "function" | "custom",
  ): AssembledCall {
    const call = { index: this.#openedCount, id: this.#toUsableId(providerId), name, kind };
    this.#openedCount += 1;
    return call;
  }

  #toUsableId(providerId: string | undefined): string {
    const isUsable =
      providerId !== undefined &&
      !isShortId(providerId) &&
      !this.#usedIds.has(providerId) &&
      !this.#options.usedCallIds.has(providerId);
    if (!isUsable) this.#addRepair("call_id_generated", providerId ?? "");
    const id = isUsable ? providerId : this.#options.newCallId();
    this.#usedIds.add(id);
    return id;
  }

  #addRepair(code: RepairCode, detail: string): void {
    this.#options.repairs.add(code, detail, this.#options.choiceIndex);
  }
}

/** A call that is being assembled. `call` is undefined until it opens, which requires a reliable name. */
class PendingCall {
  providerId: string | undefined;
  name: string | undefined;
  /** True if the name is a prefix of an offered name. */
  hasPartialName = false;
  kind: "function" | "custom" | "unknown" = "unknown";
  call: AssembledCall | undefined;
  extraContent: JsonObject | undefined;
  unknownFields: JsonObject = {};
  unknownFunctionFields: JsonObject = {};
  /** The latest arguments that were sent as a JSON value. Held back, because a larger snapshot may replace them. */
  heldArguments: string | undefined;
  /** True if the call named two different tools, or the upstream reported it as incomplete. It must not run then. */
  isUnreliable = false;
  /** Whether the upstream marked the call as ended or truncated. */
  endState: "unknown" | "ended" | "truncated" = "unknown";
  /** Whether the call was sent as a tool call or found in the text. */
  source: "call" | "text" = "call";
  /** True if the arguments are nested too deeply. */
  isTooDeep = false;
  /** True if the same call was already opened from the other source. */
  isDuplicate = false;
  /** Arguments to send when the call opens. */
  unsentArguments = "";
  /** The input of a custom call, as plain text. */
  input = "";
  readonly arguments: ArgumentsBuffer;
  #countedLength = 0;

  constructor(onRepair: (code: RepairCode, detail: string) => void) {
    this.arguments = new ArgumentsBuffer(onRepair);
  }

  /** True if the arguments are complete. A further tool name then belongs to another call. */
  get hasEndedArguments(): boolean {
    return this.arguments.hasEndedValue || this.heldArguments !== undefined;
  }

  appendInput(text: string): string {
    this.input += text;
    return text;
  }

  /** Returns the number of characters added since the previous call of this method. */
  takeGrowth(): number {
    const length = this.input.length + this.arguments.length + (this.heldArguments?.length ?? 0);
    const growth = Math.max(0, length - this.#countedLength);
    this.#countedLength += growth;
    return growth;
  }
}

function isIncompleteCall(
  pending: PendingCall,
  upstreamFinished: boolean,
  acceptsText: (name: string) => boolean,
): boolean {
  if (pending.name === undefined || pending.endState === "ended") return false;
  if (pending.endState === "truncated") return true;
  if (pending.kind === "custom") return !upstreamFinished;
  if (pending.heldArguments !== undefined) return false;
  if (pending.arguments.peek().every(({ isComplete }) => isComplete)) return false;
  return !(acceptsText(pending.name) && isPlainInput(pending.arguments.rawText, upstreamFinished));
}

function isShortId(id: string | undefined): boolean {
  return id !== undefined && id.length < minCallIdLength;
}

/**
 * True if a fragment starts another call, because it has a name and the arguments of the pending call are complete. The
 * same name without arguments, or with the same arguments, is a repetition and must not run the tool twice.
 */
function startsNewCall(pending: PendingCall, name: string | undefined, text: string): boolean {
  if (name === undefined || !pending.hasEndedArguments) return false;
  if (name !== pending.name) return true;
  return text.trim() !== "" && text !== pending.arguments.rawText && text !== pending.heldArguments;
}

/** Returns a normalized key to detect a call that was sent in the text and as a tool call. */
function toComparisonKey(pending: PendingCall): string {
  const text = canonicalizeJson(
    (pending.heldArguments ?? pending.arguments.rawText).trim() || "{}",
  );
  return `${pending.name ?? ""} ${text}`;
}

interface ClosedCallDetails {
  isComplete: boolean;
  rawArguments?: string;
  isTruncated?: boolean;
  upstreamFinished?: boolean;
  isUnreliable?: boolean;
}

function createClosedEvent(
  call: AssembledCall,
  text: string,
  details: ClosedCallDetails,
): CallEvent {
  const {
    isComplete,
    rawArguments = text,
    isTruncated = false,
    upstreamFinished = false,
    isUnreliable = false,
  } = details;
  return {
    type: "call.closed",
    call,
    arguments: text,
    isComplete,
    rawArguments,
    isTruncated,
    upstreamFinished,
    isUnreliable,
  };
}

/** True if a JSON object has all keys of an earlier one. */
function hasAllKeys(json: string, earlierJson: string): boolean {
  const [current, earlier] = [parseJson(json), parseJson(earlierJson)];
  if (!isObject(current) || !isObject(earlier)) return false;
  return Object.keys(earlier).every((key) => Object.hasOwn(current, key));
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0;
}

/** True if the input of a custom tool was sent as plain text that is complete, which only the end of the reply shows. */
export function isPlainInput(rawText: string, upstreamFinished: boolean): boolean {
  return upstreamFinished && !rawText.trimStart().startsWith("{");
}
