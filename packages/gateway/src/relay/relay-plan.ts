import {
  createChatReplyRedactor,
  createResponsesReplyRedactor,
  type Redactor,
} from "@deltawire/agent";
import {
  AllowedTools,
  buildRequestEcho,
  ChatBody,
  ChatOverChat,
  ChatOverResponses,
  translateResponsesRequest,
  connectTranslators,
  estimateRequestTokens,
  repairChatRequest,
  repairResponsesRequest,
  defaultJsonLimits,
  ReplyBudget,
  defaultReplyLimits,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  toResponseInputItems,
  translateChatRequest,
  UpstreamReply,
  type UpstreamChatEvent,
  type ChatRequest,
  type ClientTranslator,
  type JsonLimits,
  type JsonObject,
  type UpstreamProfile,
  Repairs,
  type UpstreamResponseEvent,
  type ResponseInputItem,
  type ResponsesFlags,
  type ResponsesRequest,
  type UpstreamFailure,
} from "@deltawire/wire";
import type { GatewayError } from "../gateway-error.ts";
import { toInputItems } from "../history/response-cache.ts";
import { deriveId, newId } from "../new-id.ts";
import { ConversationDigest } from "../reasoning/conversation-digest.ts";
import { isEnvelope } from "../reasoning/envelope-cipher.ts";
import { restoreReasoning } from "../reasoning/restore-reasoning.ts";
import type { ReasoningCarrier } from "../reasoning/reasoning-carrier.ts";
import type { ClientEvent } from "./client-wire.ts";

