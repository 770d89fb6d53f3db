import { isObject, nonEmptyString, parseJson, type JsonObject } from "../json.ts";
import type { UpstreamFailure } from "../mapping/upstream-error.ts";
import type { Repairs } from "../repairs.ts";
import type { MessageContentBlock, MessagesRequest } from "../shapes/messages-request.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import type { ClientTranslator, StreamEndReason } from "../stream-machine.ts";
import { TextAccumulator } from "../text-accumulator.ts";
import type { UpstreamMessageEvent } from "./body.ts";

/** How often a paused turn is sent back by default. */
export const maxContinuations = 5;

export interface ContinuedTurnOptions {
  /** How often the turn may be sent back. Then the reply is incomplete. Default 5. */
  maxContinuations?: number;
}

/**
 * Serves an OpenAI client from a Messages upstream that may pause its turn (`pause_turn`) while it runs tools of its own. The
 * client receives one reply, and the caller sends the turn back:
 *
 * 1. Push the upstream's events. If the body ends and `pausedContent` is set, the reply has not ended.
 * 2. Send `buildContinuation(request, pausedContent)`, call `resume`, and push the events of its reply.
 * 3. If that is not possible, call `giveUp`, after which the reply is incomplete, or `fail`.
 */
export class ContinuedTurn<Out> implements ClientTranslator<UpstreamMessageEvent, Out> {
  readonly #translator: ClientTranslator<UpstreamMessageEvent, Out>;
  readonly #collector = new TurnCollector();
  #remaining: number;
  #isContinued = false;
  /** The stop reason `pause_turn`, which the translator has not received. */
  #heldStop: UpstreamMessageEvent | undefined;
  /** Usage of the earlier replies, and of the present one. */
  #earlierUsage: JsonObject = {};
  #usage: JsonObject = {};

  constructor(
    translator: ClientTranslator<UpstreamMessageEvent, Out>,
    options: ContinuedTurnOptions = {},
  ) {
    this.#translator = translator;
    this.#remaining = options.maxContinuations ?? maxContinuations;
  }

  /** The content of the turn so far, if the upstream has paused it. */
  get pausedContent(): readonly MessageContentBlock[] | undefined {
    return this.#heldStop === undefined ? undefined : this.#collector.blocks;
  }

  get repairs(): Repairs {
    return this.#translator.repairs;
  }

  get usage(): ResponseUsage | null {
    return this.#translator.usage;
  }

  get ended(): boolean {
    return this.#translator.ended;
  }

  get failure(): UpstreamFailure | undefined {
    return this.#translator.failure;
  }

  get awaitsEnd(): boolean {
    return this.#heldStop !== undefined || this.#translator.awaitsEnd;
  }

  get progress(): number {
    return this.#translator.progress;
  }

  begin(out: Out[]): void {
    this.#translator.begin?.(out);
  }

  keepAlive(out: Out[]): void {
    this.#translator.keepAlive?.(out);
  }

