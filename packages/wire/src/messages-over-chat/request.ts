import { WireError } from "../error.ts";
import { correctOutcomes, FieldReport, type FieldOutcome } from "../field-report.ts";
import { acceptsBreakpoints, isListedParameter } from "../mapping/cache-breakpoints.ts";
import { readMessagesRequest } from "../messages-client/conversation.ts";
import { Repairs } from "../repairs.ts";
import { translateResponsesRequest } from "../responses-over-chat/request.ts";
import type { LookupReasoning } from "../responses-over-chat/reasoning-replay.ts";
import type { UnsealReasoning } from "../mapping/reasoning.ts";
import type { ChatRequest } from "../shapes/chat-request.ts";
import type { MessagesRequest } from "../shapes/messages-request.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { collectCallIds } from "../messages-client/collect-call-ids.ts";
import { genericProfile, type UpstreamProfile } from "../upstream-profile.ts";

export interface TranslateMessagesToChatOptions {
  profile?: UpstreamProfile;
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /** Opens the signatures of thinking that `seal` of the reply wrote. Other thinking is dropped. */
  unseal?: UnsealReasoning;
  /** Identifies the client's session, for `prompt_cache_key`. Default: `metadata.user_id`. */
  sessionId?: string;
  /**
   * Returns a value that stands for an account, from which it cannot be found again. Without it neither a user nor a cache key is
   * sent, and neither is unless the profile lists its field.
   */
  hash?: (text: string) => string;
  /** Returns the cached reasoning of the reply that made a call, if the client dropped it. */
  lookupReasoning?: LookupReasoning;
}

export interface TranslatedMessagesToChat {
  body: ChatRequest;
  /** For the reply: maps each call to the declared tool. */
  tools: ToolTranslation;
  /** For the reply: ids that new calls must not use (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: the stop sequences of the request. */
  stopSequences: readonly string[];
  /** For the reply: the quirks of the upstream. */
  profile: UpstreamProfile;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/** Translates a request from `decodeMessagesRequest` into a Chat request. Throws `WireError` if that is impossible. */
export function translateMessagesToChat(
  request: MessagesRequest,
  options: TranslateMessagesToChatOptions = {},
): TranslatedMessagesToChat {
  const { profile = genericProfile, unseal } = options;
  const repairs = new Repairs();
  const report = new FieldReport();
  const knowsNoEffort = profile.efforts !== "any" && profile.efforts.includes("none");
  const conversation = readMessagesRequest(request, {
    target: "chat",
    repairs,
    report,
    unseal,
    knowsNoEffort,
    acceptsBreakpoints: acceptsBreakpoints(profile),
    accepts: (name) => isListedParameter(profile, name),
    sessionId: options.sessionId,
    hash: options.hash,
  });
  if (conversation.input?.length === 0 && conversation.instructions === undefined)
    throw new WireError("invalid_request", "messages: no message has content", {
      param: "messages",
    });
  const translated = translateResponsesRequest(conversation, { ...options, profile });
  correctOutcomes(translated.body, report, chatFields);
  return {
    body: translated.body,
    tools: translated.tools,
    usedCallIds: new Set([...translated.usedCallIds, ...collectCallIds(request)]),
    stopSequences: request.stop_sequences ?? [],
    profile,
    repairs: repairs.merge(translated.repairs),
    fields: report.outcomes,
  };
}

/** The fields of Chat in which those of Messages are sent. */
const chatFields: Readonly<Record<string, readonly string[]>> = {
  stream: ["stream"],
  system: ["messages"],
  messages: ["messages"],
  tools: ["tools"],
  tool_choice: ["tool_choice", "parallel_tool_calls"],
  max_tokens: ["max_tokens", "max_completion_tokens"],
  temperature: ["temperature"],
  top_p: ["top_p"],
  top_k: ["top_k"],
  stop_sequences: ["stop"],
  thinking: ["reasoning_effort", "reasoning"],
  output_config: ["reasoning_effort", "response_format"],
  "output_config.effort": ["reasoning_effort", "reasoning"],
  "output_config.format": ["response_format"],
  service_tier: ["service_tier"],
  metadata: ["safety_identifier", "user", "prompt_cache_key"],
};
