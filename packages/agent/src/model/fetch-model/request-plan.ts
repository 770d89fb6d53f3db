import {
  ChatBody,
  translateResponsesRequest,
  estimateRequestTokens,
  genericProfile,
  repairResponsesRequest,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  UpstreamReply,
  type JsonObject,
  type UpstreamProfile,
  type OpaqueReasoning,
  type Repairs,
  type ResponseEvent,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { Redactor } from "../../redaction/redactor.ts";
import {
  createChatReplyRedactor,
  createResponsesReplyRedactor,
} from "../../redaction/redact-upstream-reply.ts";

/** The request to a server, and how to read its reply. */
export interface RequestPlan {
  path: "/chat/completions" | "/responses";
  body: JsonObject;
  /** The repairs so far, of the request and of the reply. */
  repairs: Repairs;
  createReply(): UpstreamReply<ResponseEvent | JsonObject>;
}

export interface RequestPlanOptions {
  /** The server's URL, without secrets. */
  upstream: string;
  speaks: "chat" | "responses";
  profile: UpstreamProfile | undefined;
  newId: (prefix: string) => string;
  /** Seconds since 1970. */
  now: number;
  redactor: Redactor;
}

/** Throws a WireError if the request cannot be expressed in the server's wire format. */
export function buildRequestPlan(
  request: ResponsesRequest,
  options: RequestPlanOptions,
): RequestPlan {
  const streamRequest = { ...request, stream: true, store: false };
  return options.speaks === "chat"
    ? buildChatPlan(streamRequest, options)
    : buildResponsesPlan(streamRequest, options);
}

function buildChatPlan(request: ResponsesRequest, options: RequestPlanOptions): RequestPlan {
  const { upstream, profile = genericProfile, newId, now, redactor } = options;
  const { body, ...replyOptions } = translateResponsesRequest(request, {
    profile,
    parameters: "user-set",
    unseal: (envelope) => unpackReasoning(envelope, upstream),
  });
  const { repairs } = replyOptions;
  return {
    path: "/chat/completions",
    body,
    repairs,
    createReply: () =>
      UpstreamReply.create(
        new ChatBody({
          repairs,
          redact: createChatReplyRedactor(redactor),
          utf8: new TextDecoder(),
          expect: "stream",
        }),
        new ResponsesOverChat({
          ...replyOptions,
          responseId: newId("resp"),
          createdAt: now,
          newId,
          seal: (reasoning) => packReasoning(reasoning, upstream),
          estimateInputTokens: () => estimateRequestTokens(body),
        }),
      ),
  };
}

function buildResponsesPlan(request: ResponsesRequest, options: RequestPlanOptions): RequestPlan {
  const { newId, now, redactor } = options;
  const { body, repairs } = repairResponsesRequest(request, { isOwnSeal: isOwnEnvelope, newId });
  return {
    path: "/responses",
    body,
    repairs,
    createReply: () =>
      UpstreamReply.create(
        new ResponsesBody({
          repairs,
          redact: createResponsesReplyRedactor(redactor),
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
 * Reasoning that must be sent back to a Chat server is stored in `encrypted_content` of the caller's history. Only this server gets it,
 * so it is encoded but not encrypted.
 */

const envelopePrefix = "dwc1.";

function packReasoning(reasoning: OpaqueReasoning, upstream: string): string {
  return (
    envelopePrefix +
    Buffer.from(JSON.stringify({ upstream, carry: reasoning })).toString("base64url")
  );
}

/** Returns undefined if the reasoning is from another server. */
function unpackReasoning(envelope: string, upstream: string): OpaqueReasoning | undefined {
  if (!isOwnEnvelope(envelope)) return undefined;
  try {
    const text = Buffer.from(envelope.slice(envelopePrefix.length), "base64url").toString("utf8");
    const packed = JSON.parse(text) as { upstream?: string; carry?: OpaqueReasoning };
    return packed.upstream === upstream ? packed.carry : undefined;
  } catch {
    return undefined;
  }
}

function isOwnEnvelope(text: string): boolean {
  return text.startsWith(envelopePrefix);
}
