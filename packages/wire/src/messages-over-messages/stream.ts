import {
  boundedString,
  isObject,
  nonEmptyString,
  parseLimitedJson,
  type JsonObject,
} from "../json.ts";
import { messageErrorStatuses, toMessageError } from "../mapping/message-error.ts";
import { hashReasoningText, type SealReasoning } from "../mapping/reasoning.ts";
import { parseStopReason, toStopReason } from "../mapping/stop-reason.ts";
import { parseUpstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { fromMessageUsage, toMessageUsage, toResponseUsage } from "../mapping/usage.ts";
import { CallIds } from "../messages-client/call-ids.ts";
import type { UpstreamMessageEvent } from "../messages-upstream/body.ts";
import { Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import { failureFromStreamEnd } from "../stream-end-failure.ts";
import type { ClientTranslator, StreamEndReason } from "../stream-machine.ts";
import { TextAccumulator } from "../text-accumulator.ts";

export interface MessagesOverMessagesOptions {
  /** Id of the message, used if the upstream sends none. */
  messageId: string;
  /** Returns an id for a call without one: `newId("toolu")`. */
  newId: (prefix: string) => string;
  /** Call ids of the history, which new calls must not use. Default: none. */
  usedCallIds?: ReadonlySet<string>;
  /** Model name in the reply. Default: the name that the upstream sends. */
  model?: string;
  /** Model name of the request, used if the upstream sends none. */
  requestedModel?: string;
  /**
   * Seals the hash of thinking that the upstream does not sign as its signature, so that the client can send it back.
   * Signatures of the upstream are never changed. Default: such thinking has no signature.
   */
  seal?: SealReasoning;
  /**
   * True if the client reads events and deltas that this package does not know, because it requested beta features. Default
   * false: they are dropped, because strict clients fail on them. Unknown blocks and fields are always forwarded.
   */
  forwardsUnknown?: boolean;
  /** Enforces limits on the reply. Default: a new budget with `defaultReplyLimits`. */
  budget?: ReplyBudget;
  repairs?: Repairs;
}

/** The block whose deltas are being forwarded. */
interface OpenBlock {
  type: string;
  /** The start and citations, held back while a text block has no text: an empty one could not be sent back. */
  held: UpstreamMessageEvent[];
  /** True for a call without a name, which no client could run. */
  isDropped: boolean;
  /** Set for thinking without a signature. */
  unsignedText: TextAccumulator | undefined;
  /** The input in the start of a call, used if no deltas follow. */
  input: JsonObject | undefined;
  /** The streamed input of a call. */
  arguments: TextAccumulator | undefined;
}

/** The type of the block in which each delta may stand. */
const deltaBlocks: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
};

/** Stop reasons after which a call may be incomplete. */
const cutReasons = new Set([
  "max_tokens",
  "model_context_window_exceeded",
  "refusal",
  "pause_turn",
]);

/** Stop reasons that stay although there are calls. */
const finalReasons = new Set([...cutReasons, "tool_use", "stop_sequence", "compaction"]);

/** Words of other wires in a usage. */
const foreignUsageFields = [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_tokens_details",
];

/**
 * Serves a Messages client from a Messages upstream: the same events, repaired. Unknown blocks and fields pass through;
 * what every client requires is completed. A valid event is forwarded unchanged.
 */
export class MessagesOverMessages implements ClientTranslator<
  UpstreamMessageEvent,
  UpstreamMessageEvent
> {
  readonly repairs: Repairs;
  readonly #options: MessagesOverMessagesOptions;
  readonly #budget: ReplyBudget;
  #state: "new" | "streaming" | "stopping" | "ended" = "new";
  /** True if `begin` sent the start: that of the upstream is then dropped. */
  #hasOwnStart = false;
  #upstreamId: unknown;
  readonly #callIds: CallIds;
  #nextIndex = 0;
  #hasCalls = false;
  /** True if the arguments of a call are no JSON object: any other stop reason would call them complete. */
  #hasCutCall = false;
  #open: OpenBlock | undefined;
  /** Stop fields in the start of the message. */
  #earlyStop: JsonObject | undefined;
  /** The stop fields that the client has received. */
  #sentStop: JsonObject | undefined;
  #rawUsage: JsonObject = {};
  #failure: UpstreamFailure | undefined;

  constructor(options: MessagesOverMessagesOptions) {
    this.#options = options;
    this.repairs = options.repairs ?? new Repairs();
    this.#budget = options.budget ?? new ReplyBudget();
    this.#callIds = new CallIds(options);
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  get failure(): UpstreamFailure | undefined {
    return this.#failure;
  }

  get awaitsEnd(): boolean {
    return this.#state === "stopping" || (!this.ended && this.#failure !== undefined);
  }

  get progress(): number {
    return this.#budget.progress;
  }

  get usage(): ResponseUsage | null {
    const usage = fromMessageUsage(this.#rawUsage);
    return usage === undefined ? null : toResponseUsage(usage);
  }

  begin(out: UpstreamMessageEvent[]): void {
    if (this.#state !== "new") return;
    this.#hasOwnStart = true;
    this.#start({}, out);
    out.push({ type: "ping" });
  }

  keepAlive(out: UpstreamMessageEvent[]): void {
    if (this.#state === "new") return this.begin(out);
    if (this.#state !== "ended") out.push({ type: "ping" });
  }

  push(event: UpstreamMessageEvent, out: UpstreamMessageEvent[]): void {
    const { type } = event;
    if (this.#state === "ended") {
      if (type !== "ping" && type !== "message_stop") this.repairs.add("data_after_end", type);
      return;
    }
    // Nothing but the end may follow the stop reason.
    if (this.#state === "stopping" && type.startsWith("content_block"))
      return this.repairs.add("event_dropped", type);
    switch (type) {
      case "content_block_delta":
        return this.#pushDelta(event, out);
      case "content_block_start":
        return this.#startBlock(event, out);
      case "content_block_stop":
        if (this.#open === undefined) return this.repairs.add("event_dropped", type);
        return this.#stopBlock(event, out);
      case "message_start":
        return this.#pushStart(event, out);
      case "message_delta":
        return this.#pushStop(event, out);
      case "message_stop":
        if (this.#state !== "stopping") this.#completeStop(out);
        this.#state = "ended";
        return void out.push(event);
      case "error":
        return this.#pushError(event, out);
      case "ping":
        // Nothing is sent before the start: until then the request can be retried.
        if (this.#state !== "new") out.push(event);
        return;
      default:
        if (this.#options.forwardsUnknown === true) out.push(event);
        else this.repairs.add("event_dropped", type);
    }
  }

  end(reason: StreamEndReason, out: UpstreamMessageEvent[]): void {
    if (this.#state === "ended") return;
    if (this.#failure === undefined && this.#state === "stopping" && reason !== "aborted") {
      this.repairs.add("event_completed", "message_stop");
      this.#state = "ended";
      return void out.push({ type: "message_stop" });
    }
    this.fail(this.#failure ?? failureFromStreamEnd(reason), out);
  }

  fail(failure: UpstreamFailure, out: UpstreamMessageEvent[]): void {
    if (this.#state === "ended") return;
    this.#failure ??= failure;
    this.#state = "ended";
    out.push(toMessageError(this.#failure) as unknown as UpstreamMessageEvent);
  }

  #pushError(event: UpstreamMessageEvent, out: UpstreamMessageEvent[]): void {
    const { error } = event;
    this.#failure ??= parseUpstreamFailure(error ?? event);
    // Before the first event an error can still be sent as an HTTP status.
    if (this.#state === "new") return;
    const isKnown =
      isObject(error) &&
      typeof error["message"] === "string" &&
      Object.hasOwn(messageErrorStatuses, nonEmptyString(error["type"]) ?? "");
    if (!isKnown) return this.fail(this.#failure, out);
    this.#state = "ended";
    out.push(event);
  }

  #pushStart(event: UpstreamMessageEvent, out: UpstreamMessageEvent[]): void {
    const message = isObject(event["message"]) ? event["message"] : {};
    if (this.#state === "new") {
      this.#upstreamId = message["id"];
      return this.#start(message, out, event);
    }
    if (this.#hasOwnStart && this.#upstreamId === undefined) {
      this.#upstreamId = message["id"];
      this.#mergeUsage(message["usage"]);
      this.#hasOwnStart = false;
      return this.#pushContent(message, out);
    }
    if (this.#nextIndex === 0 && this.#open === undefined)
      return this.repairs.add("event_dropped", "message_start repeated");
    if (message["id"] === this.#upstreamId)
      return this.repairs.add("event_dropped", "message_start repeated");
    const text = "the upstream began a second reply in the middle of the first";
    this.fail({ code: "upstream_stream_spliced", message: text }, out);
  }

  #start(
    message: JsonObject,
    out: UpstreamMessageEvent[],
    event: UpstreamMessageEvent = { type: "message_start" },
  ): void {
    this.#state = "streaming";
    this.#mergeUsage(message["usage"]);
    const { model, requestedModel, messageId } = this.#options;
    const required: JsonObject = {
      id: boundedString(message["id"]) ?? messageId,
      type: "message",
      role: "assistant",
      model: model ?? boundedString(message["model"]) ?? requestedModel ?? "unknown",
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    const usage = this.#repairUsage(message["usage"], true);
    const isComplete =
      usage === message["usage"] &&
      Array.isArray(message["content"]) &&
      message["content"].length === 0 &&
      Object.keys(required).every((name) => name === "content" || message[name] === required[name]);
    if (isComplete) out.push(event);
    else {
      if (event["message"] !== undefined) this.repairs.add("event_completed", "message_start");
      out.push({ ...event, message: { ...message, ...required, usage } });
    }
    this.#pushContent(message, out);
  }

  /** Sends content that stands in the start of the message as blocks. */
  #pushContent(message: JsonObject, out: UpstreamMessageEvent[]): void {
    const { content, stop_reason: reason, stop_sequence: sequence } = message;
    if (Array.isArray(content))
      for (const block of content)
        if (isObject(block)) {
          this.#startBlock({ type: "content_block_start", content_block: block }, out);
          this.#stopBlock({ type: "content_block_stop" }, out);
        }
    if (reason !== undefined && reason !== null)
      this.#earlyStop = {
        stop_reason: reason,
        ...(sequence === undefined ? {} : { stop_sequence: sequence }),
      };
  }

  #startBlock(event: UpstreamMessageEvent, out: UpstreamMessageEvent[]): void {
    this.#ensureStarted(out);
    if (this.#open !== undefined) {
      this.repairs.add("event_completed", "content_block_stop");
      this.#stopBlock({ type: "content_block_stop" }, out);
    }
    this.#budget.addItem();
    const block = isObject(event["content_block"]) ? event["content_block"] : {};
    const type = nonEmptyString(block["type"]) ?? "text";
    const index = this.#nextIndex;
    const open: OpenBlock = {
      type,
      held: [],
      isDropped: type === "tool_use" && nonEmptyString(block["name"]) === undefined,
      unsignedText: undefined,
      input: undefined,
      arguments: type === "tool_use" ? new TextAccumulator() : undefined,
    };
    this.#open = open;
    if (open.isDropped) return this.repairs.add("call_without_name", JSON.stringify(block));
    const { start, rest } = this.#splitBlock(block, type, open);
    const sent: UpstreamMessageEvent =
      start === block && event["index"] === index
        ? event
        : { ...event, index, content_block: start };
    if (sent !== event) this.repairs.add("event_completed", "content_block_start");
    if (type === "text") open.held.push(sent);
    else out.push(sent);
    for (const delta of rest) this.#forwardDelta(toDeltaEvent(index, delta), delta, out);
  }

  /** Separates the start of a block from content that must follow as deltas. */
  #splitBlock(
    block: JsonObject,
    type: string,
    open: OpenBlock,
  ): { start: JsonObject; rest: JsonObject[] } {
    switch (type) {
      case "text": {
        const { text } = block;
        if (text === "") return { start: block, rest: [] };
        const delta = nonEmptyString(text);
        return {
          start: { ...block, type, text: "" },
          rest: delta === undefined ? [] : [{ type: "text_delta", text: delta }],
        };
      }
      case "thinking": {
        const { thinking, signature } = block;
        open.unsignedText = new TextAccumulator();
        if (thinking === "" && !nonEmptyString(signature)) return { start: block, rest: [] };
        const [text, signed] = [nonEmptyString(thinking), nonEmptyString(signature)];
        return {
          start: { ...block, thinking: "", signature: "" },
          rest: [
            ...(text === undefined ? [] : [{ type: "thinking_delta", thinking: text }]),
            ...(signed === undefined ? [] : [{ type: "signature_delta", signature: signed }]),
          ],
        };
      }
      case "tool_use":
        this.#hasCalls = true;
        return this.#splitCall(block, open);
      case "server_tool_use":
      case "mcp_tool_use":
        return this.#splitCall(block, open);
      default:
        return { start: block, rest: [] };
    }
  }

  #splitCall(block: JsonObject, open: OpenBlock): { start: JsonObject; rest: JsonObject[] } {
    const id = nonEmptyString(block["id"]);
    const input = isObject(block["input"]) ? block["input"] : undefined;
    if (input !== undefined && Object.keys(input).length > 0) open.input = input;
    if (id === undefined) this.repairs.add("call_id_generated", "");
    const clientId = id === undefined ? this.#options.newId("toolu") : this.#callIds.toClientId(id);
    const isValid = clientId === id && input !== undefined && open.input === undefined;
    const start = { ...block, id: clientId, input: {} };
    return { start: isValid ? block : start, rest: [] };
  }

  #pushDelta(event: UpstreamMessageEvent, out: UpstreamMessageEvent[]): void {
    const delta = isObject(event["delta"]) ? event["delta"] : {};
    const blockType = deltaBlocks[nonEmptyString(delta["type"]) ?? ""];
    const isMisplaced = blockType !== undefined && this.#open?.type !== blockType;
    if (this.#open === undefined || isMisplaced) {
      if (blockType === undefined) return this.repairs.add("event_dropped", event.type);
      this.repairs.add("event_completed", "content_block_start");
      const block = {
        type: blockType,
        ...(blockType === "text" ? { text: "" } : { thinking: "" }),
      };
      this.#startBlock(
        { type: "content_block_start", index: this.#nextIndex, content_block: block },
        out,
      );
    }
    this.#forwardDelta(event, delta, out);
  }

  #forwardDelta(event: UpstreamMessageEvent, delta: JsonObject, out: UpstreamMessageEvent[]): void {
    const open = this.#open;
    if (open === undefined || open.isDropped) return;
    switch (delta["type"]) {
      case "text_delta": {
        const text = nonEmptyString(delta["text"]);
        if (text === undefined) return this.#budget.addText(0);
        this.#budget.addText(text.length);
        for (const held of open.held) out.push(held);
        open.held.length = 0;
        break;
      }
      case "thinking_delta": {
        const { thinking } = delta;
        if (typeof thinking !== "string") return this.#dropDelta(delta);
        this.#budget.addText(thinking.length);
        open.unsignedText?.append(thinking);
        break;
      }
      case "signature_delta":
        if (open.type !== "thinking" || typeof delta["signature"] !== "string")
          return this.#dropDelta(delta);
        if (delta["signature"] !== "") open.unsignedText = undefined;
        break;
      case "input_json_delta": {
        const { partial_json: piece } = delta;
        if (!open.type.endsWith("tool_use") || typeof piece !== "string")
          return this.#dropDelta(delta);
        if (piece !== "") open.input = undefined;
        open.arguments?.append(piece);
        this.#budget.addText(piece.length);
        break;
      }
      default:
        this.#budget.addText(0);
        if (!this.#isForwarded(delta, open.type)) return;
    }
    const sent = event["index"] === this.#nextIndex ? event : { ...event, index: this.#nextIndex };
    if (open.held.length > 0) open.held.push(sent);
    else out.push(sent);
  }

  #isForwarded({ type }: JsonObject, blockType: string): boolean {
    if (type === "citations_delta" && blockType === "text") return true;
    if (type === "compaction_delta" && blockType === "compaction") return true;
    if (this.#options.forwardsUnknown === true) return true;
    this.#dropDelta({ type });
    return false;
  }

  #dropDelta({ type }: JsonObject): void {
    this.repairs.add("event_dropped", nonEmptyString(type) ?? "delta without a type");
  }

  #stopBlock(event: UpstreamMessageEvent, out: UpstreamMessageEvent[]): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.isDropped) return;
    if (open.held.length > 0) return this.repairs.add("event_dropped", "an empty text block");
    const index = this.#nextIndex;
    if (open.input !== undefined) {
      this.repairs.add("event_completed", "input_json_delta");
      const partial_json = JSON.stringify(open.input);
      out.push(toDeltaEvent(index, { type: "input_json_delta", partial_json }));
    }
    if (open.arguments !== undefined) this.#checkArguments(open.arguments.toString());
    if (open.unsignedText !== undefined) this.#sign(open.unsignedText.toString(), index, out);
    this.#nextIndex += 1;
    out.push(event["index"] === index ? event : { ...event, index });
  }

  #checkArguments(text: string): void {
    if (text.trim() === "" || isObject(parseLimitedJson(text))) return;
    this.repairs.add("arguments_incomplete", text);
    this.#hasCutCall = true;
  }

  #sign(text: string, index: number, out: UpstreamMessageEvent[]): void {
    const signature = this.#options.seal?.({ textHash: hashReasoningText(text) });
    if (signature !== undefined)
      out.push(toDeltaEvent(index, { type: "signature_delta", signature }));
  }

  #pushStop(event: UpstreamMessageEvent, out: UpstreamMessageEvent[], isEnd = false): void {
    this.#ensureStarted(out);
    const delta = isObject(event["delta"]) ? event["delta"] : {};
    const { stop_reason: sent } = delta;
    this.#mergeUsage(event["usage"]);
    const usage = this.#repairUsage(event["usage"], false);
    if (nonEmptyString(sent) === undefined && this.#sentStop !== undefined)
      // Clients let the last event replace the stop reason.
      return void out.push({ ...event, delta: { ...delta, ...this.#sentStop }, usage });
    if (nonEmptyString(sent) === undefined && !isEnd) {
      // Its usage is sent with the stop reason.
      return this.repairs.add("event_dropped", "message_delta without a stop reason");
    }
    this.#closeOpen(out);
    const reason = this.#resolveStopReason(sent);
    this.#state = "stopping";
    const stop_sequence =
      reason === "stop_sequence" ? (nonEmptyString(delta["stop_sequence"]) ?? "") : null;
    this.#sentStop = { stop_reason: reason, stop_sequence };
    const isUnchanged = reason === sent && stop_sequence === delta["stop_sequence"];
    if (isUnchanged && usage === event["usage"]) return void out.push(event);
    if (reason !== sent) this.repairs.add("finish_corrected", nonEmptyString(sent) ?? "");
    out.push({ ...event, delta: { ...delta, ...this.#sentStop }, usage });
  }

  /** Sends the `message_delta` that the upstream left out. */
  #completeStop(out: UpstreamMessageEvent[]): void {
    this.#ensureStarted(out);
    const event = { type: "message_delta", delta: this.#earlyStop ?? {}, usage: null };
    if (this.#earlyStop === undefined) this.repairs.add("finish_missing", "");
    this.#pushStop(event, out, true);
  }

  #resolveStopReason(sent: unknown): string {
    const reason = nonEmptyString(sent);
    if (this.#hasCutCall && (reason === undefined || !cutReasons.has(reason))) return "max_tokens";
    if (reason !== undefined && finalReasons.has(reason))
      return reason === "tool_use" && !this.#hasCalls ? "end_turn" : reason;
    if (this.#hasCalls) return "tool_use";
    const finish = reason === undefined ? undefined : parseStopReason(reason);
    if (finish === undefined || finish.kind === "failed" || finish.kind === "tool_calls")
      return "end_turn";
    return toStopReason(finish.kind);
  }

  #ensureStarted(out: UpstreamMessageEvent[]): void {
    if (this.#state !== "new") return;
    this.repairs.add("event_completed", "message_start");
    this.#start({}, out);
  }

  #closeOpen(out: UpstreamMessageEvent[]): void {
    if (this.#open === undefined) return;
    this.repairs.add("event_completed", "content_block_stop");
    this.#stopBlock({ type: "content_block_stop" }, out);
  }

  #mergeUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    for (const [name, value] of Object.entries(usage))
      if (usageFields.has(name) && value !== null && value !== undefined)
        this.#rawUsage[name] = value;
  }

  /** Returns the same object if it has the counts that clients require. */
  #repairUsage(usage: unknown, isStart: boolean): JsonObject {
    const fields = isObject(usage) ? usage : {};
    const hasCounts =
      isCount(fields["output_tokens"]) && (!isStart || isCount(fields["input_tokens"]));
    if (hasCounts && !foreignUsageFields.some((name) => name in fields)) return fields;
    const known = toMessageUsage(fromMessageUsage(this.#rawUsage));
    const kept = Object.entries(fields).filter(([name, value]) => {
      if (foreignUsageFields.includes(name) || value === null) return false;
      return typeof known[name as keyof typeof known] !== "number" || isCount(value);
    });
    const { output_tokens } = known;
    return {
      ...(isStart || !isObject(usage) ? known : { output_tokens }),
      ...Object.fromEntries(kept),
    };
  }
}

const usageFields = new Set([
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens_details",
]);

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0;
}

function toDeltaEvent(index: number, delta: JsonObject): UpstreamMessageEvent {
  return { type: "content_block_delta", index, delta };
}
