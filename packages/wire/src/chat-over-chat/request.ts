import { getToolCalls, orderMessages } from "../chat-upstream/order-messages.ts";
import { toChatResponseFormat, getSupportedFormats } from "../chat-upstream/response-format.ts";
import { enforceRoleOrder } from "../chat-upstream/role-order.ts";
import { mergeSystemMessages } from "../chat-upstream/system-messages.ts";
import { FieldReport, notSupported, reportFields, type FieldOutcome } from "../field-report.ts";
import { isObject, type JsonObject } from "../json.ts";
import { hasBreakpointPart, toCacheControl } from "../mapping/cache-breakpoints.ts";
import { getChatToolName, convertLegacyFunctions } from "../mapping/chat-tools.ts";
import { genericProfile, isSentUnchanged, type UpstreamProfile } from "../upstream-profile.ts";
import { Repairs } from "../repairs.ts";
import { toSupportedEffort } from "../mapping/reasoning-effort.ts";
import type { LookupReasoning } from "../responses-over-chat/reasoning-replay.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../shapes/chat-request.ts";
import type { ResponseTextFormat } from "../shapes/responses-request.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { collectToolSchemas } from "../tools/offer-tools.ts";
import { repairAssistantMessages, moveMediaToUserMessage } from "./repair-messages.ts";
import { offerChatTools } from "./offer-chat-tools.ts";

export interface RepairChatRequestOptions {
  profile?: UpstreamProfile;
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /** Returns the cached reasoning of the reply that made a call, if the client dropped it. */
  lookupReasoning?: LookupReasoning;
}

