import { assertNever } from "../error.ts";
import { boundedString, isObject, parseLimitedJson, type JsonObject } from "../json.ts";
import type { Finish } from "../mapping/finish-reason.ts";
import { toMessageError } from "../mapping/message-error.ts";
import {
  hashReasoningText,
  type CachedReasoning,
  type OpaqueReasoning,
  type SealReasoning,
} from "../mapping/reasoning.ts";
import { toStopReason } from "../mapping/stop-reason.ts";
import { toMessageUsage } from "../mapping/usage.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyReader } from "../reply/reply-reader.ts";
import type { ReplyWriter } from "../reply/reply-writer.ts";
import type { RepairCode, Repairs } from "../repairs.ts";
import type {
  MessageBlock,
  MessageDelta,
  MessageEvent,
  MessageStopReason,
} from "../shapes/messages-reply.ts";
import { TextAccumulator } from "../text-accumulator.ts";
import type { AssembledCall } from "../tools/tool-call-assembler.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { CallIds } from "./call-ids.ts";

export interface MessageWriterOptions {
  /** Id of the message, such as `msg_…`. */
  messageId: string;
  /** Returns an id for a call whose own id clients do not accept: `newId("toolu")`. */
  newId: (prefix: string) => string;
  /** Model name in the reply. Default: the name that the upstream sends. */
  model?: string;
  /** Model name of the request, used if the upstream sends none. */
  requestedModel?: string;
  /** Maps calls to the declared tools, if these were offered under other names. */
  tools?: ToolTranslation | undefined;
  /** Call ids of the history, which new calls must not use. Default: none. */
  usedCallIds?: ReadonlySet<string>;
  /** The stop sequences of the request. Default: every sequence that the upstream reports is sent. */
  stopSequences?: readonly string[];
  /** Sent with errors. */
  requestId?: string;
  /**
   * Seals reasoning as the signature of its thinking block, which the client sends back with the next request. Default: blocks
   * have no signature, and clients cannot send them back.
   */
  seal?: SealReasoning;
  /** Called at the end of a reply with calls and reasoning, in case the client drops its thinking. */
  onReasoning?: (reasoning: CachedReasoning, callIds: string[]) => void;
}

/** What the writer needs to know about the reply, beside its pieces. */
export interface MessageWriterContext {
  reader: Pick<
    ReplyReader<never>,
    "model" | "stopSequence" | "peekOpaqueReasoning" | "takeOpaqueReasoning"
  >;
  repairs: Repairs;
}

/** The block whose deltas are being sent. */
type ActiveBlock = { kind: "text" } | { kind: "thinking"; text: TextAccumulator } | ActiveCall;

interface ActiveCall {
  kind: "call";
  call: AssembledCall;
  /** False until the first arguments: a call that is cut before them is not sent. */
  isOpen: boolean;
  sentLength: number;
  /** Arguments that may be the end of the object, held back until it is known that the call may run. */
  held: string;
  /** True if the call must not run. Its block stays open until the reply ends. */
  isCut: boolean;
}

/** A block that arrived while a call was active. */
type WaitingBlock =
  | { kind: "text"; text: TextAccumulator }
  | { kind: "thinking"; text: TextAccumulator; signature: string | undefined; isClosed: boolean }
  | { kind: "call"; call: AssembledCall; text: TextAccumulator; closed: CallClosed | undefined };
type CallClosed = ReplyPiece & { type: "call.closed" };

/**
 * Writes a reply as the events of the Messages API: one block after another. A call is closed at the end of the reply, because
 * clients run it then, whatever follows; so what comes after it in the reply waits for it. The last brace of its arguments is
 * sent only if it may run.
 */
export class MessageWriter implements ReplyWriter<MessageEvent> {
  readonly #options: MessageWriterOptions;
  readonly #reader: MessageWriterContext["reader"];
  readonly #repairs: Repairs;
  readonly #callIds: CallIds;
  #hasBegun = false;
  #index = 0;
  #active: ActiveBlock | undefined;
  #waiting: WaitingBlock[] = [];
  readonly #waitingCalls = new Map<AssembledCall, WaitingBlock & { kind: "call" }>();
  /** Blank text that opens no block unless other text follows. */
  #blanks = "";
  #hasRefusal = false;
  #hasCalls = false;
  #hasCutCall = false;
  /** What `onReasoning` receives. */
  readonly #reasoningTexts: string[] = [];
  #opaque: OpaqueReasoning | undefined;
  readonly #sentCallIds: string[] = [];

  constructor(options: MessageWriterOptions, { reader, repairs }: MessageWriterContext) {
    this.#options = options;
    this.#reader = reader;
    this.#repairs = repairs;
    this.#callIds = new CallIds(options);
  }

  open(out: MessageEvent[]): void {
    this.begin(out);
  }

