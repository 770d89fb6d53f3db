import { assertNever } from "../error.ts";
import { boundedString, type JsonObject } from "../json.ts";
import type { OpaqueReasoning, SealReasoning } from "../mapping/reasoning.ts";
import { parameterDefaults } from "../mapping/response-resource.ts";
import type { Finish } from "../mapping/finish-reason.ts";
import { isIncompleteFinish } from "../mapping/resolve-finish.ts";
import { toResponseUsage } from "../mapping/usage.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyReader } from "../reply/reply-reader.ts";
import type { ReplyWriter } from "../reply/reply-writer.ts";
import type { Repairs } from "../repairs.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import type {
  ResponseOutputItem,
  ResponseEvent,
  ResponseObject,
  ResponseTerminalEvent,
} from "../shapes/responses-reply.ts";
import { createNotAllowedFailure, type AllowedTools } from "../tools/allowed-tools.ts";
import { noToolTranslation, type ToolTranslation } from "../tools/tool-translation.ts";
import { CallItemWriter } from "./call-item-writer.ts";
import { ResponseOutputWriter } from "./output-writer.ts";
import { ContentItemWriter } from "./content-item-writer.ts";

export interface ResponseWriterOptions {
  /** Id of the response, such as `resp_…`. */
  responseId: string;
  /** Returns ids for items and calls: `newId("msg")` returns, for example, `msg_7f3a…`. */
  newId: (prefix: string) => string;
  /** Creation time of the response, in seconds since 1970. */
  createdAt: number;
  /** Request fields that the response object echoes (`buildRequestEcho`). Default: those of an empty request. */
  echo?: JsonObject;
  /** Returns the current time in seconds since 1970, for `completed_at`. Default: `createdAt`. */
  getTime?: () => number;
  /** Model name in the reply. Default: the name that the upstream sends. */
  model?: string;
  /** Model name of the request, used if the upstream sends none. */
  requestedModel?: string;
  /** The tool translation that the request translator returned. Default: calls are not mapped to other tools. */
  tools?: ToolTranslation | undefined;
  /** Withholds calls of other tools. Default: all calls are sent. */
  allowedTools?: AllowedTools | undefined;
  /** Whether reasoning is sent as summary events (default), which every client knows, or as raw text (decision 39). */
  reasoning?: "summary" | "raw";
  /**
   * How calls that must not run are sent: all calls of a truncated reply, and incomplete calls. `incomplete` (default):
   * as items with that status. `withheld`: without `output_item.done`, for clients such as Codex that run every finished
   * item and ignore its status.
   */
  truncatedCalls?: "incomplete" | "withheld";
  /**
   * Seals opaque reasoning as `encrypted_content`, which the client sends back with the next request. Default: opaque
   * reasoning is dropped.
   */
  seal?: SealReasoning;
  /** True to seal the text of reasoning too, so that every reasoning item has `encrypted_content`. Default false. */
  sealsText?: boolean;
  /** Called with the final response, unless it failed. */
  onFinished?: (response: ResponseObject) => void;
}

/** What a writer needs to know about the reply, beside its pieces. */
export interface ResponseWriterContext {
  reader: Pick<
    ReplyReader<never>,
    "model" | "serviceTier" | "peekOpaqueReasoning" | "takeOpaqueReasoning"
  >;
  budget: ReplyBudget;
  repairs: Repairs;
}

/**
 * Writes a reply as the complete event sequence of the Responses API. Text, reasoning and calls are streamed immediately.
 * The `done` events of calls are sent at the end of the reply, because only then is it known which calls are complete.
 */
export class ResponseWriter implements ReplyWriter<ResponseEvent> {
  readonly #options: ResponseWriterOptions;
  readonly #reader: ResponseWriterContext["reader"];
  readonly #repairs: Repairs;
  readonly #echo: JsonObject;
  readonly #output = new ResponseOutputWriter();
  readonly #contentItems: ContentItemWriter;
  readonly #callItems: CallItemWriter;
  #hasBegun = false;
  #hasCalls = false;
  #model: string | undefined;

