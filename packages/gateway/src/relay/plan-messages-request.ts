import { assertNever } from "@deltawire/tasks";
import {
  estimateMessagesTokens,
  MessagesOverChat,
  MessagesOverMessages,
  MessagesOverResponses,
  repairMessagesRequest,
  translateMessagesToChat,
  translateMessagesToResponses,
  WireError,
  type MessagesRequest,
  type ResponseInputItem,
  type UpstreamChatEvent,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { toInputItems } from "../history/response-cache.ts";
import { hashIdentifier, newId } from "../new-id.ts";
import { ConversationDigest } from "../reasoning/conversation-digest.ts";
import { isEnvelope } from "../reasoning/envelope-cipher.ts";
import { restoreReasoning } from "../reasoning/restore-reasoning.ts";
import { createBudget, type MessagesClientRequest } from "./client-request.ts";
import {
  buildChatPlan,
  buildMessagesPlan,
  buildResponsesPlan,
  type PlanContext,
  type RelayPlan,
  type Translator,
} from "./relay-plan.ts";

/** Plans the request of a Messages client. */
export function planMessagesRequest(
  client: MessagesClientRequest,
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

function planOverChat(client: MessagesClientRequest, context: PlanContext): RelayPlan {
  const { model, profile, reasoningCarrier } = context.target;
  const conversation = createMessagesDigest(client.request, context);
  const { body, ...replyOptions } = translateMessagesToChat(client.request, {
    profile,
    upstreamModel: model,
    unseal: (signature) => reasoningCarrier.unseal(signature),
    hash: hashIdentifier,
    lookupReasoning: (callId) => reasoningCarrier.lookup(callId, conversation),
  });
  const createTranslator = (): Translator<UpstreamChatEvent> =>
    new MessagesOverChat({
      ...replyOptions,
      ...buildReplyOptions(client, context),
      onReasoning: (reasoning, callIds) => reasoningCarrier.store(reasoning, callIds, conversation),
    });
  return buildChatPlan(client, { body, repairs: replyOptions.repairs, createTranslator }, context);
}

function planOverResponses(client: MessagesClientRequest, context: PlanContext): RelayPlan {
  const { model, responsesFlags, reasoningCarrier } = context.target;
  const { body: translated, ...replyOptions } = translateMessagesToResponses(client.request, {
    upstreamModel: model,
    unseal: (signature) => reasoningCarrier.unseal(signature),
    hash: hashIdentifier,
    ...responsesFlags,
  });
  const history = toInputItems(translated);
  const conversation = createMessagesDigest(client.request, context, () => history);
  const input =
    responsesFlags.dropSealed === true
      ? history
      : restoreReasoning(
          history,
          (callId) => reasoningCarrier.lookup(callId, conversation)?.details,
        );
  const body = input === history ? translated : { ...translated, input: [...input] };
  const createTranslator = (): Translator<UpstreamResponseEvent> =>
    new MessagesOverResponses({
      ...replyOptions,
      ...buildReplyOptions(client, context),
      onReasoning: (reasoning, callIds) => reasoningCarrier.store(reasoning, callIds, conversation),
    });
  return buildResponsesPlan(
    client,
    { body, repairs: replyOptions.repairs, createTranslator },
    context,
  );
}

function planOverMessages(client: MessagesClientRequest, context: PlanContext): RelayPlan {
  const { model, messagesFlags, reasoningCarrier } = context.target;
  const { body, repairs, usedCallIds } = repairMessagesRequest(client.request, {
    upstreamModel: model,
    // Thinking that was sealed for another upstream is dropped too.
    unseal: (signature) =>
      reasoningCarrier.unseal(signature) ?? (isEnvelope(signature) ? {} : undefined),
    ...messagesFlags,
  });
  const createTranslator = (): Translator<UpstreamMessageEvent> =>
    new MessagesOverMessages({
      ...buildReplyOptions(client, context),
      usedCallIds,
      repairs,
      forwardsUnknown: client.headers["anthropic-beta"] !== undefined,
    });
  return buildMessagesPlan(client, { body, repairs, createTranslator }, context);
}

function buildReplyOptions(client: MessagesClientRequest, { target }: PlanContext) {
  const { request, requestId } = client;
  return {
    messageId: newId("msg"),
    newId,
    // Claude Code drops the reasoning of replies of another model when it resumes a conversation.
    model: request.model,
    requestId,
    seal: target.reasoningCarrier.seal.bind(target.reasoningCarrier),
    estimateInputTokens: () => estimateMessagesTokens(request),
    budget: createBudget(client),
  };
}

/** Returns the digest of a Messages client's conversation. It never equals that of a client of another API. */
function createMessagesDigest(
  request: MessagesRequest,
  { target }: PlanContext,
  getItems = () => listItems(request),
): ConversationDigest {
  return new ConversationDigest(`messages\n${target.clientName}`, getItems);
}

/** Returns the history as items. Only the messages count: other fields of the request may have no form in the Responses API. */
function listItems({ model, messages }: MessagesRequest): readonly ResponseInputItem[] {
  try {
    return toInputItems(translateMessagesToResponses({ model, messages }).body);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    // Equals no other conversation, so nothing is restored.
    return [{ type: "message", role: "user", content: JSON.stringify(messages) }];
  }
}
