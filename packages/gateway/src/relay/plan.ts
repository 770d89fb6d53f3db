import { redactChat, redactResponses, type Redactor } from "@deltawire/agent";
import {
  ChatBody,
  ChatOverChat,
  ChatOverResponses,
  chatRequest,
  connectTranslators,
  estimateRequestTokens,
  mendedChatRequest,
  mendedResponsesRequest,
  defaultJsonLimits,
  ReplyBudget,
  replyLimits,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  responsesRequest,
  UpstreamReply,
  type ChatInput,
  type ChatRequest,
  type ClientTranslator,
  type JsonLimits,
  type JsonObject,
  type Profile,
  type Repairs,
  type ResponsesInput,
  type ResponsesRequest,
  type UpstreamFailure,
} from "@deltawire/wire";
import { inputItems, type KeptResponses } from "../history/kept-responses.ts";
import type { ResponsesLesson } from "../learning/lesson.ts";
import { derivedId, newId } from "../new-id.ts";
import { ConversationDigest } from "../reasoning/conversation-digest.ts";
import { isEnvelope } from "../reasoning/envelope.ts";
import type { ReasoningKeeper } from "../reasoning/keeper.ts";
import type { Output } from "./client-wire.ts";

/** What a client asks, decoded, with what is known of how it wants its answer. */
export type ClientRequest =
  | {
      wire: "responses";
      request: ResponsesRequest;
      /** It runs every call that it sees done (see `isCodex`). */
      codex: boolean;
      reasoning: "summary" | "text";
      /** It gives back what it got or leaves it out on purpose: nothing of it is remembered, and nothing told of others. */
      keepsReasoning?: boolean;
      /** `chosen`: a user set each parameter for this model, so all are sent that the upstream is not known to refuse. */
      parameters?: "listed" | "chosen";
    }
  | { wire: "chat"; request: ChatRequest; toolCalls: "deltas" | "whole" };

/** Where it goes, and what has been learned of that place. */
export interface PlannedTarget {
  speaks: "chat" | "responses";
  model: string;
  profile: Profile;
  lesson: ResponsesLesson;
  /** Keeps what this upstream needs back. */
  reasoning: ReasoningKeeper;
  /** Keeps what clients refer to. */
  kept: KeptResponses;
  /** The name of the client's token; empty where none is configured. What is stored of one is not found by another. */
  client: string;
}

/** What an upstream is asked for a client, and how its reply is read. */
export interface Plan {
  path: "/chat/completions" | "/responses";
  body: JsonObject;
  /** Whether a stream was asked for; a client that wants the whole may still get it from one. */
  streams: boolean;
  repairs: Repairs;
  reply(): UpstreamReply<Output>;
  /** The events that tell the client of a failure, where nothing has been said yet. */
  failed(failure: UpstreamFailure): Output[];
}

/** `redactor` takes keys out of everything in the reply but the model's output. */
export function planFor(
  client: ClientRequest,
  target: PlannedTarget,
  redactor: Redactor,
  now: number,
): Plan {
  if (client.wire === "responses")
    return target.speaks === "chat"
      ? responsesOverChat(client, target, redactor, now)
      : responsesOverResponses(client, target, redactor, now);
  return target.speaks === "chat"
    ? chatOverChat(client, target, redactor, now)
    : chatOverResponses(client, target, redactor, now);
}

type Translator<In> = ClientTranslator<In, Output>;
type FromResponses = Extract<ClientRequest, { wire: "responses" }>;
type FromChat = Extract<ClientRequest, { wire: "chat" }>;

function responsesOverChat(
  client: FromResponses,
  target: PlannedTarget,
  redactor: Redactor,
  now: number,
): Plan {
  const { codex, reasoning, keepsReasoning = false, parameters = "listed" } = client;
  const { profile, model, reasoning: keeper, kept } = target;
  const expanded = kept.expand(client.request, target.client);
  const { request } = expanded;
  const conversation = new ConversationDigest(target.client, inputItems(request));
  const stores = client.request.store !== false;
  const { body, ...forTheReply } = chatRequest(request, {
    profile,
    upstreamModel: model,
    parameters,
    unseal: (envelope) => keeper.unseal(envelope),
    ...(keepsReasoning ? {} : { recall: (callId: string) => keeper.lookup(callId, conversation) }),
  });
  const translator = (): Translator<ChatInput> =>
    new ResponsesOverChat({
      ...forTheReply,
      echo: {
        ...forTheReply.echo,
        previous_response_id: client.request.previous_response_id ?? null,
        store: stores,
      },
      requestedModel: client.request.model ?? model,
      responseId: newId("resp"),
      createdAt: now,
      newId,
      reasoning,
      cutCalls: codex ? "withheld" : "incomplete",
      seal: (carry) => keeper.seal(carry),
      onFinished(response) {
        if (!keepsReasoning) keeper.store(response.output, conversation);
        if (stores) kept.keep(expanded, response);
      },
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: budgetFor(client),
    });
  return chatPlan(body, client, forTheReply.repairs, redactor, translator);
}