  constructor(options: ResponseWriterOptions, { reader, budget, repairs }: ResponseWriterContext) {
    const { newId, tools = noToolTranslation, truncatedCalls = "incomplete" } = options;
    this.#options = options;
    this.#reader = reader;
    this.#repairs = repairs;
    this.#echo = options.echo ?? parameterDefaults;
    this.#model = options.model;
    this.#contentItems = new ContentItemWriter({
      output: this.#output,
      newId,
      reasoningForm: options.reasoning ?? "summary",
      sealReasoning: (text) => this.#seal(reader.takeOpaqueReasoning(), text),
      budget,
    });
    this.#callItems = new CallItemWriter({
      output: this.#output,
      newId,
      tools,
      truncatedCalls,
      allowedTools: options.allowedTools,
      repairs,
    });
  }

  open(out: ResponseEvent[]): void {
    this.#model ??= boundedString(this.#reader.model);
    this.begin(out);
  }

  begin(out: ResponseEvent[]): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const response = this.#buildResponse("in_progress", [], undefined);
    out.push({ type: "response.created", ...this.#output.nextSequenceField(), response });
    out.push({ type: "response.in_progress", ...this.#output.nextSequenceField(), response });
  }

  keepAlive(usage: JsonObject | undefined, out: ResponseEvent[]): void {
    if (!this.#hasBegun) return this.begin(out);
    const response = this.#buildResponse("in_progress", [], usage);
    out.push({ type: "response.in_progress", ...this.#output.nextSequenceField(), response });
  }

  write(pieces: readonly ReplyPiece[], out: ResponseEvent[]): void {
    for (const piece of pieces) {
      switch (piece.type) {
        case "text":
          this.#contentItems.pushText(piece.text, piece.logprobs, out);
          break;
        case "refusal":
          this.#contentItems.pushRefusal(piece.text, out);
          break;
        case "reasoning":
          this.#contentItems.pushReasoning(piece.text, out);
          break;
        case "reasoning.detail":
          // It is sealed when the item closes. Without a seal, an item without text would be of no use.
          if (this.#options.seal !== undefined) this.#contentItems.openEmptyReasoning(out);
          break;
        case "annotation":
          this.#contentItems.pushAnnotation(piece.annotation, out);
          break;
        case "audio":
          this.#contentItems.pushAudio(piece.data, piece.transcript, out);
          break;
        case "call.opened":
          this.#hasCalls = true;
          this.#contentItems.close("completed", "commentary", out);
          this.#callItems.open(piece.call, out);
          break;
        case "call.arguments":
          this.#callItems.pushArguments(piece.call, piece.delta, out);
          break;
        case "call.closed":
          this.#callItems.close(piece, out);
          break;
        case "image":
          this.#contentItems.close("completed", undefined, out);
          this.#contentItems.pushImage(piece.url, out);
          break;
        case "web_search":
          this.#contentItems.close("completed", undefined, out);
          this.#contentItems.pushWebSearch(piece.query, out);
          break;
        case "call.fields":
        case "reasoning.repeated":
          break; // Responses has no field for these; signatures are sealed in `encrypted_content`
        default:
          assertNever(piece);
      }
    }
  }

  /** Fails a reply of which nothing is left but reasoning, because its calls are not allowed. */
  resolveFinish(finish: Finish): Finish {
    const { notAllowedName } = this.#callItems;
    if (notAllowedName === undefined || isIncompleteFinish(finish)) return finish;
    const hasContent =
      this.#contentItems.hasOpenMessage ||
      this.#output.finishedItems.some(({ type }) => type !== "reasoning");
    return hasContent ? finish : { kind: "failed", ...createNotAllowedFailure(notAllowedName) };
  }

  finish(finish: Finish, usage: JsonObject | undefined, out: ResponseEvent[]): void {
    this.begin(out);
    this.#emitLateReasoning(out);
    if (isIncompleteFinish(finish)) this.#contentItems.close("incomplete", undefined, out);
    else this.#contentItems.close("completed", this.#hasCalls ? "commentary" : "final_answer", out);
    const terminal = this.#buildTerminalEvent(finish, usage);
    out.push(terminal);
    if (finish.kind !== "failed") this.#options.onFinished?.(terminal.response);
  }

  /** Opens a reasoning item for signatures that arrived with a call or after the reasoning item was closed. */
  #emitLateReasoning(out: ResponseEvent[]): void {
    if (this.#reader.peekOpaqueReasoning() === undefined) return;
    if (this.#options.seal !== undefined) this.#contentItems.openEmptyReasoning(out);
    else this.#seal(this.#reader.takeOpaqueReasoning(), ""); // only records the loss as a repair
  }

  /** Returns the `encrypted_content` of an item. Records a repair if there is opaque reasoning that cannot be sealed. */
  #seal(opaqueReasoning: OpaqueReasoning | undefined, text: string): string | undefined {
    const { seal, sealsText = false } = this.#options;
    const sealsThisText = sealsText && text !== "";
    if (opaqueReasoning === undefined && !sealsThisText) return undefined;
    const sealed = seal?.({ ...opaqueReasoning, ...(sealsThisText ? { text } : {}) });
    if (sealed === undefined && opaqueReasoning !== undefined)
      this.#repairs.add("opaque_reasoning_lost", Object.keys(opaqueReasoning).join(", "));
    return sealed;
  }

  #buildTerminalEvent(finish: Finish, usage: JsonObject | undefined): ResponseTerminalEvent {
    const sequenceField = this.#output.nextSequenceField();
    switch (finish.kind) {
      case "stop":
      case "tool_calls":
        return {
          type: "response.completed",
          ...sequenceField,
          response: this.#buildResponse("completed", this.#output.finishedItems, usage),
        };
      case "length":
      case "content_filter": {
        const response = this.#buildResponse("incomplete", this.#output.finishedItems, usage);
        const reason = finish.kind === "length" ? "max_output_tokens" : "content_filter";
        response.incomplete_details = { reason };
        return { type: "response.incomplete", ...sequenceField, response };
      }
      case "failed": {
        const response = this.#buildResponse("failed", this.#output.finishedItems, usage);
        response.error = { code: finish.code, message: finish.message };
        return { type: "response.failed", ...sequenceField, response };
      }
      default:
        return assertNever(finish);
    }
  }

  #buildResponse(
    status: ResponseObject["status"],
    output: ResponseOutputItem[],
    usage: JsonObject | undefined,
  ): ResponseObject {
    const { responseId, createdAt, getTime } = this.#options;
    const serviceTier = boundedString(this.#reader.serviceTier);
    return {
      ...this.#echo,
      id: responseId,
      object: "response",
      created_at: createdAt,
      completed_at: status === "completed" ? (getTime?.() ?? createdAt) : null,
      status,
      error: null,
      incomplete_details: null,
      model: this.#model ?? this.#options.requestedModel ?? "",
      output,
      usage: usage === undefined ? null : toResponseUsage(usage),
      ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
    };
  }
}
