import {
  createChatReplyRedactor,
  createMessagesReplyRedactor,
  createResponsesReplyRedactor,
  type Redactor,
} from "@deltawire/agent";
import {
  ChatBody,
  MessagesBody,
  ResponsesBody,
  UpstreamReply,
  type ChatRequest,
  type ClientTranslator,
  type JsonObject,
  type MessagesFlags,
  type MessagesRequest,
  type Repairs,
  type ReplyBodyOptions,
  type ResponsesFlags,
  type ResponsesRequest,
  type UpstreamChatEvent,
  type UpstreamFailure,
  type UpstreamMessageEvent,
  type UpstreamProfile,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import type { ApiName } from "../config/config.ts";
import type { ReasoningCarrier } from "../reasoning/reasoning-carrier.ts";
import { getJsonLimits, type ClientRequest } from "./client-request.ts";
import type { ClientEvent } from "./client-wire.ts";

/** The upstream model of a request, with its flags, including learned ones. */
export interface RelayTarget {
  speaks: ApiName;
  model: string;
  profile: UpstreamProfile;
  responsesFlags: ResponsesFlags;
  messagesFlags: MessagesFlags;
  /** Seals and caches the reasoning that this upstream expects again in later requests. */
  reasoningCarrier: ReasoningCarrier;
  /** Empty if no tokens are configured. Clients cannot access each other's stored data. */
  clientName: string;
}

/** What is the same for all replies of an exchange. */
export interface PlanContext {
  target: RelayTarget;
  /** Removes keys from the reply, except from the output of the model. */
  redactor: Redactor;
  /** Unix time in seconds. */
  now: number;
}

/** The request to an upstream, and how to translate its reply. */
export interface RelayPlan {
  path: "/chat/completions" | "/responses" | "/messages";
  headers: Readonly<Record<string, string>>;
  body: JsonObject;
  /** True if a stream is requested, possibly for a client that wants a complete reply. */
  isStreamed: boolean;
  repairs: Repairs;
  createReply(): UpstreamReply<ClientEvent>;
  /** Returns the events that report a failure if nothing has been sent yet. */
  buildFailureEvents(failure: UpstreamFailure): ClientEvent[];
}

export type Translator<In> = ClientTranslator<In, ClientEvent>;

/** A translated request, and the translator of its reply. */
export interface TranslatedRequest<Body, Event> {
  body: Body;
  repairs: Repairs;
  createTranslator: () => Translator<Event>;
}

export function buildChatPlan(
  client: ClientRequest,
  translated: TranslatedRequest<ChatRequest, UpstreamChatEvent>,
  { redactor }: PlanContext,
): RelayPlan {
  return buildPlan(client, "chat", translated, {
    path: "/chat/completions",
    headers: {},
    createBody: (options) =>
      new ChatBody({ ...options, redact: createChatReplyRedactor(redactor) }),
  });
}

export function buildResponsesPlan(
  client: ClientRequest,
  translated: TranslatedRequest<ResponsesRequest, UpstreamResponseEvent>,
  { redactor }: PlanContext,
): RelayPlan {
  return buildPlan(client, "responses", translated, {
    path: "/responses",
    headers: {},
    createBody: (options) =>
      new ResponsesBody({ ...options, redact: createResponsesReplyRedactor(redactor) }),
  });
}

/** Every server knows this version; newer ones reject parameters that OpenAI clients send. */
export const messagesApiVersion = "2023-06-01";

export function buildMessagesPlan(
  client: ClientRequest,
  translated: TranslatedRequest<MessagesRequest, UpstreamMessageEvent>,
  { redactor }: PlanContext,
): RelayPlan {
  const clientHeaders = client.wire === "messages" ? client.headers : {};
  return buildPlan(client, "messages", translated, {
    path: "/messages",
    headers: { "anthropic-version": messagesApiVersion, ...clientHeaders },
    createBody: (options) =>
      new MessagesBody({ ...options, redact: createMessagesReplyRedactor(redactor) }),
  });
}

interface UpstreamApi<Event> extends Pick<RelayPlan, "path" | "headers"> {
  createBody: (
    options: Omit<ReplyBodyOptions<Event>, "redact">,
  ) => Parameters<typeof UpstreamReply.create<Event, ClientEvent>>[0];
}

function buildPlan<Event>(
  client: ClientRequest,
  api: ApiName,
  { body, repairs, createTranslator }: TranslatedRequest<JsonObject, Event>,
  { path, headers, createBody }: UpstreamApi<Event>,
): RelayPlan {
  const isStreamed = body["stream"] === true;
  return {
    path,
    headers,
    body,
    isStreamed,
    repairs,
    createReply: () =>
      UpstreamReply.create<Event, ClientEvent>(
        createBody({
          repairs,
          utf8: new TextDecoder(),
          expect: isStreamed ? "stream" : "complete",
          passthrough: client.wire === api,
          jsonLimits: getJsonLimits(client),
        }),
        createTranslator(),
      ),
    buildFailureEvents(failure) {
      const out: ClientEvent[] = [];
      createTranslator().fail(failure, out);
      return out;
    },
  };
}
