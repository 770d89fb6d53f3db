import {
  ChatBody,
  chatRequest,
  estimateRequestTokens,
  genericProfile,
  mendedResponsesRequest,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  UpstreamReply,
  type JsonObject,
  type Profile,
  type ReasoningCarry,
  type Repairs,
  type ResponseEvent,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { Redactor } from "../../redaction/redactor.ts";
import { redactChat, redactResponses } from "../../redaction/upstream-reply.ts";

/** What a server is asked, and how its reply is read. */
export interface Plan {
  path: "/chat/completions" | "/responses";
  body: JsonObject;
  /** What has been mended so far, in the request and in the reply. */
  repairs: Repairs;
  reply(): UpstreamReply<ResponseEvent | JsonObject>;
}

export interface PlanOptions {
  /** Whose replies they are, without anything secret. */
  upstream: string;
  speaks: "chat" | "responses";
  profile: Profile | undefined;
  newId: (prefix: string) => string;
  /** Seconds since 1970. */
  now: number;
  redactor: Redactor;
}

/** Throws a WireError where the wire has no way to say what is asked. */
export function planFor(request: ResponsesRequest, options: PlanOptions): Plan {
  const asked = { ...request, stream: true, store: false };
  return options.speaks === "chat" ? chatPlan(asked, options) : responsesPlan(asked, options);
}

function chatPlan(request: ResponsesRequest, options: PlanOptions): Plan {
  const { upstream, profile = genericProfile, newId, now, redactor } = options;
  const { body, ...forTheReply } = chatRequest(request, {
    profile,
    parameters: "chosen",
    unseal: (envelope) => opened(envelope, upstream),
  });
  const { repairs } = forTheReply;
  return {
    path: "/chat/completions",
    body,
    repairs,
    reply: () =>
      UpstreamReply.of(
        new ChatBody({
          repairs,
          redact: redactChat(redactor),
          utf8: new TextDecoder(),
          expect: "stream",
        }),
        new ResponsesOverChat({
          ...forTheReply,
          responseId: newId("resp"),
          createdAt: now,
          newId,
          seal: (carry) => sealed(carry, upstream),
          estimateInputTokens: () => estimateRequestTokens(body),
        }),
      ),
  };
}

function responsesPlan(request: ResponsesRequest, options: PlanOptions): Plan {
  const { newId, now, redactor } = options;
  const { body, repairs } = mendedResponsesRequest(request, { isOwnEnvelope, newId });
  return {
    path: "/responses",
    body,
    repairs,
    reply: () =>
      UpstreamReply.of(
        new ResponsesBody({
          repairs,
          redact: redactResponses(redactor),
          utf8: new TextDecoder(),
          expect: "stream",
        }),
        new ResponsesOverResponses({
          repairs,
          responseId: newId("resp"),
          createdAt: now,
          estimateInputTokens: () => estimateRequestTokens(body),
        }),
      ),
  };
}

/*
 * What a Chat server needs back travels in `encrypted_content` of the caller's own history, which no server but this one
 * gets to see: it is packed, not sealed.
 */

const mark = "dwc1.";

function sealed(carry: ReasoningCarry, upstream: string): string {
  return mark + Buffer.from(JSON.stringify({ upstream, carry })).toString("base64url");
}

/** Undefined for whatever another server gave. */
function opened(envelope: string, upstream: string): ReasoningCarry | undefined {
  if (!isOwnEnvelope(envelope)) return undefined;
  try {
    const text = Buffer.from(envelope.slice(mark.length), "base64url").toString("utf8");
    const packed = JSON.parse(text) as { upstream?: string; carry?: ReasoningCarry };
    return packed.upstream === upstream ? packed.carry : undefined;
  } catch {
    return undefined;
  }
}

function isOwnEnvelope(text: string): boolean {
  return text.startsWith(mark);
}
