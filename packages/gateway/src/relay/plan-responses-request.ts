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
  const { target, now } = context;
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
  const { target, now } = context;
  const { isCodex, reasoning, returnsReasoning = false } = client;
  const { model, messagesFlags, reasoningCarrier } = target;
  const { request, previousResponseId = null, unresolved } = client;
  if (unresolved !== undefined) throw unresolved;
  const conversation = new ConversationDigest(target.clientName, () => toInputItems(request));
  const { body, ...replyOptions } = translateResponsesToMessages(request, {
    upstreamModel: model,
    unseal: (envelope) => reasoningCarrier.unseal(envelope),
    hash: hashIdentifier,
    ...(returnsReasoning
      ? {}
      : { lookupReasoning: (callId: string) => reasoningCarrier.lookup(callId, conversation) }),
    ...messagesFlags,
  });
  const createTranslator = (): Translator<UpstreamMessageEvent> =>
    new ResponsesOverMessages({
      ...replyOptions,
      echo: {
        ...replyOptions.echo,
        previous_response_id: previousResponseId,
        store: request.store !== false,
      },
      requestedModel: request.model ?? model,
      responseId: newId("resp"),
      createdAt: now,
      getTime,
      newId,
      reasoning,
      truncatedCalls: isCodex ? "withheld" : "incomplete",
      seal: (reasoningToSeal) => reasoningCarrier.seal(reasoningToSeal),
      sealsText: !isCodex && !returnsReasoning && requestsSealedReasoning(request),
      onFinished(response) {
        if (!returnsReasoning) reasoningCarrier.storeOutput(response.output, conversation);
      },
      estimateInputTokens: () => estimateMessagesTokens(body),
      budget: createBudget(client),
    });
  return buildMessagesPlan(
    client,
    { body, repairs: replyOptions.repairs, createTranslator },
    context,
  );
}

/** True for clients such as opencode and the `ai` SDK, which drop reasoning items without `encrypted_content`. */
function requestsSealedReasoning({ include }: ResponsesRequest): boolean {
  return include?.includes("reasoning.encrypted_content") === true;
}

/** Returns the Unix time in seconds. */
function getTime(): number {
  return Math.floor(Date.now() / 1000);
}
