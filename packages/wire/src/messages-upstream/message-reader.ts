import {
  LeakedCallExtractor,
  type LeakedCallSegment,
} from "../chat-upstream/leaked-call-extractor.ts";
import { ThinkTagParser, type ThinkTagSegment } from "../chat-upstream/think-tag-parser.ts";
import { isObject, nonEmptyString, parseInteger, parseJson, type JsonObject } from "../json.ts";
import { pickStrongerFinish, type Finish } from "../mapping/finish-reason.ts";
import { isIncompleteFinish, resolveFinish } from "../mapping/resolve-finish.ts";
import { messagesReasoningFormat, type OpaqueReasoning } from "../mapping/reasoning.ts";
import { parseStopReason } from "../mapping/stop-reason.ts";
import { parseUpstreamFailure, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { fromMessageUsage } from "../mapping/usage.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyReader, ReplyReaderOptions } from "../reply/reply-reader.ts";
import type { RepairCode } from "../repairs.ts";
import { TextAccumulator } from "../text-accumulator.ts";
import { ToolCallAssembler } from "../tools/tool-call-assembler.ts";
import type { UpstreamMessageEvent } from "./body.ts";

/** A content block between its start and its stop. */
type OpenBlock =
  | { kind: "text" }
  | { kind: "thinking"; text: TextAccumulator; signature: string }
  /** `input`: the value in the block's start, used if no deltas follow. */
  | { kind: "call"; index: number; input: JsonObject[string]; hasDeltas: boolean }
  /** A search that the server runs. */
  | { kind: "search"; id: string; input: string }
  | { kind: "skipped" };

/** Reads the events of a Messages upstream. Tolerates blocks without stops and indexes, and content in any kind of start. */
export class MessageReader implements ReplyReader<UpstreamMessageEvent> {
  id: unknown;
  readonly createdAt = undefined;
  model: unknown;
  stopSequence: string | undefined;
  readonly #options: ReplyReaderOptions;
  readonly #calls: ToolCallAssembler;
  readonly #thinkTags: ThinkTagParser | undefined;
  readonly #leakedCalls: LeakedCallExtractor | undefined;
  readonly #tagSegments: ThinkTagSegment[] = [];
  readonly #leakSegments: LeakedCallSegment[] = [];
  readonly #blocks = new Map<number, OpenBlock>();
  /** The index of the latest block, for events without one. */
  #latestIndex = -1;
  #hasStarted = false;
  #hasBlocks = false;
  readonly #callIds = new Set<string>();
  #callCount = 0;
  /** Queries of the server's searches by the id of their call, until their result arrives. */
  readonly #searches = new Map<string, string>();
  #details: JsonObject[] = [];
  /** True if thinking was emitted and nothing since: a further block of it is a new paragraph. */
  #endsWithReasoning = false;
  /** Length of the text since other content, and where the current text block began in it. */
  #textLength = 0;
  #blockStart = 0;
  #rawUsage: JsonObject | undefined;
  #usage: JsonObject | undefined;
  #finish: Finish | undefined;
  #stopReason: string | undefined;

  constructor(options: ReplyReaderOptions) {
    this.#options = options;
    const { toolNames: names, toolSchemas: schemas, profile } = options;
    this.#calls = new ToolCallAssembler({
      choiceIndex: 0,
      repairs: options.repairs,
      newCallId: () => options.newId("call"),
      toolNames: names,
      usedCallIds: options.usedCallIds,
      budget: options.budget,
    });
    if (profile.thinkTags) this.#thinkTags = new ThinkTagParser(profile.startsInsideThink);
    if (profile.leakedCalls.length > 0 && names.size > 0)
      this.#leakedCalls = new LeakedCallExtractor(profile.leakedCalls, { names, schemas });
  }

  get hasFinished(): boolean {
    return this.#finish !== undefined;
  }

  get failure(): UpstreamFailure | undefined {
    return this.#finish?.kind === "failed" ? this.#finish : undefined;
  }

  get usage(): JsonObject | undefined {
    if (this.#usage === undefined && this.#rawUsage !== undefined)
      this.#usage = fromMessageUsage(this.#rawUsage);
    return this.#usage;
  }

  /** `standard` is OpenAI's `default`, and OpenAI has no tier for batches. */
  get serviceTier(): string | undefined {
    return this.#rawUsage?.["service_tier"] === "priority" ? "priority" : undefined;
  }

  read(event: UpstreamMessageEvent, out: ReplyPiece[]): boolean {
    switch (event.type) {
      case "content_block_delta":
        this.#readDelta(event, out);
        return false;
      case "content_block_start":
        this.#startBlock(parseInteger(event["index"]), event["content_block"], out);
        return false;
      case "content_block_stop":
        this.#stopBlock(parseInteger(event["index"]) ?? this.#latestIndex, out);
        return false;
      case "message_start":
        return this.#start(event["message"], out);
      case "message_delta":
        if (isObject(event["delta"])) this.#readStop(event["delta"]);
        this.#mergeUsage(event["usage"]);
        return false;
      case "message_stop":
        if (this.#finish === undefined) {
          this.#addRepair("finish_missing", "");
          this.#finish = { kind: "stop" };
        }
        return true;
      case "error":
        this.fail(parseUpstreamFailure(event["error"] ?? event));
        // Before the first event an error can still be sent as an HTTP status.
        return this.#hasStarted;
      case "ping":
        return false;
      default:
        this.#addRepair("event_dropped", event.type);
        return false;
    }
  }

  end(out: ReplyPiece[]): Finish {
    for (const index of this.#blocks.keys()) this.#stopBlock(index, out);
    this.#flushText(out);
    const reported = this.#finish ?? { kind: "stop" };
    if (reported.kind === "failed") {
      this.#calls.close({ isTruncated: true, upstreamFinished: false }, out);
      return reported;
    }
    const hasIncompleteCall =
      reported.kind === "stop" &&
      this.#calls.hasIncompleteCall(true, (name) => this.#acceptsText(name));
    const { hasCalls } = this.#calls;
    const finish = resolveFinish(reported, { hasCalls, hasIncompleteCall });
    if (finish.kind !== reported.kind) this.#addRepair("finish_corrected", this.#stopReason ?? "");
    const isTruncated = isIncompleteFinish(finish);
    this.#calls.close({ isTruncated, upstreamFinished: !isTruncated }, out);
    return finish;
  }

  failAtEnd(failure: UpstreamFailure): void {
    this.#finish = pickStrongerFinish(this.#finish, { kind: "failed", ...failure });
  }

  fail(failure: UpstreamFailure): void {
    if (this.failure === undefined) this.#finish = { kind: "failed", ...failure };
  }

  peekOpaqueReasoning(): OpaqueReasoning | undefined {
    return this.#details.length === 0 ? undefined : { details: this.#details };
  }

  takeOpaqueReasoning(): OpaqueReasoning | undefined {
    const opaque = this.peekOpaqueReasoning();
    this.#details = [];
    return opaque;
  }

  describeExtra({ type }: UpstreamMessageEvent): string | undefined {
    return type === "ping" || type === "message_stop" ? undefined : type;
  }

  /** Returns true if the reply ended, because a second one began in the middle. */
  #start(message: unknown, out: ReplyPiece[]): boolean {
    const fields = isObject(message) ? message : {};
    if (this.#hasStarted && this.#hasBlocks && fields["id"] !== this.id) {
      const error = "the upstream began a second reply in the middle of the first";
      this.fail({ code: "upstream_stream_spliced", message: error });
      return true;
    }
    if (this.#hasStarted) this.#addRepair("event_dropped", "message_start repeated");
    this.#hasStarted = true;
    this.id ??= fields["id"];
    this.model ??= fields["model"];
    this.#mergeUsage(fields["usage"]);
    if (Array.isArray(fields["content"]) && !this.#hasBlocks)
      for (const block of fields["content"]) {
        this.#startBlock(undefined, block, out);
        this.#stopBlock(this.#latestIndex, out);
      }
    this.#readStop(fields);
    return false;
  }

  #startBlock(sentIndex: number | undefined, value: unknown, out: ReplyPiece[]): void {
    const index = sentIndex ?? this.#latestIndex + 1;
    // A block whose stop is missing ends where the next one starts. Calls may overlap.
    if (this.#blocks.get(this.#latestIndex)?.kind !== "call")
      this.#stopBlock(this.#latestIndex, out);
    this.#stopBlock(index, out);
    this.#latestIndex = index;
    this.#hasStarted = true;
    this.#hasBlocks = true;
    this.#options.budget.addItem();
    this.#blocks.set(index, this.#openBlock(isObject(value) ? value : {}, out));
  }

  #openBlock(block: JsonObject, out: ReplyPiece[]): OpenBlock {
    switch (block["type"]) {
      case "text":
        this.#blockStart = this.#textLength;
        this.#readText(block["text"], out);
        if (Array.isArray(block["citations"]))
          for (const citation of block["citations"]) this.#readCitation(citation, out);
        return { kind: "text" };
      case "thinking": {
        if (this.#endsWithReasoning) this.#emit(toReasoningPiece("\n\n"), out);
        this.#endsWithReasoning = false;
        const thinking: OpenBlock & { kind: "thinking" } = {
          kind: "thinking",
          text: new TextAccumulator(),
          signature: nonEmptyString(block["signature"]) ?? "",
        };
        this.#readThinking(block["thinking"], thinking, out);
        return thinking;
      }
      case "redacted_thinking": {
        const data = nonEmptyString(block["data"]);
        if (data !== undefined)
          this.#addDetail(
            { type: "reasoning.encrypted", data, format: messagesReasoningFormat },
            out,
          );
        return { kind: "skipped" };
      }
      case "tool_use":
        return this.#openCall(block, out);
      case "server_tool_use":
        if (block["name"] === "web_search" && typeof block["id"] === "string") {
          const input = isObject(block["input"]) ? JSON.stringify(block["input"]) : "";
          return { kind: "search", id: block["id"], input: input === "{}" ? "" : input };
        }
        this.#skip(block);
        return { kind: "skipped" };
      case "web_search_tool_result": {
        const id = nonEmptyString(block["tool_use_id"]) ?? "";
        const query = this.#searches.get(id);
        this.#searches.delete(id);
        if (query !== undefined) this.#emit({ type: "web_search", query }, out);
        return { kind: "skipped" };
      }
      default:
        this.#skip(block);
        return { kind: "skipped" };
    }
  }

  #skip(block: JsonObject): void {
    this.#addRepair("item_skipped", nonEmptyString(block["type"]) ?? "block without a type");
  }

  /** Passes a call to the assembler as a Chat delta, so that all wires follow the same rules. */
  #openCall(block: JsonObject, out: ReplyPiece[]): OpenBlock {
    const index = this.#callCount;
    this.#callCount += 1;
    this.#endText(out);
    const sentId = nonEmptyString(block["id"]);
    // Two blocks are two calls, even if a server gives them the same id.
    const id = sentId === undefined || this.#callIds.has(sentId) ? null : sentId;
    if (sentId !== undefined) this.#callIds.add(sentId);
    const name = nonEmptyString(block["name"]) ?? null;
    this.#calls.push({ index, id, type: "function", function: { name } }, out);
    return { kind: "call", index, input: block["input"], hasDeltas: false };
  }

  #readDelta(event: UpstreamMessageEvent, out: ReplyPiece[]): void {
    const { delta } = event;
    if (!isObject(delta)) return;
    const block = this.#blocks.get(parseInteger(event["index"]) ?? this.#latestIndex);
    if (block?.kind === "skipped") return this.#options.budget.addText(0);
    switch (delta["type"]) {
      case "text_delta":
        return this.#readText(delta["text"], out);
      case "thinking_delta":
        return this.#readThinking(delta["thinking"], block, out);
      case "signature_delta": {
        const signature = nonEmptyString(delta["signature"]);
        // Of several signatures the last one counts.
        if (block?.kind === "thinking" && signature !== undefined) block.signature = signature;
        return;
      }
      case "input_json_delta":
        return this.#readInput(delta["partial_json"], block, out);
      case "citations_delta":
        return this.#readCitation(delta["citation"], out);
      default:
        this.#addRepair("event_dropped", nonEmptyString(delta["type"]) ?? "delta without a type");
    }
  }

  #readText(text: unknown, out: ReplyPiece[]): void {
    if (typeof text !== "string" || text === "") return;
    this.#hasBlocks = true;
    this.#options.budget.addText(text.length);
    if (this.#thinkTags === undefined || this.#thinkTags.isDone) return this.#emitText(text, out);
    const hadTag = this.#thinkTags.hasFoundTag;
    this.#thinkTags.push(text, this.#tagSegments);
    if (this.#thinkTags.hasFoundTag && !hadTag) this.#addRepair("reasoning_tags_split", text);
    this.#emitTagged(out);
  }

  #emitTagged(out: ReplyPiece[]): void {
    for (const { isReasoning, text } of this.#tagSegments)
      if (isReasoning) this.#emit({ type: "reasoning", text, inContent: true }, out);
      else this.#emitText(text, out);
    this.#tagSegments.length = 0;
  }

  #emitText(text: string, out: ReplyPiece[]): void {
    if (this.#leakedCalls === undefined) return this.#pushText(text, out);
    this.#leakedCalls.push(text, this.#leakSegments);
    this.#emitLeaked(out);
  }

  #emitLeaked(out: ReplyPiece[]): void {
    for (const segment of this.#leakSegments)
      if (segment.type === "text") this.#pushText(segment.text, out);
      else {
        this.#addRepair("call_leaked", segment.source);
        this.#calls.pushLeakedCall(segment.call, out);
      }
    this.#leakSegments.length = 0;
  }

  #pushText(text: string, out: ReplyPiece[]): void {
    this.#calls.openNamedCalls(out);
    this.#textLength += text.length;
    this.#endsWithReasoning = false;
    out.push({ type: "text", text, logprobs: noLogprobs });
  }

  /** Emits buffered blanks before a call. */
  #endText(out: ReplyPiece[]): void {
    this.#endsWithReasoning = false;
    this.#textLength = 0;
    if (this.#leakedCalls === undefined) return;
    this.#leakedCalls.flushBlanks(this.#leakSegments);
    this.#emitLeaked(out);
  }

  #flushText(out: ReplyPiece[]): void {
    this.#thinkTags?.end(this.#tagSegments);
    this.#emitTagged(out);
    this.#leakedCalls?.end(this.#leakSegments);
    this.#emitLeaked(out);
  }

  /** Some servers send thinking within a text block. */
  #readThinking(text: unknown, block: OpenBlock | undefined, out: ReplyPiece[]): void {
    if (typeof text !== "string" || text === "") return;
    this.#hasBlocks = true;
    this.#options.budget.addText(text.length);
    if (block?.kind === "thinking") block.text.append(text);
    this.#emit(toReasoningPiece(text), out);
  }

  #readInput(value: unknown, block: OpenBlock | undefined, out: ReplyPiece[]): void {
    if (block?.kind === "search" && typeof value === "string") {
      this.#options.budget.addText(value.length);
      block.input += value;
    }
    if (block?.kind !== "call" || value === "" || value === undefined || value === null) return;
    block.hasDeltas = true;
    const args = value as JsonObject[string];
    this.#calls.push(
      { index: block.index, function: args === undefined ? {} : { arguments: args } },
      out,
    );
  }

  #stopBlock(index: number, out: ReplyPiece[]): void {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    switch (block.kind) {
      case "thinking": {
        if (!block.text.isEmpty) this.#endsWithReasoning = true;
        if (block.signature === "") return;
        const { signature } = block;
        const text = block.text.toString();
        return this.#addDetail(
          { type: "reasoning.text", text, signature, format: messagesReasoningFormat },
          out,
        );
      }
      case "call":
        if (!block.hasDeltas && hasContent(block.input)) {
          const text = typeof block.input === "string" ? block.input : JSON.stringify(block.input);
          this.#calls.push({ index: block.index, function: { arguments: text } }, out);
        }
        this.#calls.markEnded(block.index);
        return;
      case "search": {
        const input = parseJson(block.input);
        const query = isObject(input) ? nonEmptyString(input["query"]) : undefined;
        this.#searches.set(block.id, query ?? "");
        return;
      }
      default:
    }
  }

  #readCitation(citation: unknown, out: ReplyPiece[]): void {
    if (!isObject(citation)) return;
    const url = nonEmptyString(citation["url"]);
    if (url === undefined) {
      // Places in a document of the request: the other wires have no field for them.
      return this.#addRepair("content_dropped", nonEmptyString(citation["type"]) ?? "citation");
    }
    this.#options.budget.addValue(citation);
    const urlCitation = {
      url,
      title: nonEmptyString(citation["title"]) ?? "",
      start_index: this.#blockStart,
      end_index: this.#textLength,
    };
    out.push({
      type: "annotation",
      annotation: { type: "url_citation", url_citation: urlCitation },
    });
  }

  #addDetail(detail: JsonObject, out: ReplyPiece[]): void {
    this.#options.budget.addValue(detail);
    this.#details.push(detail);
    this.#calls.openNamedCalls(out);
    out.push({ type: "reasoning.detail", detail });
  }

  #emit(piece: ReplyPiece, out: ReplyPiece[]): void {
    this.#calls.openNamedCalls(out);
    this.#textLength = 0;
    out.push(piece);
  }

  #readStop(fields: JsonObject): void {
    const stopSequence = nonEmptyString(fields["stop_sequence"]);
    if (stopSequence !== undefined) this.stopSequence = stopSequence;
    const reason = nonEmptyString(fields["stop_reason"]);
    if (reason === undefined) return;
    let finish = parseStopReason(reason);
    if (finish === undefined) {
      this.#addRepair("finish_unknown", reason);
      finish = { kind: "stop" };
    }
    this.#stopReason = reason;
    this.#finish = pickStrongerFinish(this.#finish, finish);
  }

  /** Later values that are not null replace earlier ones; nothing is added up. */
  #mergeUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    this.#rawUsage ??= {};
    for (const field of usageFields)
      if (usage[field] !== undefined && usage[field] !== null) this.#rawUsage[field] = usage[field];
    this.#usage = undefined;
  }

  #acceptsText(name: string): boolean {
    return this.#options.tools?.findDeclared(name)?.kind === "custom";
  }

  #addRepair(code: RepairCode, detail: string): void {
    this.#options.repairs.add(code, detail);
  }
}

const noLogprobs: readonly [] = [];

const usageFields = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens_details",
] as const;

function toReasoningPiece(text: string): ReplyPiece {
  return { type: "reasoning", text, inContent: false };
}

/** False for the empty object with which a streamed input starts. */
function hasContent(input: JsonObject[string]): boolean {
  if (input === undefined || input === null || input === "") return false;
  return !isObject(input) || Object.keys(input).length > 0;
}
