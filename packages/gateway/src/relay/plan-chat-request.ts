import { assertNever } from "@deltawire/tasks";
import {
  ChatOverChat,
  ChatOverMessages,
  ChatOverResponses,
  connectTranslators,
  estimateMessagesTokens,
  estimateRequestTokens,
  repairChatRequest,
  Repairs,
  toResponseInputItems,
  translateChatRequest,
  translateChatToMessages,
  type ChatOverChatOptions,
  type ChatStreamEvent,
  type ClientTranslator,
  type JsonObject,
  type ResponseInputItem,
  type UpstreamChatEvent,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { toInputItems } from "../history/response-cache.ts";
import { hashIdentifier, newId } from "../new-id.ts";
import { ConversationDigest } from "../reasoning/conversation-digest.ts";
import { restoreReasoning } from "../reasoning/restore-reasoning.ts";
import { createBudget, type ChatClientRequest } from "./client-request.ts";
import {
  buildChatPlan,
  buildMessagesPlan,
  buildResponsesPlan,
  type PlanContext,
  type RelayPlan,
  type RelayTarget,
  type Translator,
} from "./relay-plan.ts";

/** Plans the request of a Chat client. */
export function planChatRequest(client: ChatClientRequest, context: PlanContext): RelayPlan {
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

function planOverChat(client: ChatClientRequest, context: PlanContext): RelayPlan {
  const { target, now } = context;
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
  return buildChatPlan(client, { body, repairs: replyOptions.repairs, createTranslator }, context);
}

function planOverResponses(client: ChatClientRequest, context: PlanContext): RelayPlan {
  const { target, now } = context;
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
    return withRequestedCalls(chatTranslator, client, replyOptions, now);
  };
  return buildResponsesPlan(client, { body, repairs, createTranslator }, context);
}

function planOverMessages(client: ChatClientRequest, context: PlanContext): RelayPlan {
  const { target, now } = context;
  const { model, messagesFlags, reasoningCarrier } = target;
  const conversation = createChatDigest(target, () =>
    toResponseInputItems(client.request.messages, new Repairs()),
  );
  const { body, ...replyOptions } = translateChatToMessages(client.request, {
    upstreamModel: model,
    unseal: (detail) => reasoningCarrier.unseal(detail),
    lookupReasoning: (callId) => reasoningCarrier.lookup(callId, conversation),
    hash: hashIdentifier,
    ...messagesFlags,
  });
  const createTranslator = (): Translator<UpstreamMessageEvent> => {
    const chatTranslator = new ChatOverMessages({
      ...replyOptions,
      requestedModel: client.request.model,
      createdAt: now,
      newId,
      seal: (reasoningToSeal) => reasoningCarrier.seal(reasoningToSeal),
      onSealedReasoning: (details, callIds) =>
        reasoningCarrier.store({ details: openDetails(details, target) }, callIds, conversation),
      estimateInputTokens: () => estimateMessagesTokens(body),
      budget: createBudget(client),
    });
    return withRequestedCalls(chatTranslator, client, replyOptions, now);
  };
  return buildMessagesPlan(
    client,
    { body, repairs: replyOptions.repairs, createTranslator },
    context,
  );
}

/** Adds a translator that collects the deltas of each call, if the client requested that. */
function withRequestedCalls<Event>(
  translator: ClientTranslator<Event, ChatStreamEvent>,
  client: ChatClientRequest,
  replyOptions: Pick<ChatOverChatOptions, "tools" | "usedCallIds" | "includeUsage" | "repairs">,
  createdAt: number,
): Translator<Event> {
  if (client.toolCalls === "deltas") return translator;
  const completeCallTranslator = new ChatOverChat({
    ...replyOptions,
    createdAt,
    newId,
    toolCalls: "complete",
    budget: createBudget(client),
  });
  return connectTranslators(translator, completeCallTranslator);
}

/** Opens the details that a Chat client received. They are sealed because other upstreams must not receive them. */
function openDetails(details: readonly JsonObject[], { reasoningCarrier }: RelayTarget) {
  return details.flatMap(({ data }) =>
    typeof data === "string" ? (reasoningCarrier.unseal(data)?.details ?? []) : [],
  );
}

/** Returns the digest of a Chat client's conversation. It never equals that of a Responses client. */
function createChatDigest(
  { clientName }: RelayTarget,
  getItems: () => readonly ResponseInputItem[],
): ConversationDigest {
  return new ConversationDigest(`chat\n${clientName}`, getItems);
}
