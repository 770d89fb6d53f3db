import { failureOfEnd } from "../chat-upstream/ending.ts";
import { unreachable } from "../error.ts";
import { repeatableString, type JsonObject } from "../json.ts";
import { empty, type ClientTranslator, type StreamEnd } from "../machine.ts";
import { chatError, type UpstreamFailure } from "../mapping/upstream-error.ts";
import { chatUsage, estimatedChatUsage, responseUsage } from "../mapping/usage.ts";
import { UsageEstimate } from "../chat-upstream/usage-estimate.ts";
import { genericProfile, type ReplyFlags } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type { ResponsesInput } from "../responses-upstream/body.ts";
import { ResponseReader, type ResponsePiece } from "../responses-upstream/reader.ts";
import type { ChatChunk, ChatChunkChoice, ChatDelta, ChatOutput } from "../shapes/chat-reply.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";

export interface ChatOverResponsesOptions {
  /** An id for the reply or for a call, where the upstream sends none: `newId("chatcmpl")`, `newId("call")`. */
  newId: (prefix: string) => string;
  /** Seconds since 1970, for an upstream that does not tell. */
  createdAt: number;
  /** The model's name for the client; the upstream's own where it is not given. */
  model?: string;
  /** The name that the client asked for: its name where the upstream gives none. */
  requestedModel?: string;
  /** Names of the tools that were offered. */
  toolNames?: ReadonlySet<string>;
  /** Call ids of the history, which no new call may have again. */
  usedCallIds?: ReadonlySet<string>;
  /** Their parameters, by name. */
  toolSchemas?: ReadonlyMap<string, JsonObject>;
  /** Whether the client asked for usage (`stream_options.include_usage`). */
  includeUsage?: boolean;
  /** The tokens of the request, for an upstream that does not tell what the reply cost (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
  /** How the upstream's replies differ; of the flags only `leakedCalls` matters on this wire. */
  profile?: ReplyFlags;
  /** Limits of the reply. Default: those of `replyLimits`. */
  budget?: ReplyBudget;
  repairs?: Repairs;
}

/** A Chat client on a Responses upstream: events in, chunks out, one finish, one usage, the sentinel or an error. */
export class ChatOverResponses implements ClientTranslator<ResponsesInput, ChatOutput> {
  readonly repairs: Repairs;
  readonly #options: ChatOverResponsesOptions;
  readonly #budget: ReplyBudget;
  readonly #reader: ResponseReader;
  readonly #pieces: ResponsePiece[] = [];
  #state: "new" | "streaming" | "ended" = "new";
  readonly #estimate: UsageEstimate | undefined;
  #usage: JsonObject | undefined;
  #id: string | undefined;

