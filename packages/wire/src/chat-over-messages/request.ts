import {
  convertLegacyCalls,
  getToolCalls,
  orderMessages,
} from "../chat-upstream/order-messages.ts";
import { FieldReport, type FieldOutcome } from "../field-report.ts";
import { asObject, isObject, nonEmptyString, type JsonObject } from "../json.ts";
import {
  convertLegacyFunctionCall,
  convertLegacyFunctions,
  toResponsesTool,
  toResponsesToolChoice,
} from "../mapping/chat-tools.ts";
import {
  messagesReasoningFormat,
  sealedReasoningFormat,
  type UnsealReasoning,
} from "../mapping/reasoning.ts";
import { buildMessagesRequest } from "../messages-upstream/build-request.ts";
import type { MessagesFlags } from "../messages-upstream/messages-flags.ts";
import { reportMessagesFields } from "../messages-upstream/report-fields.ts";
import { Repairs } from "../repairs.ts";
import type { LookupReasoning } from "../responses-over-chat/reasoning-replay.ts";
import { selectTools } from "../responses-over-chat/tool-choice.ts";
import type { ChatMessage, ChatRequest, ChatToolCall } from "../shapes/chat-request.ts";
import type { MessagesRequest } from "../shapes/messages-request.ts";
import { offerTools, type OfferedTools } from "../tools/offer-tools.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { genericProfile } from "../upstream-profile.ts";

export interface TranslateChatToMessagesOptions extends MessagesFlags {
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /**
   * Opens the `reasoning_details` that `seal` of the reply wrote; all others are dropped. Without it, unsealed details with
   * signatures are accepted.
   */
  unseal?: UnsealReasoning;
  /** Returns the cached reasoning of the reply that made a call, if the client dropped it. */
  lookupReasoning?: LookupReasoning;
  /** Returns a value that stands for a user, from which the user cannot be found again. Without it none is sent. */
  hash?: (text: string) => string;
}

export interface TranslatedChatToMessages {
  body: MessagesRequest;
  /** For the reply: maps each call to the declared tool. */
  tools: ToolTranslation;
  /** For the reply: ids that new calls must not use (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: whether the client requested usage. A complete (JSON) reply always has it. */
  includeUsage: boolean;
  /** Number of choices that the client requested (`n`). A Messages upstream returns one per request. */
  choiceCount: number;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/** Translates a request from `decodeChatRequest` into a Messages request. Throws `WireError` if that is impossible. */
export function translateChatToMessages(
  request: ChatRequest,
  options: TranslateChatToMessagesOptions = {},
): TranslatedChatToMessages {
  const repairs = new Repairs();
  const report = new FieldReport();
  const declared = [...(request.tools ?? []), ...convertLegacyFunctions(request)];
  const offered = offerTools(declared.map(toResponsesTool), genericProfile, repairs);
  const requestedChoice = toResponsesToolChoice(
    request.tool_choice ?? convertLegacyFunctionCall(request),
  );
  const { tools, choice } = selectTools(requestedChoice, offered, genericProfile, repairs);
  const converted = convertLegacyCalls(request.messages);
  const ordered = orderMessages(converted, genericProfile, repairs);
  const messages = ordered.map((message) => openMessage(message, offered, options));
  const user = nonEmptyString(request.safety_identifier) ?? nonEmptyString(request.user);
  const userId = user ?? nonEmptyString(request.prompt_cache_key);
  const body = buildMessagesRequest(
    {
      model: options.upstreamModel ?? request.model,
      messages,
      tools,
      toolChoice: choice,
      parallelToolCalls: request.parallel_tool_calls ?? undefined,
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
      effort: nonEmptyString(request.reasoning_effort),
      format: toFormat(request.response_format),
      stop: typeof request.stop === "string" ? [request.stop] : (request.stop ?? []),
      temperature: request.temperature ?? undefined,
      topP: request.top_p ?? undefined,
      userId: userId === undefined ? undefined : options.hash?.(userId),
      serviceTier: nonEmptyString(request.service_tier),
      cacheOptions: asObject(request["prompt_cache_options"]),
      stream: options.stream ?? request.stream ?? false,
    },
    { flags: options, repairs, report },
  );
  const targets = translatedFields;
  reportMessagesFields(request, { body, targets, ignored: replyFields, report, repairs });
  return {
    body,
    tools: offered.translation,
    usedCallIds: new Set(converted.flatMap((message) => getToolCalls(message).map(({ id }) => id))),
    includeUsage: request.stream !== true || request.stream_options?.include_usage === true,
    choiceCount: request.n ?? 1,
    repairs,
    fields: report.outcomes,
  };
}

/** Opens the reasoning of an assistant message and uses the offered names of its calls. */
function openMessage(
  message: ChatMessage,
  offered: OfferedTools,
  { unseal, lookupReasoning }: TranslateChatToMessagesOptions,
): ChatMessage {
  if (message.role !== "assistant") return message;
  const { reasoning_details: rawDetails, tool_calls: calls, ...rest } = message;
  const details = (Array.isArray(rawDetails) ? rawDetails.filter(isObject) : []).flatMap((detail) =>
    openDetail(detail, unseal),
  );
  const callId = calls?.[0]?.id;
  const cached =
    details.length === 0 && callId !== undefined ? lookupReasoning?.(callId) : undefined;
  const text = rest.reasoning_content ?? rest.reasoning ?? cached?.reasoning;
  return {
    ...rest,
    ...(text ? { reasoning_content: text } : {}),
    reasoning_details: cached?.details ?? details,
    ...(calls ? { tool_calls: calls.map((call) => renameCall(call, offered)) } : {}),
  };
}

function openDetail(detail: JsonObject, unseal: UnsealReasoning | undefined): JsonObject[] {
  if (detail["format"] === messagesReasoningFormat && unseal === undefined) return [detail];
  const data = nonEmptyString(detail["data"]);
  if (detail["format"] !== sealedReasoningFormat || data === undefined) return [];
  return unseal?.(data)?.details ?? [];
}

function renameCall(call: ChatToolCall, offered: OfferedTools): ChatToolCall {
  if (call.type === "custom") {
    const name = offered.getCallName({ kind: "custom", name: call.custom.name });
    return { ...call, custom: { ...call.custom, name } };
  }
  const name = offered.getCallName({ kind: "function", name: call.function.name });
  return { ...call, function: { ...call.function, name } };
}

function toFormat(format: ChatRequest["response_format"]): JsonObject | undefined {
  if (!format) return undefined;
  return format.type === "json_schema"
    ? { ...format.json_schema, type: format.type }
    : { ...format };
}

/** The fields of Messages in which those of Chat are sent. */
const translatedFields: Readonly<Record<string, string | readonly string[]>> = {
  model: "model",
  stream: "stream",
  messages: "messages",
  tools: "tools",
  functions: "tools",
  tool_choice: "tool_choice",
  function_call: "tool_choice",
  parallel_tool_calls: "tool_choice",
  reasoning_effort: ["thinking", "output_config.effort"],
  response_format: "output_config",
  max_tokens: "max_tokens",
  max_completion_tokens: "max_tokens",
  temperature: "temperature",
  top_p: "top_p",
  stop: "stop_sequences",
  user: "metadata",
  safety_identifier: "metadata",
  prompt_cache_key: "metadata",
  service_tier: "service_tier",
};

/** Fields that concern the reply, or a storage that no upstream of another wire has. */
const replyFields = new Set(["stream_options", "n", "store", "metadata"]);
