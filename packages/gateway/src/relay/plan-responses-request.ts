import { assertNever } from "@deltawire/tasks";
import {
  AllowedTools,
  buildRequestEcho,
  estimateMessagesTokens,
  estimateRequestTokens,
  repairResponsesRequest,
  ResponsesOverChat,
  ResponsesOverMessages,
  ResponsesOverResponses,
  translateResponsesRequest,
  translateResponsesToMessages,
  type JsonObject,
  type OpaqueReasoning,
  type ResponseObject,
  type ResponsesRequest,
  type UpstreamChatEvent,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { toInputItems } from "../history/response-cache.ts";
import { deriveId, hashIdentifier, newId } from "../new-id.ts";
import { ConversationDigest } from "../reasoning/conversation-digest.ts";
import { isEnvelope } from "../reasoning/envelope-cipher.ts";
import { createBudget, type ResponsesClientRequest } from "./client-request.ts";
import {
  buildChatPlan,
  buildMessagesPlan,
  buildResponsesPlan,
  type PlanContext,
  type RelayPlan,
  type Translator,
} from "./relay-plan.ts";

/** Plans the request of a Responses client. */
export function planResponsesRequest(
  client: ResponsesClientRequest,
  context: PlanContext,
): RelayPlan {
  const { speaks } = context.target;
  switch (speaks) {
    case "chat":
      return planOverChat(client, context);
    case "responses":
      return planOverResponses(client, context);
    case "messages":
      return planOverMessages(client, context);
    default:
      return assertNever(speaks);
  }
}

function planOverChat(client: ResponsesClientRequest, context: PlanContext): RelayPlan {
  const { profile, model } = context.target;
  const { request, parameters = "listed" } = client;
  const conversation = createDigest(client, context);
  const { body, ...replyOptions } = translateResponsesRequest(request, {
    profile,
    upstreamModel: model,
    parameters,
    ...buildReasoningOptions(client, context, conversation),
  });
  const createTranslator = (): Translator<UpstreamChatEvent> =>
    new ResponsesOverChat({
      ...replyOptions,
      ...buildReplyOptions(client, context, conversation),
      echo: buildEcho(client, replyOptions.echo),
      estimateInputTokens: () => estimateRequestTokens(body),
    });
  return buildChatPlan(client, { body, repairs: replyOptions.repairs, createTranslator }, context);
}

function planOverResponses(client: ResponsesClientRequest, context: PlanContext): RelayPlan {
  const { target, now } = context;
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
  return buildResponsesPlan(client, { body, repairs, createTranslator }, context);
}

function planOverMessages(client: ResponsesClientRequest, context: PlanContext): RelayPlan {
  const { model, messagesFlags } = context.target;
  const conversation = createDigest(client, context);
  const { body, ...replyOptions } = translateResponsesToMessages(client.request, {
    upstreamModel: model,
    hash: hashIdentifier,
    ...buildReasoningOptions(client, context, conversation),
    ...messagesFlags,
  });
  const createTranslator = (): Translator<UpstreamMessageEvent> =>
    new ResponsesOverMessages({
      ...replyOptions,
      ...buildReplyOptions(client, context, conversation),
      echo: buildEcho(client, replyOptions.echo),
      estimateInputTokens: () => estimateMessagesTokens(body),
    });
  return buildMessagesPlan(
    client,
    { body, repairs: replyOptions.repairs, createTranslator },
    context,
  );
}

/** Returns the digest of the conversation. Throws a GatewayError if the request refers to a response that is not stored here. */
function createDigest(
  { request, unresolved }: ResponsesClientRequest,
  { target }: PlanContext,
): ConversationDigest {
  if (unresolved !== undefined) throw unresolved;
  return new ConversationDigest(target.clientName, () => toInputItems(request));
}

/** Returns how the reasoning of earlier replies is found: sealed in the history, or else in the cache. */
function buildReasoningOptions(
  { returnsReasoning = false }: ResponsesClientRequest,
  { target: { reasoningCarrier } }: PlanContext,
  conversation: ConversationDigest,
) {
  return {
    unseal: (envelope: string) => reasoningCarrier.unseal(envelope),
    ...(returnsReasoning
      ? {}
      : { lookupReasoning: (callId: string) => reasoningCarrier.lookup(callId, conversation) }),
  };
}

function buildReplyOptions(
  client: ResponsesClientRequest,
  { target, now }: PlanContext,
  conversation: ConversationDigest,
) {
  const { request, isCodex, reasoning, returnsReasoning = false } = client;
  const { reasoningCarrier } = target;
  return {
    requestedModel: request.model ?? target.model,
    responseId: newId("resp"),
    createdAt: now,
    getTime,
    newId,
    reasoning,
    truncatedCalls: isCodex ? ("withheld" as const) : ("incomplete" as const),
    seal: (reasoningToSeal: OpaqueReasoning) => reasoningCarrier.seal(reasoningToSeal),
    // Codex and tasks always send the text back.
    sealsText: !isCodex && !returnsReasoning && requestsSealedReasoning(request),
    onFinished(response: ResponseObject) {
      if (!returnsReasoning) reasoningCarrier.storeOutput(response.output, conversation);
    },
    budget: createBudget(client),
  };
}

function buildEcho(
  { request, previousResponseId }: ResponsesClientRequest,
  echo: JsonObject,
): JsonObject {
  return {
    ...echo,
    previous_response_id: previousResponseId ?? null,
    store: request.store !== false,
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
