import { assertNever } from "../error.ts";
import { boundedString, type JsonObject } from "../json.ts";
import type { Finish } from "../mapping/finish-reason.ts";
import {
  messagesReasoningFormat,
  sealedReasoningFormat,
  type SealReasoning,
} from "../mapping/reasoning.ts";
import { toChatError } from "../mapping/upstream-error.ts";
import { toChatUsage, toEstimatedChatUsage } from "../mapping/usage.ts";
import type { ReplyPiece } from "../reply/reply-piece.ts";
import type { ReplyEnvelope } from "../reply/reply-reader.ts";
import type { Repairs } from "../repairs.ts";
import type { ReplyWriter } from "../reply/reply-writer.ts";
import type {
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ChatStreamEvent,
} from "../shapes/chat-reply.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { DeclaredCallMapper } from "./declared-call-mapper.ts";

export interface ChunkWriterOptions {
  /** Returns an id for a reply or call without one, for example for `newId("chatcmpl")` or `newId("call")`. */
  newId: (prefix: string) => string;
  /** Creation time in seconds since 1970, used if the upstream sends none. */
  createdAt: number;
  /** Model name in the reply. Default: the name that the upstream sends. */
  model?: string;
  /** Model name of the request, used if the upstream sends none. */
  requestedModel?: string;
  /** Maps calls to the declared tools, if these were offered under other names or in another form. */
  tools?: ToolTranslation | undefined;
  /**
   * Seals the signatures of a Messages upstream, so that the client can send them back only to this upstream. Default: they
   * are sent unchanged in `reasoning_details`.
   */
  seal?: SealReasoning;
  /**
   * Called at the end of a reply with calls and sealed or encrypted reasoning, in case the client drops it. `details` are the
   * `reasoning_details` that the client receives.
   */
  onSealedReasoning?: (details: JsonObject[], callIds: string[]) => void;
  /** Whether the client requested usage (`stream_options.include_usage`). Default true. */
  includeUsage?: boolean;
}

/** Writes a reply as chunks, followed by one finish, one usage, and `[DONE]` or an error. */
export class ChunkWriter implements ReplyWriter<ChatStreamEvent> {
  readonly #options: ChunkWriterOptions;
  readonly #envelope: ReplyEnvelope;
  readonly #callMapper: DeclaredCallMapper | undefined;
  #hasBegun = false;
  #id: string | undefined;
  readonly #details: JsonObject[] = [];
  readonly #callIds: string[] = [];

  constructor(
    options: ChunkWriterOptions,
    { reader, repairs }: { reader: ReplyEnvelope; repairs: Repairs },
  ) {
    this.#options = options;
    this.#envelope = reader;
    const { tools } = options;
    if (tools !== undefined) this.#callMapper = new DeclaredCallMapper(tools, repairs, 0);
  }

  /** Does nothing: the first chunk is sent with the first content. */
  open(): void {}

  write(pieces: readonly ReplyPiece[], out: ChatStreamEvent[]): void {
    for (const piece of this.#callMapper?.map(pieces) ?? pieces) {
      const delta = this.#toDelta(piece);
      if (delta === undefined) continue;
      if (piece.type === "call.opened") this.#callIds.push(piece.call.id);
      this.#start(out);
      const logprobs = piece.type === "text" && piece.logprobs.length > 0 ? piece.logprobs : null;
      const logprobsField =
        logprobs === null ? {} : { logprobs: { content: logprobs, refusal: null } };
      out.push(this.#buildChunk([{ index: 0, delta, finish_reason: null, ...logprobsField }]));
    }
  }

  finish(finish: Finish, usage: JsonObject | undefined, out: ChatStreamEvent[]): void {
    const details = this.#details;
    const hasSealedCalls = this.#callIds.length > 0 && details.length > 0;
    if (hasSealedCalls && finish.kind !== "failed")
      this.#options.onSealedReasoning?.(details, this.#callIds);
    if (finish.kind !== "failed") {
      this.#start(out);
      out.push(this.#buildChunk([{ index: 0, delta: {}, finish_reason: finish.kind }]));
    }
    if (usage !== undefined && this.#options.includeUsage !== false)
      out.push({ ...this.#buildChunk([]), usage: toChunkUsage(usage) });
    out.push(finish.kind === "failed" ? { error: toChatError(finish) } : "[DONE]");
  }

  #toDelta(piece: ReplyPiece): ChatDelta | undefined {
    if (piece.type !== "reasoning.detail") return toChatDelta(piece);
    const detail = this.#sealDetail(piece.detail);
    if (detail === undefined) return undefined;
    this.#details.push(detail);
    return { reasoning_details: [detail] };
  }

  #sealDetail(detail: JsonObject): JsonObject | undefined {
    const { seal } = this.#options;
    if (seal === undefined || detail["format"] !== messagesReasoningFormat) return detail;
    const data = seal({ details: [detail] });
    return data === undefined
      ? undefined
      : { type: "reasoning.encrypted", data, format: sealedReasoningFormat };
  }

  #start(out: ChatStreamEvent[]): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const delta = { role: "assistant", content: "" };
    out.push(this.#buildChunk([{ index: 0, delta, finish_reason: null }]));
  }

  #buildChunk(choices: ChatChunkChoice[]): ChatChunk {
    const { id, createdAt: created, model: upstreamModel } = this.#envelope;
    const { model, requestedModel, createdAt } = this.#options;
    this.#id ??= boundedString(id) ?? this.#options.newId("chatcmpl");
    return {
      id: this.#id,
      object: "chat.completion.chunk",
      created: typeof created === "number" ? Math.floor(created) : createdAt,
      model: model ?? boundedString(upstreamModel) ?? requestedModel ?? "",
      choices,
    };
  }
}

function toChatDelta(
  piece: Exclude<ReplyPiece, { type: "reasoning.detail" }>,
): ChatDelta | undefined {
  switch (piece.type) {
    case "text":
      return { content: piece.text };
    case "refusal":
      return { refusal: piece.text };
    case "reasoning":
      return { reasoning_content: piece.text };
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
      const callFields =
        kind === "custom" ? { custom: { name, input: "" } } : { function: { name, arguments: "" } };
      return { tool_calls: [{ index, id, type: kind, ...callFields }] };
    }
    case "call.arguments": {
      const { index, kind } = piece.call;
      const callFields =
        kind === "custom"
          ? { custom: { input: piece.delta } }
          : { function: { arguments: piece.delta } };
      return { tool_calls: [{ index, ...callFields }] };
    }
    case "web_search":
    case "call.closed":
    case "call.fields":
    case "reasoning.repeated":
      return undefined; // Chat has no equivalent
    default:
      return assertNever(piece);
  }
}

function toChunkUsage(usage: JsonObject): JsonObject {
  return usage["estimated"] === true
    ? toEstimatedChatUsage(usage as unknown as ResponseUsage)
    : responseToChatUsage(usage);
}

function responseToChatUsage(usage: JsonObject): JsonObject {
  const {
    input_tokens_details: input,
    output_tokens_details: output,
    ...rest
  } = toChatUsage(usage);
  const { input_tokens: _input, output_tokens: _output, ...counts } = rest;
  return {
    ...counts,
    ...(input === undefined ? {} : { prompt_tokens_details: input }),
    ...(output === undefined ? {} : { completion_tokens_details: output }),
  };
}