/** The decoded request of a client, and its options for the reply. */
export type ClientRequest =
  | {
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
  | { wire: "chat"; request: ChatRequest; toolCalls: "deltas" | "complete" };

/** The upstream model of a request, with its flags, including learned ones. */
export interface RelayTarget {
  speaks: "chat" | "responses";
  model: string;
  profile: UpstreamProfile;
  responsesFlags: ResponsesFlags;
  /** Seals and caches the reasoning that this upstream expects again in later requests. */
  reasoningCarrier: ReasoningCarrier;
  /** Empty if no tokens are configured. Clients cannot access each other's stored data. */
  clientName: string;
}

/** The request to an upstream, and how to translate its reply. */
export interface RelayPlan {
  path: "/chat/completions" | "/responses";
  body: JsonObject;
  /** True if a stream is requested, possibly for a client that wants a complete reply. */
  isStreamed: boolean;
  repairs: Repairs;
  createReply(): UpstreamReply<ClientEvent>;
  /** Returns the events that report a failure if nothing has been sent yet. */
  buildFailureEvents(failure: UpstreamFailure): ClientEvent[];
}

/** `redactor` removes keys from the reply, except from the output of the model. `now`: Unix time in seconds. */
export function buildRelayPlan(
  client: ClientRequest,
  target: RelayTarget,
  redactor: Redactor,
  now: number,
): RelayPlan {
  if (client.wire === "responses")
    return target.speaks === "chat"
      ? planResponsesOverChat(client, target, redactor, now)
      : planResponsesOverResponses(client, target, redactor, now);
  return target.speaks === "chat"
    ? planChatOverChat(client, target, redactor, now)
    : planChatOverResponses(client, target, redactor, now);
}

type Translator<In> = ClientTranslator<In, ClientEvent>;
type ResponsesClientRequest = Extract<ClientRequest, { wire: "responses" }>;
type ChatClientRequest = Extract<ClientRequest, { wire: "chat" }>;

function planResponsesOverChat(
  client: ResponsesClientRequest,
  target: RelayTarget,
  redactor: Redactor,
  now: number,
): RelayPlan {
  const { isCodex, reasoning, returnsReasoning = false, parameters = "listed" } = client;
  const { profile, model, reasoningCarrier } = target;
  const { request, previousResponseId = null, unresolved } = client;
  if (unresolved !== undefined) throw unresolved;
  const conversation = new ConversationDigest(target.clientName, () => toInputItems(request));
  const { body, ...replyOptions } = translateResponsesRequest(request, {
    profile,
    upstreamModel: model,
    parameters,
    unseal: (envelope) => reasoningCarrier.unseal(envelope),
    ...(returnsReasoning
      ? {}
      : { lookupReasoning: (callId: string) => reasoningCarrier.lookup(callId, conversation) }),
  });
  const createTranslator = (): Translator<UpstreamChatEvent> =>
    new ResponsesOverChat({
      ...replyOptions,
      echo: {
        ...replyOptions.echo,
        previous_response_id: previousResponseId,
        store: request.store !== false,
      },
      requestedModel: client.request.model ?? model,
      responseId: newId("resp"),
      createdAt: now,
      getTime,
      newId,
      reasoning,
      truncatedCalls: isCodex ? "withheld" : "incomplete",
      seal: (reasoningToSeal) => reasoningCarrier.seal(reasoningToSeal),
      // Codex and tasks always send the text back.
      sealsText: !isCodex && !returnsReasoning && requestsSealedReasoning(request),
      onFinished(response) {
        if (!returnsReasoning) reasoningCarrier.storeOutput(response.output, conversation);
      },
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: createBudget(client),
    });
  return buildChatPlan(body, client, replyOptions.repairs, redactor, createTranslator);
}

function planChatOverChat(
  client: ChatClientRequest,
  target: RelayTarget,
  redactor: Redactor,
  now: number,
): RelayPlan {
  const { profile, model, reasoningCarrier } = target;
  const conversation = createChatDigest(target, () =>
    toResponseInputItems(client.request.messages, new Repairs()),
  );
  const { body, ...replyOptions } = repairChatRequest(client.request, {
    profile,
    upstreamModel: model,
    // Many Chat clients, such as LangChain, drop the reasoning that they received.
    lookupReasoning: (callId) => reasoningCarrier.lookup(callId, conversation),
  });
  const createTranslator = (): Translator<UpstreamChatEvent> =>
    new ChatOverChat({
      ...replyOptions,
      requestedModel: client.request.model,
      createdAt: now,
      newId,
      toolCalls: client.toolCalls,
      onReasoning: (reasoning, callIds) => reasoningCarrier.store(reasoning, callIds, conversation),
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: createBudget(client),
    });
  return buildChatPlan(body, client, replyOptions.repairs, redactor, createTranslator);
}

function buildChatPlan(
  body: ChatRequest,
  client: ClientRequest,
  repairs: Repairs,
  redactor: Redactor,
  createTranslator: () => Translator<UpstreamChatEvent>,
): RelayPlan {
  const isStreamed = body.stream === true;
  return {
    path: "/chat/completions",
    body,
    isStreamed,
    repairs,
    createReply: () =>
      UpstreamReply.create<UpstreamChatEvent, ClientEvent>(
        new ChatBody({
          repairs,
          redact: createChatReplyRedactor(redactor),
          utf8: new TextDecoder(),
          expect: isStreamed ? "stream" : "complete",
          passthrough: client.wire === "chat",
          jsonLimits: getJsonLimits(client),
        }),
        createTranslator(),
      ),
    buildFailureEvents: (failure) => translateFailure(createTranslator(), failure),
  };
}

function planResponsesOverResponses(
  client: ResponsesClientRequest,
  target: RelayTarget,
  redactor: Redactor,
  now: number,
): RelayPlan {
  const { request, previousResponseId = null } = client;
  const { body, repairs } = repairResponsesRequest(request, {
    upstreamModel: target.model,
    isOwnSeal: isEnvelope,
    newId: deriveId,
    ...target.responsesFlags,
  });
  const createTranslator = (): Translator<UpstreamResponseEvent> =>
    new ResponsesOverResponses({
      repairs,
      requestedModel: client.request.model ?? target.model,
      getEcho: () => ({
        ...buildRequestEcho(request),
        previous_response_id: request.previous_response_id ?? previousResponseId,
        store: request.store !== false,
      }),
      responseId: newId("resp"),
      createdAt: now,
      getTime,
      truncatedCalls: client.isCodex ? "withheld" : "incomplete",
      allowedTools: AllowedTools.find(client.request.tool_choice),
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: createBudget(client),
    });
  return buildResponsesPlan(body, client, repairs, redactor, createTranslator);
}

function planChatOverResponses(
  client: ChatClientRequest,
  target: RelayTarget,
  redactor: Redactor,
  now: number,
): RelayPlan {
  const { body: translated, ...replyOptions } = translateChatRequest(client.request, {
    upstreamModel: target.model,
    ...target.responsesFlags,
  });
  const { repairs } = replyOptions;
  const { reasoningCarrier, responsesFlags } = target;
  const history = toInputItems(translated);
  const conversation = createChatDigest(target, () => history);
  // Most Chat clients drop the `reasoning_details` that they received.
  const input =
    responsesFlags.dropSealed === true
      ? history
      : restoreReasoning(
          history,
          (callId) => reasoningCarrier.lookup(callId, conversation)?.details,
        );
  const body = input === history ? translated : { ...translated, input: [...input] };
  const createTranslator = (): Translator<UpstreamResponseEvent> => {
    const chatTranslator = new ChatOverResponses({
      ...replyOptions,
      requestedModel: client.request.model,
      createdAt: now,
      newId,
      onSealedReasoning: (details, callIds) =>
        reasoningCarrier.store({ details }, callIds, conversation),
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: createBudget(client),
    });
    if (client.toolCalls === "deltas") return chatTranslator;
    const completeCallTranslator = new ChatOverChat({
      ...replyOptions,
      createdAt: now,
      newId,
      toolCalls: "complete",
      budget: createBudget(client),
    });
    return connectTranslators(chatTranslator, completeCallTranslator);
  };
  return buildResponsesPlan(body, client, repairs, redactor, createTranslator);
}

/** Returns the digest of a Chat client's conversation. It never equals that of a Responses client. */
function createChatDigest(
  { clientName }: RelayTarget,
  getItems: () => readonly ResponseInputItem[],
): ConversationDigest {
  return new ConversationDigest(`chat\n${clientName}`, getItems);
}

function buildResponsesPlan(
  body: ResponsesRequest,
  client: ClientRequest,
  repairs: Repairs,
  redactor: Redactor,
  createTranslator: () => Translator<UpstreamResponseEvent>,
): RelayPlan {
  const isStreamed = body.stream === true;
  return {
    path: "/responses",
    body,
    isStreamed,
    repairs,
    createReply: () =>
      UpstreamReply.create<UpstreamResponseEvent, ClientEvent>(
        new ResponsesBody({
          repairs,
          redact: createResponsesReplyRedactor(redactor),
          utf8: new TextDecoder(),
          expect: isStreamed ? "stream" : "complete",
          passthrough: client.wire === "responses",
          jsonLimits: getJsonLimits(client),
        }),
        createTranslator(),
      ),
    buildFailureEvents: (failure) => translateFailure(createTranslator(), failure),
  };
}

/** True for clients such as opencode and the `ai` SDK, which drop reasoning items without `encrypted_content`. */
function requestsSealedReasoning({ include }: ResponsesRequest): boolean {
  return include?.includes("reasoning.encrypted_content") === true;
}

/** Returns the Unix time in seconds. */
function getTime(): number {
  return Math.floor(Date.now() / 1000);
}

function createBudget(client: ClientRequest): ReplyBudget {
  return new ReplyBudget({ values: getMaxReplyValues(client) });
}

function getJsonLimits(client: ClientRequest): JsonLimits {
  if (!requestsLogprobs(client)) return defaultJsonLimits;
  return { ...defaultJsonLimits, maxValues: defaultReplyLimits.valuesWithLogprobs };
}

/** Returns the maximum number of JSON values in a reply. Higher if log probabilities are requested. */
export function getMaxReplyValues(client: ClientRequest): number {
  return requestsLogprobs(client)
    ? defaultReplyLimits.valuesWithLogprobs
    : defaultReplyLimits.values;
}

function requestsLogprobs({ wire, request }: ClientRequest): boolean {
  if ((request.top_logprobs ?? 0) > 0) return true;
  if (wire === "chat") return request.logprobs === true;
  return request.include?.includes("message.output_text.logprobs") === true;
}

function translateFailure<In>(translator: Translator<In>, failure: UpstreamFailure): ClientEvent[] {
  const out: ClientEvent[] = [];
  translator.fail(failure, out);
  return out;
}