function chatOverChat(
  client: FromChat,
  target: PlannedTarget,
  redactor: Redactor,
  now: number,
): Plan {
  const { profile, model } = target;
  const { body, ...forTheReply } = mendedChatRequest(client.request, {
    profile,
    upstreamModel: model,
  });
  const translator = (): Translator<ChatInput> =>
    new ChatOverChat({
      ...forTheReply,
      requestedModel: client.request.model,
      createdAt: now,
      newId,
      toolCalls: client.toolCalls,
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: budgetFor(client),
    });
  return chatPlan(body, client, forTheReply.repairs, redactor, translator);
}

function chatPlan(
  body: ChatRequest,
  client: ClientRequest,
  repairs: Repairs,
  redactor: Redactor,
  translator: () => Translator<ChatInput>,
): Plan {
  const streams = body.stream === true;
  return {
    path: "/chat/completions",
    body,
    streams,
    repairs,
    reply: () =>
      UpstreamReply.of<ChatInput, Output>(
        new ChatBody({
          repairs,
          redact: redactChat(redactor),
          utf8: new TextDecoder(),
          expect: streams ? "stream" : "whole",
          relay: client.wire === "chat",
          jsonLimits: jsonLimitsFor(client),
        }),
        translator(),
      ),
    failed: (failure) => failedBy(translator(), failure),
  };
}

function responsesOverResponses(
  client: FromResponses,
  target: PlannedTarget,
  redactor: Redactor,
  now: number,
): Plan {
  const { body, repairs } = mendedResponsesRequest(client.request, {
    upstreamModel: target.model,
    isOwnEnvelope: isEnvelope,
    newId: derivedId,
    ...target.lesson,
  });
  const translator = (): Translator<ResponsesInput> =>
    new ResponsesOverResponses({
      repairs,
      requestedModel: client.request.model ?? target.model,
      responseId: newId("resp"),
      createdAt: now,
      cutCalls: client.codex ? "withheld" : "incomplete",
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: budgetFor(client),
    });
  return responsesPlan(body, client, repairs, redactor, translator);
}

function chatOverResponses(
  client: FromChat,
  target: PlannedTarget,
  redactor: Redactor,
  now: number,
): Plan {
  const { body, ...forTheReply } = responsesRequest(client.request, {
    upstreamModel: target.model,
    ...target.lesson,
  });
  const { repairs } = forTheReply;
  const translator = (): Translator<ResponsesInput> => {
    const toChat = new ChatOverResponses({
      ...forTheReply,
      requestedModel: client.request.model,
      createdAt: now,
      newId,
      estimateInputTokens: () => estimateRequestTokens(body),
      budget: budgetFor(client),
    });
    if (client.toolCalls === "deltas") return toChat;
    const whole = new ChatOverChat({
      ...forTheReply,
      createdAt: now,
      newId,
      toolCalls: "whole",
      budget: budgetFor(client),
    });
    return connectTranslators(toChat, whole);
  };
  return responsesPlan(body, client, repairs, redactor, translator);
}

function responsesPlan(
  body: ResponsesRequest,
  client: ClientRequest,
  repairs: Repairs,
  redactor: Redactor,
  translator: () => Translator<ResponsesInput>,
): Plan {
  const streams = body.stream === true;
  return {
    path: "/responses",
    body,
    streams,
    repairs,
    reply: () =>
      UpstreamReply.of<ResponsesInput, Output>(
        new ResponsesBody({
          repairs,
          redact: redactResponses(redactor),
          utf8: new TextDecoder(),
          expect: streams ? "stream" : "whole",
          relay: client.wire === "responses",
          jsonLimits: jsonLimitsFor(client),
        }),
        translator(),
      ),
    failed: (failure) => failedBy(translator(), failure),
  };
}

function budgetFor(client: ClientRequest): ReplyBudget {
  return new ReplyBudget({ values: maxReplyValues(client) });
}

function jsonLimitsFor(client: ClientRequest): JsonLimits {
  if (!asksForLogprobs(client)) return defaultJsonLimits;
  return { ...defaultJsonLimits, maxValues: replyLimits.valuesWithLogprobs };
}

/** How many JSON values may be stored of a reply: log probabilities are many, and come only if they were asked for. */
export function maxReplyValues(client: ClientRequest): number {
  return asksForLogprobs(client) ? replyLimits.valuesWithLogprobs : replyLimits.values;
}

function asksForLogprobs({ wire, request }: ClientRequest): boolean {
  if ((request.top_logprobs ?? 0) > 0) return true;
  if (wire === "chat") return request.logprobs === true;
  return request.include?.includes("message.output_text.logprobs") === true;
}

function failedBy<In>(translator: Translator<In>, failure: UpstreamFailure): Output[] {
  const out: Output[] = [];
  translator.fail(failure, out);
  return out;
}