export interface RepairedChatRequest {
  body: ChatRequest;
  /** For the reply: names and parameters of the offered tools. */
  toolNames: ReadonlySet<string>;
  toolSchemas: ReadonlyMap<string, JsonObject>;
  /** For the reply: maps calls to the declared tools, if these were offered in another form. */
  tools?: ToolTranslation;
  /** For the reply: ids that new calls must not use (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: whether the client requested usage. A complete (JSON) reply always has it. */
  includeUsage: boolean;
  /** For the reply: the quirks of the upstream. */
  profile: UpstreamProfile;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/**
 * Repairs a request from `decodeChatRequest` for a Chat upstream: orders calls and results, adapts roles and
 * call ids to the profile, sends tool names and parameters that every server accepts, and requests usage. If the
 * profile's `chatRequests` is `as-sent`, no other change is made, except by flags that were set for this upstream.
 * `parameters` of the profile is not applied: it only lists parameters of Responses clients.
 */
export function repairChatRequest(
  request: ChatRequest,
  options: RepairChatRequestOptions = {},
): RepairedChatRequest {
  const { profile = genericProfile, upstreamModel = request.model, lookupReasoning } = options;
  const repairs = new Repairs();
  const offered = offerChatTools(request, profile, repairs);
  const withAssistants = repairAssistantMessages(request.messages, {
    profile,
    lookupReasoning,
    repairs,
  });
  const ordered = orderMessages(withAssistants, profile, repairs);
  const movesMedia =
    profile.toolResultMedia === "user-message" && !isSentUnchanged(profile, "toolResultMedia");
  const withMovedMedia = movesMedia ? moveMediaToUserMessage(ordered, repairs) : ordered;
  const format = repairResponseFormat(request, offered.tools, profile, repairs);
  const hints = [offered.hint, format.hint].filter((hint) => hint !== "");
  const withSystem = mapSystemRoles(withMovedMedia, hints, profile, repairs);
  const body: ChatRequest = { ...request, model: upstreamModel };
  const inOrder = enforceRoleOrder(withSystem, offered.tools.length > 0, profile, repairs);
  body.messages = toCacheControl(inOrder, profile, repairs);
  if (request.tools)
    setOrDelete(body, "tools", offered.tools.length > 0 ? offered.tools : undefined);
  if (request.tool_choice) setOrDelete(body, "tool_choice", offered.choice);
  if (request.response_format) setOrDelete(body, "response_format", format.format);
  if (request.reasoning_effort)
    setOrDelete(
      body,
      "reasoning_effort",
      toSupportedEffort(request.reasoning_effort, profile, repairs),
    );
  applyStreamOptions(body, request, options, profile);
  renameTokenLimit(body, profile, repairs);
  for (const name of profile.droppedParameters)
    if (body[name] !== undefined) {
      delete body[name];
      repairs.add("parameter_dropped", name);
    }
  const tools = [...offered.tools, ...convertLegacyFunctions(request)];
  const sent = { ...body, ...profile.extraBody };
  const report = new FieldReport();
  reportFields(request, sent, report, {
    targets: {
      max_tokens: tokenLimitNames,
      max_completion_tokens: tokenLimitNames.toReversed(),
    },
    reasons: {},
    defaultReason: notSupported,
  });
  return {
    body: sent,
    toolNames: new Set(tools.flatMap((tool) => getChatToolName(tool) ?? [])),
    toolSchemas: collectToolSchemas(tools),
    ...(offered.translation === undefined ? {} : { tools: offered.translation }),
    usedCallIds: new Set(
      request.messages.flatMap((message) => getToolCalls(message).map(({ id }) => id)),
    ),
    includeUsage: request.stream !== true || request.stream_options?.include_usage === true,
    profile,
    repairs,
    fields: report.outcomes,
  };
}

/** Sets a field, or deletes it if the value is undefined. The client's empty list (`tools: []`) stays. */
function setOrDelete<Name extends keyof ChatRequest>(
  body: ChatRequest,
  name: Name,
  value: ChatRequest[Name],
): void {
  if (value !== undefined) body[name] = value;
  else if (!Array.isArray(body[name]) || body[name].length > 0) delete body[name];
}

function repairResponseFormat(
  { response_format: requested, messages }: ChatRequest,
  tools: readonly ChatTool[],
  profile: UpstreamProfile,
  repairs: Repairs,
): { format: ChatRequest["response_format"]; hint: string } {
  if (!requested) return { format: requested, hint: "" };
  const supported = getSupportedFormats(profile, tools);
  if (requested.type === "text")
    return { format: supported.formats === "none" ? undefined : requested, hint: "" };
  const isStrict = requested.type === "json_schema" && requested.json_schema?.strict !== undefined;
  const keepsStrict = supported.strict || !isStrict;
  if (supported.formats === "any" && keepsStrict) return { format: requested, hint: "" };
  const format: ResponseTextFormat =
    requested.type === "json_schema"
      ? { ...requested.json_schema, type: requested.type }
      : requested;
  const mentionsJson = () => /json/i.test(JSON.stringify(messages));
  const { format: converted, hint } = toChatResponseFormat(
    format,
    mentionsJson,
    supported,
    repairs,
    "response_format",
  );
  return {
    format: converted?.type === requested.type && keepsStrict ? requested : converted,
    hint,
  };
}

/** Requests usage for every stream, for the log. The client receives the usage only if it set `include_usage`. */
function applyStreamOptions(
  body: ChatRequest,
  request: ChatRequest,
  options: RepairChatRequestOptions,
  profile: UpstreamProfile,
): void {
  const requestedStream = request.stream ?? false;
  const stream = profile.alwaysStream || (options.stream ?? requestedStream);
  if (stream !== requestedStream) body.stream = stream;
  if (!stream) {
    if (requestedStream) delete body.stream_options; // rejected without a stream
    return;
  }
  if (profile.streamUsage) {
    body.stream_options = { ...request.stream_options, include_usage: true };
    return;
  }
  const { include_usage: _usage, ...rest } = request.stream_options ?? {};
  if (Object.keys(rest).length > 0) body.stream_options = rest;
  else delete body.stream_options;
}

/** Renames the token limit to the name that the upstream supports. */
function renameTokenLimit(body: ChatRequest, profile: UpstreamProfile, repairs: Repairs): void {
  const name = resolveTokenLimitName(body, profile);
  if (name === undefined) return;
  const otherName = getOtherTokenLimit(name);
  const limit = body[otherName];
  if (limit === undefined) return;
  delete body[otherName];
  if (limit === null) return;
  body[name] ??= limit;
  repairs.add("parameter_changed", `${otherName} -> ${name}`);
}

type TokenLimitName = UpstreamProfile["maxTokensParameter"];

/** Returns the name that the token limit must have; undefined if it is sent unchanged. */
function resolveTokenLimitName(
  body: ChatRequest,
  profile: UpstreamProfile,
): TokenLimitName | undefined {
  const { maxTokensParameter, droppedParameters } = profile;
  if (!isSentUnchanged(profile, "maxTokensParameter")) return maxTokensParameter;
  const rejectedNames = tokenLimitNames.filter((name) => droppedParameters.includes(name));
  const [name] = rejectedNames;
  return rejectedNames.length === 1 && name !== undefined && body[name] !== undefined
    ? getOtherTokenLimit(name)
    : undefined;
}

const tokenLimitNames = ["max_tokens", "max_completion_tokens"] as const satisfies TokenLimitName[];

function getOtherTokenLimit(name: TokenLimitName): TokenLimitName {
  return name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
}

function mapSystemRoles(
  messages: ChatMessage[],
  hints: readonly string[],
  profile: UpstreamProfile,
  repairs: Repairs,
): ChatMessage[] {
  const unsupportedRole = profile.developerRole === "system" ? "developer" : undefined;
  const mapped = messages.map((message) =>
    message.role === unsupportedRole ? { ...message, role: "system" as const } : message,
  );
  if (messages.some(({ role }) => role === unsupportedRole))
    repairs.add("role_mapped", "developer sent as system");
  if (profile.lateSystemMessages === "keep" && hints.length === 0) return mapped;
  const flattened = mapped.map((message) => flattenSystemContent(message, profile, repairs));
  return mergeSystemMessages("", flattened, hints, profile, repairs);
}

/** Joins the parts of a system message into one text, if system messages are moved or merged. Parts to cache stay separate. */
function flattenSystemContent(
  message: ChatMessage,
  { cacheControl }: UpstreamProfile,
  repairs: Repairs,
): ChatMessage {
  if (message.role !== "system" && message.role !== "developer") return message;
  if (typeof message.content === "string") return message;
  const isCached = message.content.some(({ cache_control: own }) => isObject(own));
  if (cacheControl && (isCached || hasBreakpointPart(message))) return message;
  if (isCached) repairs.add("parameter_dropped", "cache_control");
  if (hasBreakpointPart(message)) repairs.add("parameter_dropped", "prompt_cache_breakpoint");
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return { ...message, content: texts.join("\n\n") };
}
