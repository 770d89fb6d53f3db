import { WireError } from "../error.ts";
import {
  FieldReport,
  notSupported,
  reportFields,
  type FieldOutcome,
  type FieldTargets,
} from "../field-report.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { genericProfile, type UpstreamProfile } from "../upstream-profile.ts";
import { Repairs } from "../repairs.ts";
import type { ChatMessage, ChatRequest } from "../shapes/chat-request.ts";
import type { ResponsesRequest, ResponseTextFormat } from "../shapes/responses-request.ts";
import type { ToolTranslation } from "../tools/tool-translation.ts";
import { AllowedTools } from "../tools/allowed-tools.ts";
import { collectDeclaredTools, offerTools } from "../tools/offer-tools.ts";
import { dropUnsupportedBreakpoints, toCacheControl } from "../mapping/cache-breakpoints.ts";
import { toSupportedEffort } from "../mapping/reasoning-effort.ts";
import { buildRequestEcho } from "../mapping/response-resource.ts";
import { toHistoryEntries, type HistoryEntry } from "./history-entries.ts";
import { buildChatMessages } from "./build-messages.ts";
import type { ReasoningSources } from "./reasoning-replay.ts";
import { enforceRoleOrder } from "../chat-upstream/role-order.ts";
import { toChatResponseFormat, getSupportedFormats } from "../chat-upstream/response-format.ts";
import { mergeSystemMessages } from "../chat-upstream/system-messages.ts";
import { selectTools } from "./tool-choice.ts";

export interface TranslateResponsesRequestOptions extends ReasoningSources {
  profile?: UpstreamProfile;
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
  /**
   * Which parameters are sent. `listed`: those in the profile's `parameters`. `user-set`: all except the profile's
   * `droppedParameters`, because a user set each of them for this model. Default: `listed`.
   */
  parameters?: "listed" | "user-set";
}