  push(event: UpstreamMessageEvent, out: Out[]): void {
    if (this.#heldStop !== undefined) return;
    switch (event.type) {
      case "message_start":
        return this.#pushStart(event, out);
      case "message_delta":
        return this.#pushStop(event, out);
      default:
        this.#collector.read(event);
        this.#translator.push(event, out);
    }
  }

  end(reason: StreamEndReason, out: Out[]): void {
    if (this.#heldStop === undefined || reason === "aborted") this.#translator.end(reason, out);
  }

  fail(failure: UpstreamFailure, out: Out[]): void {
    this.#heldStop = undefined;
    this.#translator.fail(failure, out);
  }

  /** Must be called before the events of the continuation are pushed. */
  resume(): void {
    this.#heldStop = undefined;
    this.#isContinued = true;
    this.#remaining -= 1;
    this.#earlierUsage = addUsage(this.#earlierUsage, this.#usage);
    this.#usage = {};
  }

  /** Ends a paused reply as incomplete. */
  giveUp(out: Out[]): void {
    const stop = this.#heldStop;
    if (stop === undefined) return;
    this.#heldStop = undefined;
    this.#translator.push(stop, out);
    this.#translator.push({ type: "message_stop" }, out);
  }

  /** The client has received the start of the reply already, so that of a continuation only adds its content and usage. */
  #pushStart(event: UpstreamMessageEvent, out: Out[]): void {
    const message = isObject(event["message"]) ? event["message"] : {};
    const { content, stop_reason, stop_sequence, usage } = message;
    this.#mergeUsage(usage);
    const blocks = Array.isArray(content) ? content : [];
    for (const block of blocks) this.#collector.addBlock(block);
    const isPaused = stop_reason === "pause_turn";
    if (!this.#isContinued)
      this.#translator.push(
        isPaused ? { ...event, message: { ...message, stop_reason: null } } : event,
        out,
      );
    else
      for (const content_block of blocks) {
        this.#translator.push({ type: "content_block_start", content_block }, out);
        this.#translator.push({ type: "content_block_stop" }, out);
      }
    const hasStop = nonEmptyString(stop_reason) !== undefined;
    if (hasStop && (this.#isContinued || isPaused)) {
      const delta = { stop_reason, ...(stop_sequence === undefined ? {} : { stop_sequence }) };
      this.#pushStop({ type: "message_delta", delta }, out);
    }
  }

  #pushStop(event: UpstreamMessageEvent, out: Out[]): void {
    this.#mergeUsage(event["usage"]);
    const usage = addUsage(this.#earlierUsage, this.#usage);
    const stop = this.#isContinued ? { ...event, usage } : event;
    const reason = isObject(event["delta"]) ? event["delta"]["stop_reason"] : undefined;
    const canContinue = this.#remaining > 0 && this.#collector.canBeSentBack;
    if (reason === "pause_turn" && canContinue) this.#heldStop = stop;
    else this.#translator.push(stop, out);
  }

  #mergeUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    for (const [name, value] of Object.entries(usage))
      if (value !== null && value !== undefined) this.#usage[name] = value;
  }
}

/** Returns the request that continues a paused turn: the same one, with the turn at its end. */
export function buildContinuation(
  request: MessagesRequest,
  content: readonly MessageContentBlock[],
): MessagesRequest {
  const turn = withoutTrailingBlanks(content);
  const last = request.messages.at(-1);
  if (last?.role !== "assistant")
    return { ...request, messages: [...request.messages, { role: "assistant", content: turn }] };
  const prefill: MessageContentBlock[] =
    typeof last.content === "string" ? [{ type: "text", text: last.content }] : last.content;
  const messages = [...request.messages.slice(0, -1), { ...last, content: [...prefill, ...turn] }];
  return { ...request, messages };
}

/** The API rejects blanks at the end of a last turn of the assistant. */
function withoutTrailingBlanks(content: readonly MessageContentBlock[]): MessageContentBlock[] {
  const last = content.at(-1);
  if (last?.type !== "text") return [...content];
  return [...content.slice(0, -1), { ...last, text: last.text?.trimEnd() ?? "" }];
}

/** The field of a block to which each delta adds text. */
const textFields: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  input_json_delta: "partial_json",
};

/** Collects the blocks of a turn as the upstream expects them back, byte for byte. */
class TurnCollector {
  readonly blocks: MessageContentBlock[] = [];
  #block: JsonObject | undefined;
  readonly #text = new TextAccumulator();

  /** False for a turn without content, and for one with a call that the client must answer first. */
  get canBeSentBack(): boolean {
    return this.blocks.length > 0 && !this.blocks.some(({ type }) => type === "tool_use");
  }

  read(event: UpstreamMessageEvent): void {
    switch (event.type) {
      case "content_block_delta":
        return this.#readDelta(event["delta"]);
      case "content_block_start":
        this.#closeBlock();
        this.#block = isObject(event["content_block"]) ? { ...event["content_block"] } : undefined;
        return;
      case "content_block_stop":
        return this.#closeBlock();
      default:
    }
  }

  addBlock(block: unknown): void {
    if (!isObject(block) || typeof block["type"] !== "string") return;
    // The API rejects blank text blocks.
    if (block["type"] === "text" && !nonEmptyString(block["text"])?.trim()) return;
    this.blocks.push(block as MessageContentBlock);
  }

  #readDelta(delta: unknown): void {
    if (!isObject(delta) || this.#block === undefined) return;
    const type = nonEmptyString(delta["type"]) ?? "";
    const field = Object.hasOwn(textFields, type) ? textFields[type] : undefined;
    const text = field === undefined ? undefined : delta[field];
    if (typeof text === "string") return this.#text.append(text);
    if (type === "signature_delta") this.#block["signature"] = delta["signature"];
    if (type === "compaction_delta") this.#block["content"] = delta["content"];
    if (type !== "citations_delta") return;
    const { citations } = this.#block;
    const known = Array.isArray(citations) ? citations : [];
    this.#block["citations"] = [...known, delta["citation"] ?? null];
  }

  #closeBlock(): void {
    const block = this.#block;
    const text = this.#text.toString();
    this.#block = undefined;
    this.#text.clear();
    if (block === undefined) return;
    const input = parseJson(text);
    if (block["type"] === "text" || block["type"] === "thinking") {
      const field = block["type"];
      block[field] = (nonEmptyString(block[field]) ?? "") + text;
    } else if (isObject(input)) block["input"] = input;
    this.addBlock(block);
  }
}

/** Adds the counts of two replies, also those in nested objects. Other values are those of the later one. */
function addUsage(earlier: JsonObject, later: JsonObject): JsonObject {
  const sum: JsonObject = { ...earlier };
  for (const [name, value] of Object.entries(later)) {
    const known = sum[name];
    if (typeof value === "number" && typeof known === "number") sum[name] = known + value;
    else if (isObject(value) && isObject(known)) sum[name] = addUsage(known, value);
    else sum[name] = value;
  }
  return sum;
}
