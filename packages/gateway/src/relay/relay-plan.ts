import type { Redactor } from "@deltawire/agent";
import {
  createChatReplyRedactor,
  createMessagesReplyRedactor,
  createResponsesReplyRedactor,
} from "@deltawire/agent/basics";
import {
  buildContinuation,
  ChatBody,
  ContinuedTurn,
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
import { messagesApiVersion } from "../upstream/upstream.ts";
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
  createReply(): PlannedReply;
  /** Returns the events that report a failure if nothing has been sent yet. */
  buildFailureEvents(failure: UpstreamFailure): ClientEvent[];
}

/** The translation of one reply. */
export interface PlannedReply {
  reply: UpstreamReply<ClientEvent>;
  /** Set if the upstream may pause its turn. */
  turn?: PausableTurn;
}

/** A turn that a Messages upstream may pause while it runs tools of its own. */
export interface PausableTurn {
  /** True once the upstream has paused the turn. The reply has not ended then. */
  readonly isPaused: boolean;
  /** Returns the request that continues the turn, and the translation of its reply. Must be called only if it is paused. */
  continue(): { body: JsonObject; reply: UpstreamReply<ClientEvent> };
  /** Returns the events that end the reply of a turn that cannot be continued. */
  fail(failure: UpstreamFailure): ClientEvent[];
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
    // A Messages client sends paused turns back by itself.
    createPlannedReply: client.wire === "messages" ? undefined : createPausableReply,
  });
}

function createPausableReply(
  request: JsonObject,
  createBody: () => BodyReader<UpstreamMessageEvent>,
  translator: Translator<UpstreamMessageEvent>,
): PlannedReply {
  const turn = new ContinuedTurn<ClientEvent>(translator);
  return {
    reply: UpstreamReply.create(createBody(), turn),
    turn: {
      get isPaused() {
        return turn.pausedContent !== undefined;
      },
      continue() {
        const body = buildContinuation(request as MessagesRequest, turn.pausedContent ?? []);
        turn.resume();
        const reply = UpstreamReply.create(createBody(), turn);
        // The client has received the first part, so an error ends the reply.
        reply.hasBegun = true;
        return { body, reply };
      },
      fail(failure) {
        const out: ClientEvent[] = [];
        turn.fail(failure, out);
        return out;
      },
    },
  };
}

type BodyReader<Event> = Parameters<typeof UpstreamReply.create<Event, ClientEvent>>[0];

interface UpstreamApi<Event> extends Pick<RelayPlan, "path" | "headers"> {
  createBody: (options: Omit<ReplyBodyOptions<Event>, "redact">) => BodyReader<Event>;
  createPlannedReply?:
    | ((
        request: JsonObject,
        createBody: () => BodyReader<Event>,
        translator: Translator<Event>,
      ) => PlannedReply)
    | undefined;
}

function buildPlan<Event>(
  client: ClientRequest,
  api: ApiName,
  { body, repairs, createTranslator }: TranslatedRequest<JsonObject, Event>,
  { path, headers, createBody, createPlannedReply }: UpstreamApi<Event>,
): RelayPlan {
  const isStreamed = body["stream"] === true;
  return {
    path,
    headers,
    body,
    isStreamed,
    repairs,
    createReply() {
      const createReader = () =>
        createBody({
          repairs,
          utf8: new TextDecoder(),
          expect: isStreamed ? "stream" : "complete",
          passthrough: client.wire === api,
          jsonLimits: getJsonLimits(client),
        });
      const translator = createTranslator();
      return (
        createPlannedReply?.(body, createReader, translator) ?? {
          reply: UpstreamReply.create(createReader(), translator),
        }
      );
    },
    buildFailureEvents(failure) {
      const out: ClientEvent[] = [];
      createTranslator().fail(failure, out);
      return out;
    },
  };
}