export interface TranslatedResponsesRequest {
  body: ChatRequest;
  /** For the reply: maps each call to the declared tool. */
  tools: ToolTranslation;
  /** For the reply: ids that new calls must not use (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: withholds calls of other tools. */
  allowedTools?: AllowedTools;
  /** For the reply: the request fields that the response object echoes. */
  echo: JsonObject;
  /** For the reply: the quirks of the upstream. */
  profile: UpstreamProfile;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/** Translates a request from `decodeResponsesRequest` into a Chat request. Throws `WireError` if that is impossible. */
export function translateResponsesRequest(
  request: ResponsesRequest,
  options: TranslateResponsesRequestOptions = {},
): TranslatedResponsesRequest {
  assertNoServerState(request);
  const { profile = genericProfile } = options;
  const repairs = new Repairs();
  const offered = offerTools(collectDeclaredTools(request), profile, repairs);
  const input = dropUnsupportedBreakpoints(request.input, profile, repairs);
  const entries = toHistoryEntries(input ?? [], offered, repairs);
  const history = buildChatMessages(entries, { ...options, profile, repairs });
  const { tools, choice, hint } = selectTools(request.tool_choice, offered, profile, repairs);
  const settings = resolveSettings(request);
  const effort = toSupportedEffort(settings.effort, profile, repairs);
  const mentionsJson = (): boolean => /json/i.test(JSON.stringify([request.instructions, history]));
  const supported = getSupportedFormats(profile, tools);
  const format = toChatResponseFormat(settings.format, mentionsJson, supported, repairs);
  const hints = [hint, format.hint];
  const withSystem = mergeSystemMessages(
    request.instructions ?? "",
    history,
    hints,
    profile,
    repairs,
  );
  const ordered = enforceRoleOrder(withSystem, tools.length > 0, profile, repairs);
  const messages = toCacheControl(ordered, profile, repairs);
  if (messages.length === 0) throwEmptyInput(repairs);

  const stream = profile.alwaysStream || (options.stream ?? request.stream ?? false);
  const body: ChatRequest = {
    ...pickPassthroughParameters(request, repairs),
    model: resolveModel(request, options),
    messages,
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(tools.length > 0 && request.parallel_tool_calls === false
      ? { parallel_tool_calls: false }
      : {}),
    ...(format.format === undefined ? {} : { response_format: format.format }),
    ...buildReasoningParameters(request.reasoning, effort, options),
    ...(typeof request.max_output_tokens === "number"
      ? { [profile.maxTokensParameter]: request.max_output_tokens }
      : {}),
    ...buildLogprobsParameters(request),
    ...(request.text?.verbosity ? { verbosity: request.text.verbosity } : {}),
    ...(stream ? { stream } : {}),
    ...(stream && profile.streamUsage ? { stream_options: { include_usage: true } } : {}),
  };
  const allowedTools = AllowedTools.find(request.tool_choice);
  const sent = { ...filterParameters(body, profile, options, repairs), ...profile.extraBody };
  const report = new FieldReport();
  reportFields(request, sent, report, fieldTargets);
  return {
    body: sent,
    tools: offered.translation,
    ...(allowedTools === undefined ? {} : { allowedTools }),
    usedCallIds: collectCallIds(entries, messages),
    echo: buildRequestEcho(request),
    profile,
    repairs,
    fields: report.outcomes,
  };
}

/** The fields of Chat in which those of Responses are sent. */
const fieldTargets: FieldTargets = {
  targets: {
    input: "messages",
    instructions: "messages",
    reasoning: ["reasoning_effort", "reasoning"],
    text: ["response_format", "verbosity"],
    max_output_tokens: ["max_tokens", "max_completion_tokens"],
    include: "logprobs",
  },
  reasons: {
    stream_options: "concerns only the reply",
    client_metadata: "concerns only the client",
  },
  defaultReason: notSupported,
};

function throwEmptyInput(repairs: Repairs): never {
  const skipped = repairs.list.flatMap(({ code, detail }) =>
    code === "item_skipped" ? [detail] : [],
  );
  const message =
    skipped.length === 0
      ? "input must not be empty"
      : `input has no items that can be sent to a Chat upstream (${skipped.join("; ")})`;
  throw new WireError("invalid_request", message, { param: "input" });
}

/**
 * Throws if the request refers to stored data. The caller must add that data to `input` first; otherwise the model would
 * answer out of context.
 */
export function assertNoServerState(request: ResponsesRequest, wire = "Chat"): void {
  for (const [field, advice] of Object.entries(serverStateAdvice))
    if (request[field] !== undefined && request[field] !== null)
      throw new WireError(
        "unsupported",
        `${field} is not supported for a ${wire} upstream; ${advice}`,
        {
          param: field,
        },
      );
}

const serverStateAdvice = {
  previous_response_id: 'send the complete history in "input"',
  conversation: 'send the complete history in "input"',
  prompt: 'send its text in "instructions"',
};

function resolveModel(
  request: ResponsesRequest,
  { upstreamModel }: TranslateResponsesRequestOptions,
): string {
  const model = upstreamModel ?? request.model;
  if (model) return model;
  throw new WireError("invalid_request", "model is required", {
    param: "model",
  });
}

/** Returns the settings of the request; missing ones come from the last `configuration_update` in its input. */
export function resolveSettings(request: ResponsesRequest): {
  effort: string | undefined;
  format: ResponseTextFormat | undefined;
} {
  let effort: string | undefined;
  let format: ResponseTextFormat | undefined;
  for (const item of Array.isArray(request.input) ? request.input : []) {
    if (item.type !== "configuration_update") continue;
    effort = item.reasoning?.effort ?? effort;
    format = item.text?.format ?? format;
  }
  return { effort: request.reasoning?.effort ?? effort, format: request.text?.format ?? format };
}

/**
 * Builds the parameters for effort and other reasoning options. OpenRouter has `max_tokens`, `exclude` and `enabled` in
 * `reasoning`, and rejects `reasoning_effort` in the same request.
 */
function buildReasoningParameters(
  requested: ResponsesRequest["reasoning"],
  effort: string | undefined,
  { parameters }: TranslateResponsesRequestOptions,
): JsonObject {
  const {
    effort: _effort,
    summary: _summary,
    generate_summary: _deprecatedSummary,
    ...others
  } = (requested ?? {}) as JsonObject;
  if (parameters !== "user-set" || Object.keys(others).length === 0)
    return effort ? { reasoning_effort: effort } : {};
  return { reasoning: { ...(effort ? { effort } : {}), ...others } };
}

function buildLogprobsParameters(request: ResponsesRequest): Partial<ChatRequest> {
  if (request.top_logprobs) return { logprobs: true, top_logprobs: request.top_logprobs };
  return request.include?.includes("message.output_text.logprobs") ? { logprobs: true } : {};
}

/** Picks the fields that are equal on both wires, and unknown fields. */
function pickPassthroughParameters(request: ResponsesRequest, repairs: Repairs): JsonObject {
  const picked: JsonObject = {};
  for (const [name, value] of Object.entries(request)) {
    if (
      value === null ||
      value === undefined ||
      translatedParameters.has(name) ||
      name === "__proto__"
    )
      continue;
    if (!Object.hasOwn(responsesOnlyDefaults, name)) picked[name] = value;
    else if (value !== responsesOnlyDefaults[name]) repairs.add("parameter_dropped", name);
  }
  return picked;
}

/** Parameters that are translated separately or concern only the client and this server. */
const translatedParameters = new Set([
  "model",
  "input",
  "instructions",
  "messages",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning",
  "text",
  "max_output_tokens",
  "top_logprobs",
  "include",
  "stream",
  "stream_options",
  "n",
  "client_metadata",
]);

/** Parameters without a Chat equivalent, with their default values. */
const responsesOnlyDefaults: Record<string, JsonValue | undefined> = {
  truncation: "disabled",
  background: false,
  max_tool_calls: undefined,
  context_management: undefined,
};

/** Parameters that are set by gateways, never by a user. */
const gatewayParameters = new Set(["store", "prompt_cache_key"]);

function filterParameters(
  body: ChatRequest,
  { parameters, droppedParameters }: UpstreamProfile,
  { parameters: parameterPolicy = "listed" }: TranslateResponsesRequestOptions,
  repairs: Repairs,
): ChatRequest {
  const filtered: ChatRequest = { model: body.model, messages: body.messages };
  for (const [name, value] of Object.entries(body)) {
    const isAllowed =
      parameters === "all" ||
      parameters.includes(name) ||
      (parameterPolicy === "user-set" && !gatewayParameters.has(name));
    if (isAllowed && !droppedParameters.includes(name)) filtered[name] = value;
    else if (!canDropSilently(name, value)) repairs.add("parameter_dropped", name);
  }
  return filtered;
}

/** True for default values and for fields that the gateway handles itself: dropping them is not a repair. */
function canDropSilently(name: string, value: JsonValue | undefined): boolean {
  if (name === "store" || name === "metadata") return true;
  return (name === "service_tier" && value === "auto") || name === "stream_options";
}

function collectCallIds(
  entries: readonly HistoryEntry[],
  messages: readonly ChatMessage[],
): Set<string> {
  const used = new Set<string>();
  for (const entry of entries)
    if (entry.type === "call" || entry.type === "result") used.add(entry.id);
  for (const message of messages)
    if (message.role === "assistant")
      for (const call of message.tool_calls ?? []) used.add(call.id);
  return used;
}
