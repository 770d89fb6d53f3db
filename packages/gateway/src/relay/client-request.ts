import {
  defaultJsonLimits,
  defaultReplyLimits,
  estimateMessagesTokens,
  estimateRequestTokens,
  ReplyBudget,
  type ChatRequest,
  type JsonLimits,
  type MessagesRequest,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { GatewayError } from "../gateway-error.ts";

/** The decoded request of a client, and its options for the reply. */
export type ClientRequest = ResponsesClientRequest | ChatClientRequest | MessagesClientRequest;

export interface ResponsesClientRequest {
  wire: "responses";
  request: ResponsesRequest;
  /** Codex runs every call that is done, even a truncated one, so truncated calls are withheld from it. */
  isCodex: boolean;
  reasoning: "summary" | "raw";
  /** True if the client sends reasoning back, or omits it on purpose: the reasoning cache is not used. Default: false. */
  returnsReasoning?: boolean;
  /**
   * `user-set`: users have set the parameters for this model, so all are sent unless the upstream is known to reject them.
   * Default: `listed`, only those that the profile lists.
   */
  parameters?: "listed" | "user-set";
  /** The response that the request continues, if its history is part of the request. */
  previousResponseId?: string | undefined;
  /** The error for references to stored responses that are not part of the request. Some Responses upstreams know them. */
  unresolved?: GatewayError | undefined;
}

export interface ChatClientRequest {
  wire: "chat";
  request: ChatRequest;
  toolCalls: "deltas" | "complete";
}

export interface MessagesClientRequest {
  wire: "messages";
  request: MessagesRequest;
  /** The client's headers whose names start with `anthropic-`. A Messages upstream receives them unchanged. */
  headers: Readonly<Record<string, string>>;
  /** Sent with errors in a stream. */
  requestId: string;
  /** Called with the headers of a Messages upstream's reply, before its first byte is sent. */
  onUpstreamHeaders?: (headers: Readonly<Record<string, string | string[] | undefined>>) => void;
}

/** Estimates the input tokens of a request, for upstreams that report no usage. */
export function estimateInputTokens(client: ClientRequest): number {
  return client.wire === "messages"
    ? estimateMessagesTokens(client.request)
    : estimateRequestTokens(client.request);
}

/** Returns a budget for one reply. */
export function createBudget(client: ClientRequest): ReplyBudget {
  return new ReplyBudget({ values: getMaxReplyValues(client) });
}

export function getJsonLimits(client: ClientRequest): JsonLimits {
  if (!requestsLogprobs(client)) return defaultJsonLimits;
  return { ...defaultJsonLimits, maxValues: defaultReplyLimits.valuesWithLogprobs };
}

/** Returns the maximum number of JSON values in a reply. Higher if log probabilities are requested. */
export function getMaxReplyValues(client: ClientRequest): number {
  return requestsLogprobs(client)
    ? defaultReplyLimits.valuesWithLogprobs
    : defaultReplyLimits.values;
}

function requestsLogprobs(client: ClientRequest): boolean {
  if (client.wire === "messages") return false;
  if ((client.request.top_logprobs ?? 0) > 0) return true;
  if (client.wire === "chat") return client.request.logprobs === true;
  return client.request.include?.includes("message.output_text.logprobs") === true;
}