  constructor(options: ChatOverResponsesOptions) {
    const { newId, profile = genericProfile, repairs = new Repairs() } = options;
    const { toolNames = new Set(), toolSchemas = new Map(), usedCallIds = new Set() } = options;
    this.#options = options;
    this.repairs = repairs;
    this.#estimate = UsageEstimate.of(options, repairs);
    const offered = { toolNames, toolSchemas, usedCallIds };
    const budget = (this.#budget = options.budget ?? new ReplyBudget());
    this.#reader = new ResponseReader({ repairs, ...offered, newId, profile, budget });
  }

  get progress(): number {
    return this.#budget.progress;
  }

  get usage(): ResponseUsage | null {
    return this.#usage === undefined ? null : responseUsage(this.#usage);
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  get failure(): UpstreamFailure | undefined {
    const { finish } = this.#reader;
    return finish?.kind === "failed" ? finish : undefined;
  }

  /** After an `error` event only `response.failed` is to come. */
  get awaitsEnd(): boolean {
    return this.#state !== "ended" && this.#reader.finish !== undefined;
  }

  push(event: ResponsesInput, out: ChatOutput[]): void {
    if (this.#state === "ended") return this.repairs.add("data_after_end", event.type);
    this.#reader.read(event, this.#pieces);
    this.#translate(out);
    const { finish } = this.#reader;
    // An `error` event is not the end yet: `response.failed` tells the rest.
    if (finish !== undefined && event.type !== "error") this.#finish(out);
  }

  end(how: StreamEnd, out: ChatOutput[]): void {
    if (this.#state === "ended") return;
    if (this.#reader.finish === undefined || how === "aborted") {
      this.#reader.fail(failureOfEnd(how));
    }
    this.#finish(out);
  }

  fail(failure: UpstreamFailure, out: ChatOutput[]): void {
    if (this.#state === "ended") return;
    this.#reader.fail(failure);
    this.#finish(out);
  }

  #translate(out: ChatOutput[]): void {
    if (this.#pieces.length === 0) return;
    this.#estimate?.addPieces(this.#pieces);
    for (const piece of this.#pieces) {
      const delta = deltaOf(piece);
      if (delta === undefined) continue;
      this.#start(out);
      const logprobs = piece.type === "text" && piece.logprobs.length > 0 ? piece.logprobs : null;
      const more = logprobs === null ? {} : { logprobs: { content: logprobs, refusal: null } };
      out.push(this.#chunk([{ index: 0, delta, finish_reason: null, ...more }]));
    }
    empty(this.#pieces);
  }

  #start(out: ChatOutput[]): void {
    if (this.#state !== "new") return;
    this.#state = "streaming";
    const delta = { role: "assistant", content: "" };
    out.push(this.#chunk([{ index: 0, delta, finish_reason: null }]));
  }

  #finish(out: ChatOutput[]): void {
    this.#reader.end(this.#pieces);
    this.#translate(out);
    const { finish = { kind: "stop" } } = this.#reader;
    if (finish.kind !== "failed") {
      this.#start(out);
      out.push(this.#chunk([{ index: 0, delta: {}, finish_reason: finish.kind }]));
    }
    const { usage } = this.#reader;
    if (usage !== undefined) this.#usage = usageForChat(usage);
    const estimated =
      finish.kind === "failed" ? undefined : this.#estimate?.unlessTold(this.#usage);
    if (estimated !== undefined) this.#usage = estimatedChatUsage(estimated);
    if (this.#usage !== undefined && this.#options.includeUsage !== false)
      out.push({ ...this.#chunk([]), usage: this.#usage });
    this.#state = "ended";
    out.push(finish.kind === "failed" ? { error: chatError(finish) } : "[DONE]");
  }

  #chunk(choices: ChatChunkChoice[]): ChatChunk {
    const { response } = this.#reader;
    const { model, requestedModel } = this.#options;
    const created = response["created_at"];
    this.#id ??= repeatableString(response["id"]) ?? this.#options.newId("chatcmpl");
    return {
      id: this.#id,
      object: "chat.completion.chunk",
      created: typeof created === "number" ? Math.floor(created) : this.#options.createdAt,
      model: model ?? repeatableString(response["model"]) ?? requestedModel ?? "",
      choices,
    };
  }
}

function deltaOf(piece: ResponsePiece): ChatDelta | undefined {
  switch (piece.type) {
    case "text":
      return { content: piece.text };
    case "refusal":
      return { refusal: piece.text };
    case "reasoning":
      return { reasoning_content: piece.text };
    case "reasoning.encrypted":
      return { reasoning_details: [encryptedDetail(piece.id, piece.data)] };
    case "annotation":
      return { annotations: [piece.annotation] };
    case "image":
      return { images: [{ type: "image_url", image_url: { url: piece.url } }] };
    case "audio":
      return {
        audio: {
          ...(piece.data === "" ? {} : { data: piece.data }),
          ...(piece.transcript === "" ? {} : { transcript: piece.transcript }),
        },
      };
    case "call.opened": {
      const { index, id, name, kind } = piece.call;
      const described =
        kind === "custom" ? { custom: { name, input: "" } } : { function: { name, arguments: "" } };
      return { tool_calls: [{ index, id, type: kind, ...described }] };
    }
    case "call.arguments": {
      const { index, kind } = piece.call;
      const described =
        kind === "custom"
          ? { custom: { input: piece.delta } }
          : { function: { arguments: piece.delta } };
      return { tool_calls: [{ index, ...described }] };
    }
    case "call.closed":
    case "call.fields":
    case "reasoning.repeated":
      return undefined; // this wire has no event for the end of a call
    default:
      return unreachable(piece);
  }
}

/** OpenRouter's form, which clients that keep `reasoning_details` send back as it is. */
export const encryptedFormat = "openai-responses-v1";

function encryptedDetail(id: string | undefined, data: string): JsonObject {
  return {
    type: "reasoning.encrypted",
    data,
    format: encryptedFormat,
    ...(id === undefined ? {} : { id }),
  };
}

function usageForChat(usage: JsonObject): JsonObject {
  const { input_tokens_details: input, output_tokens_details: output, ...rest } = chatUsage(usage);
  const { input_tokens: _input, output_tokens: _output, ...counts } = rest;
  return {
    ...counts,
    ...(input === undefined ? {} : { prompt_tokens_details: input }),
    ...(output === undefined ? {} : { completion_tokens_details: output }),
  };
}