  begin(out: MessageEvent[]): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { messageId, model, requestedModel } = this.#options;
    out.push({
      type: "message_start",
      message: {
        id: messageId,
        type: "message",
        role: "assistant",
        model: model ?? boundedString(this.#reader.model) ?? requestedModel ?? "unknown",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: toMessageUsage(undefined),
      },
    });
    out.push({ type: "ping" });
  }

  keepAlive(_usage: JsonObject | undefined, out: MessageEvent[]): void {
    if (this.#hasBegun) out.push({ type: "ping" });
    else this.begin(out);
  }

  write(pieces: readonly ReplyPiece[], out: MessageEvent[]): void {
    for (const piece of pieces) {
      switch (piece.type) {
        case "text":
          this.#pushText(piece.text, out);
          break;
        case "refusal":
          this.#hasRefusal = true;
          this.#pushText(piece.text, out);
          break;
        case "audio":
          if (piece.data !== "") this.#drop("audio");
          if (piece.transcript !== "") this.#pushText(piece.transcript, out);
          break;
        case "reasoning":
          this.#pushThinking(piece.text, out);
          break;
        case "reasoning.detail":
          // It is sealed when the block closes.
          if (this.#options.seal !== undefined) this.#pushThinking("", out);
          break;
        case "call.opened":
          this.#openCall(piece.call, out);
          break;
        case "call.arguments":
          this.#pushArguments(piece.call, piece.delta, out);
          break;
        case "call.closed":
          this.#closeCall(piece, out);
          break;
        case "annotation":
        case "image":
        case "web_search":
          this.#drop(piece.type);
          break;
        case "call.fields":
        case "reasoning.repeated":
          break; // signatures of calls are sealed with the reasoning
        default:
          assertNever(piece);
      }
    }
  }

  /** A reply with nothing but a call that has no name fails: clients would ask again without end. */
  resolveFinish(finish: Finish): Finish {
    const isEmpty = this.#index === 0 && this.#active === undefined && this.#waiting.length === 0;
    const isNameless = (this.#repairs.counts.get("call_without_name") ?? 0) > 0;
    const isComplete = finish.kind === "stop" || finish.kind === "tool_calls";
    if (!isEmpty || !isNameless || !isComplete) return finish;
    const message = "the upstream's reply has only a tool call without a name";
    return { kind: "failed", code: "upstream_error", message };
  }

  finish(finish: Finish, usage: JsonObject | undefined, out: MessageEvent[]): void {
    if (finish.kind === "failed") {
      // Open blocks stay open: clients must not use them.
      out.push(toMessageError(finish, { requestId: this.#options.requestId }));
      return;
    }
    this.#closeActive(out);
    this.#drainWaiting(out);
    this.#emitLateReasoning(out);
    this.#reportReasoning();
    const stopSequence = this.#findStopSequence(finish);
    out.push({
      type: "message_delta",
      delta: {
        stop_reason: this.#resolveStopReason(finish.kind, stopSequence),
        stop_sequence: stopSequence ?? null,
      },
      usage: toMessageUsage(usage),
    });
    out.push({ type: "message_stop" });
  }

  #pushText(added: string, out: MessageEvent[]): void {
    if (this.#active?.kind === "call") {
      const last = this.#waiting.at(-1);
      if (last?.kind === "text") return last.text.append(added);
      this.#closeWaitingThinking();
      return this.#addWaiting({ kind: "text", text: toAccumulator(added) });
    }
    if (this.#active?.kind === "text")
      return this.#pushDelta({ type: "text_delta", text: added }, out);
    const text = this.#blanks + added;
    this.#blanks = text.trim() === "" ? text : "";
    if (this.#blanks !== "") return;
    this.#closeActive(out);
    this.#active = { kind: "text" };
    this.#startBlock({ type: "text", text: "" }, out);
    this.#pushDelta({ type: "text_delta", text }, out);
  }

  #pushThinking(text: string, out: MessageEvent[]): void {
    this.#blanks = "";
    if (this.#active?.kind === "call") {
      const last = this.#waiting.at(-1);
      if (last?.kind === "thinking" && !last.isClosed) return last.text.append(text);
      return this.#addWaiting({
        kind: "thinking",
        text: toAccumulator(text),
        signature: undefined,
        isClosed: false,
      });
    }
    if (this.#active?.kind !== "thinking") {
      this.#closeActive(out);
      this.#active = { kind: "thinking", text: new TextAccumulator() };
      this.#startBlock({ type: "thinking", thinking: "", signature: "" }, out);
    }
    if (text === "") return;
    this.#active.text.append(text);
    this.#pushDelta({ type: "thinking_delta", thinking: text }, out);
  }

  #openCall(call: AssembledCall, out: MessageEvent[]): void {
    this.#blanks = "";
    // A signature that belongs to the call stands before it.
    if (this.#reader.peekOpaqueReasoning() !== undefined && this.#options.seal !== undefined)
      this.#pushThinking("", out);
    if (this.#active?.kind === "call") {
      this.#closeWaitingThinking();
      const block = { kind: "call" as const, call, text: new TextAccumulator(), closed: undefined };
      this.#waitingCalls.set(call, block);
      return this.#addWaiting(block);
    }
    this.#closeActive(out);
    this.#active = createActiveCall(call);
  }

  #pushArguments(call: AssembledCall, delta: string, out: MessageEvent[]): void {
    const active = this.#active;
    if (active?.kind === "call" && active.call === call) this.#sendArguments(active, delta, out);
    else this.#waitingCalls.get(call)?.text.append(delta);
  }

  /** Sends arguments, except for braces and blanks at their end. The input of a custom tool is sent when it is complete. */
  #sendArguments(active: ActiveCall, delta: string, out: MessageEvent[]): void {
    if (active.call.kind === "custom") return;
    const text = active.held + delta;
    const end = findTailStart(text);
    active.held = text.slice(end);
    if (end > 0) this.#pushInput(active, text.slice(0, end), out);
  }

  #pushInput(active: ActiveCall, text: string, out: MessageEvent[]): void {
    if (!active.isOpen) {
      active.isOpen = true;
      const { call } = active;
      const declared = this.#options.tools?.findDeclared(call.name);
      const name = declared !== undefined && "name" in declared ? declared.name : call.name;
      const id = this.#callIds.toClientId(call.id);
      this.#sentCallIds.push(id);
      this.#startBlock({ type: "tool_use", id, name, input: {} }, out);
    }
    active.sentLength += text.length;
    this.#pushDelta({ type: "input_json_delta", partial_json: text }, out);
  }

  #closeCall(closed: CallClosed, out: MessageEvent[]): void {
    const active = this.#active;
    if (active?.kind !== "call" || active.call !== closed.call) {
      const waiting = this.#waitingCalls.get(closed.call);
      if (waiting !== undefined) waiting.closed = closed;
      return;
    }
    this.#finishCall(active, closed, out);
    if (!active.isCut) this.#drainWaiting(out);
  }

