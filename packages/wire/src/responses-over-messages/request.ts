import { FieldReport, type FieldOutcome } from "../field-report.ts";
import type { JsonObject } from "../json.ts";
import { asObject, nonEmptyString } from "../json.ts";
import type { UnsealReasoning } from "../mapping/reasoning.ts";
import { buildRequestEcho } from "../mapping/response-resource.ts";
import { buildMessagesRequest } from "../messages-upstream/build-request.ts";
import type { MessagesFlags } from "../messages-upstream/messages-flags.ts";
import { reportMessagesFields } from "../messages-upstream/report-fields.ts";
import { Repairs } from "../repairs.ts";
import { buildChatMessages } from "../responses-over-chat/build-messages.ts";
import { toHistoryEntries } from "../responses-over-chat/history-entries.ts";
import type { LookupReasoning } from "../responses-over-chat/reasoning-replay.ts";
import { assertNoServerState, resolveSettings } from "../responses-over-chat/request.ts";
import { selectTools } from "../responses-over-chat/tool-choice.ts";
import type { ChatMessage } from "../shapes/chat-request.ts";
import type { MessagesRequest } from "../shapes/messages-request.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";
import { AllowedTools } from "../tools/allowed-tools.ts";
import { collectDeclaredTools, offerTools } from "../tools/offer-tools.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { genericProfile, type UpstreamProfile } from "../upstream-profile.ts";

export interface TranslateResponsesToMessagesOptions extends MessagesFlags {
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /** Opens the `encrypted_content` that `seal` of the reply wrote. Other reasoning is dropped. */
  unseal?: UnsealReasoning;
  /** Returns the cached reasoning of the reply that made a call, if the client dropped it. */
  lookupReasoning?: LookupReasoning;
  /** Returns a value that stands for a user, from which the user cannot be found again. Without it none is sent. */
  hash?: (text: string) => string;
}

export interface TranslatedResponsesToMessages {
  body: MessagesRequest;
  /** For the reply: maps each call to the declared tool. */
  tools: ToolTranslation;
  /** For the reply: ids that new calls must not use (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: withholds calls of other tools. */
  allowedTools?: AllowedTools;
  /** For the reply: the request fields that the response object echoes. */
  echo: JsonObject;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/** Orders a history as it must be for Messages: media stay in results, and reasoning keeps its signatures. */
const historyProfile: UpstreamProfile = {
  ...genericProfile,
  toolResultMedia: "parts",
  reasoningField: "reasoning_details",
  reasoningRange: "all",
};

/** Translates a request from `decodeResponsesRequest` into a Messages request. Throws `WireError` if that is impossible. */
export function translateResponsesToMessages(
  request: ResponsesRequest,
  options: TranslateResponsesToMessagesOptions = {},
): TranslatedResponsesToMessages {
  assertNoServerState(request, "Messages");
  const repairs = new Repairs();
  const report = new FieldReport();
  const { unseal, lookupReasoning, hash } = options;
  const offered = offerTools(collectDeclaredTools(request), historyProfile, repairs);
  const entries = toHistoryEntries(request.input ?? [], offered, repairs);
  const history = buildChatMessages(entries, {
    profile: historyProfile,
    repairs,
    unseal,
    lookupReasoning,
  });
  const instructions = nonEmptyString(request.instructions);
  const messages: ChatMessage[] =
    instructions === undefined ? history : [{ role: "system", content: instructions }, ...history];
  const { tools, choice } = selectTools(request.tool_choice, offered, historyProfile, repairs);
  const settings = resolveSettings(request);
  const user = nonEmptyString(request.safety_identifier) ?? nonEmptyString(request.user);
  const userId = user ?? nonEmptyString(request.prompt_cache_key);
  const { stop } = request;
  const body = buildMessagesRequest(
    {
      model: options.upstreamModel ?? request.model ?? "",
      messages,
      tools,
      toolChoice: choice,
      parallelToolCalls: request.parallel_tool_calls ?? undefined,
      maxTokens: request.max_output_tokens ?? undefined,
      effort: settings.effort,
      format: asObject(settings.format),
      stop: [stop].flat().filter((sequence) => typeof sequence === "string"),
      temperature: request.temperature ?? undefined,
      topP: request.top_p ?? undefined,
      userId: userId === undefined ? undefined : hash?.(userId),
      serviceTier: nonEmptyString(request.service_tier),
      cacheOptions: asObject(request["prompt_cache_options"]),
      stream: options.stream ?? request.stream ?? false,
    },
    { flags: options, repairs, report },
  );
  const targets = translatedFields;
  reportMessagesFields(request, { body, targets, ignored: replyFields, report, repairs });
  const allowedTools = AllowedTools.find(request.tool_choice);
  return {
    body,
    tools: offered.translation,
    ...(allowedTools === undefined ? {} : { allowedTools }),
    usedCallIds: new Set(
      entries.flatMap((entry) =>
        entry.type === "call" || entry.type === "result" ? [entry.id] : [],
      ),
    ),
    echo: buildRequestEcho(request),
    repairs,
    fields: report.outcomes,
  };
}

/** The fields of Messages in which those of Responses are sent. */
const translatedFields: Readonly<Record<string, string | readonly string[]>> = {
  model: "model",
  stream: "stream",
  input: "messages",
  instructions: "system",
  tools: "tools",
  tool_choice: "tool_choice",
  parallel_tool_calls: "tool_choice",
  reasoning: ["thinking", "output_config.effort"],
  text: "output_config",
  max_output_tokens: "max_tokens",
  temperature: "temperature",
  top_p: "top_p",
  stop: "stop_sequences",
  user: "metadata",
  safety_identifier: "metadata",
  prompt_cache_key: "metadata",
  service_tier: "service_tier",
};

/** Fields that concern the reply, or a storage that no upstream of another wire has. */
const replyFields = new Set(["include", "store", "metadata", "stream_options", "client_metadata"]);