  /** Sends the rest of the arguments if the call may run. Otherwise its arguments stay incomplete. */
  #finishCall(active: ActiveCall, closed: CallClosed, out: MessageEvent[]): void {
    const text = toJsonArguments(closed);
    if (text === undefined) {
      active.isCut = true;
      if (active.isOpen) this.#hasCutCall = true;
      else this.#addRepair("call_withheld", active.call.name);
      return;
    }
    const rest = active.isOpen ? text.slice(active.sentLength) : text;
    this.#pushInput(active, rest === "" ? active.held : rest, out);
    this.#hasCalls = true;
    this.#active = undefined;
    this.#stopBlock(out);
  }

  /** Sends the waiting blocks up to the first call that is still open. */
  #drainWaiting(out: MessageEvent[]): void {
    this.#closeWaitingThinking();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const [position, block] of waiting.entries()) {
      this.#sendWaiting(block, out);
      if (this.#active?.kind !== "call" || this.#active.isCut) {
        this.#closeActive(out);
        continue;
      }
      this.#waiting = waiting.slice(position + 1);
      return;
    }
  }

  #sendWaiting(block: WaitingBlock, out: MessageEvent[]): void {
    switch (block.kind) {
      case "text": {
        const text = block.text.toString();
        if (text.trim() === "") return;
        this.#startBlock({ type: "text", text: "" }, out);
        this.#pushDelta({ type: "text_delta", text }, out);
        return this.#stopBlock(out);
      }
      case "thinking":
        this.#startBlock({ type: "thinking", thinking: "", signature: "" }, out);
        if (!block.text.isEmpty)
          this.#pushDelta({ type: "thinking_delta", thinking: block.text.toString() }, out);
        return this.#stopThinking(block.signature, out);
      case "call": {
        this.#waitingCalls.delete(block.call);
        // A call that must not run is not sent at all.
        if (block.closed !== undefined && toJsonArguments(block.closed) === undefined) {
          this.#hasCutCall ||= !block.closed.isTruncated;
          return this.#addRepair("call_withheld", block.call.name);
        }
        const active = createActiveCall(block.call);
        this.#active = active;
        if (block.closed !== undefined) return this.#finishCall(active, block.closed, out);
        return this.#sendArguments(active, block.text.toString(), out);
      }
      default:
        return assertNever(block);
    }
  }

  #addWaiting(block: WaitingBlock): void {
    this.#waiting.push(block);
  }

  /** Seals the last waiting block, if it is thinking, before content that follows it. */
  #closeWaitingThinking(): void {
    const last = this.#waiting.at(-1);
    if (last?.kind !== "thinking" || last.isClosed) return;
    last.isClosed = true;
    last.signature = this.#seal(last.text.toString());
  }

  #closeActive(out: MessageEvent[]): void {
    const active = this.#active;
    this.#active = undefined;
    switch (active?.kind) {
      case "thinking":
        return this.#stopThinking(this.#seal(active.text.toString()), out);
      case "text":
        return this.#stopBlock(out);
      case "call":
        if (active.isOpen) this.#stopBlock(out);
        return;
      default:
    }
  }

  #stopThinking(signature: string | undefined, out: MessageEvent[]): void {
    if (signature !== undefined) this.#pushDelta({ type: "signature_delta", signature }, out);
    this.#stopBlock(out);
  }

  /** Returns the signature of a thinking block. */
  #seal(text: string): string | undefined {
    const { seal } = this.#options;
    const opaque = this.#reader.takeOpaqueReasoning();
    if (this.#options.onReasoning !== undefined) this.#collectReasoning(text, opaque);
    const sealed = seal?.({ ...opaque, textHash: hashReasoningText(text) });
    if (sealed === undefined && opaque !== undefined)
      this.#addRepair("opaque_reasoning_lost", Object.keys(opaque).join(", "));
    return sealed;
  }

  #collectReasoning(text: string, opaque: OpaqueReasoning | undefined): void {
    if (text !== "") this.#reasoningTexts.push(text);
    if (opaque === undefined) return;
    const details = [...(this.#opaque?.details ?? []), ...(opaque.details ?? [])];
    this.#opaque = { ...this.#opaque, ...opaque, ...(details.length === 0 ? {} : { details }) };
  }

  #reportReasoning(): void {
    const reasoning = this.#reasoningTexts.join("\n\n");
    if (this.#sentCallIds.length === 0 || (reasoning === "" && this.#opaque === undefined)) return;
    this.#options.onReasoning?.({ reasoning, ...this.#opaque }, this.#sentCallIds);
  }

  /** Sends signatures that arrived after the last block as a block without text. */
  #emitLateReasoning(out: MessageEvent[]): void {
    if (this.#reader.peekOpaqueReasoning() === undefined) return;
    if (this.#options.seal === undefined) return void this.#seal("");
    this.#pushThinking("", out);
    this.#closeActive(out);
  }

  #findStopSequence({ kind }: Finish): string | undefined {
    const { stopSequence } = this.#reader;
    if (kind !== "stop" || stopSequence === undefined || this.#hasCalls || this.#hasRefusal)
      return undefined;
    const { stopSequences } = this.#options;
    return stopSequences === undefined || stopSequences.includes(stopSequence)
      ? stopSequence
      : undefined;
  }

  #resolveStopReason(
    kind: Exclude<Finish["kind"], "failed">,
    stopSequence: string | undefined,
  ): MessageStopReason {
    if (kind === "length" || kind === "content_filter") return toStopReason(kind);
    // A call with incomplete arguments was sent: any other reason would call them complete.
    if (this.#hasCutCall) return "max_tokens";
    if (this.#hasCalls) return "tool_use";
    if (this.#hasRefusal) return "refusal";
    return stopSequence === undefined ? "end_turn" : "stop_sequence";
  }

  #startBlock(block: MessageBlock, out: MessageEvent[]): void {
    out.push({ type: "content_block_start", index: this.#index, content_block: block });
  }

  #pushDelta(delta: MessageDelta, out: MessageEvent[]): void {
    out.push({ type: "content_block_delta", index: this.#index, delta });
  }

  #stopBlock(out: MessageEvent[]): void {
    out.push({ type: "content_block_stop", index: this.#index });
    this.#index += 1;
  }

  #drop(kind: string): void {
    this.#addRepair("content_dropped", kind);
  }

  #addRepair(code: RepairCode, detail: string): void {
    this.#repairs.add(code, detail);
  }
}

function createActiveCall(call: AssembledCall): ActiveCall {
  return { kind: "call", call, isOpen: false, sentLength: 0, held: "", isCut: false };
}

function toAccumulator(text: string): TextAccumulator {
  const accumulator = new TextAccumulator();
  accumulator.append(text);
  return accumulator;
}

/** Returns the arguments as a JSON object; undefined if the call must not run. */
function toJsonArguments(closed: CallClosed): string | undefined {
  if (!closed.isComplete) return undefined;
  if (closed.call.kind === "custom") return JSON.stringify({ input: closed.arguments });
  return isObject(parseLimitedJson(closed.arguments)) ? closed.arguments : undefined;
}

/** Returns where the braces and blanks at the end of a text begin. */
function findTailStart(text: string): number {
  let end = text.length;
  while (end > 0) {
    const code = text.charCodeAt(end - 1);
    if (code !== closingBrace && code > space) break;
    end -= 1;
  }
  return end;
}

const space = 0x20;
const closingBrace = 0x7d;
