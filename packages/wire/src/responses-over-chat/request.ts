import { WireError } from "../error.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { genericProfile, type Profile } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import type { ChatMessage, ChatRequest } from "../shapes/chat-request.ts";
import type { ResponsesRequest, TextFormat } from "../shapes/responses-request.ts";
import type { ToolBridge } from "../tools/bridge.ts";
import { declaredTools, offerTools } from "../tools/definitions.ts";
import { responseEcho } from "./echo.ts";
import { knownEffort } from "../mapping/effort.ts";
import { inputEntries, type Entry } from "./entries.ts";
import { chatMessages } from "./messages.ts";
import type { ReasoningSources } from "./reasoning-replay.ts";
import { strictOrder } from "../chat-upstream/strict-order.ts";
import { responseFormat, takenFormats } from "../chat-upstream/response-format.ts";
import { settleSystem } from "../chat-upstream/system.ts";
import { chooseTools } from "./tool-choice.ts";

export interface ChatRequestOptions extends ReasoningSources {
  profile?: Profile;
  /** The upstream's name of the model, where it differs from what the client asked for. */
  upstreamModel?: string;
  /** Whether to ask for a stream; otherwise what the client asked for. */
  stream?: boolean;
  /**
   * Which parameters are sent: `listed`, those that the profile's `parameters` has; `chosen`, all but the profile's
   * `droppedParameters`, because a user set each of them for this model. Default `listed`.
   */
  parameters?: "listed" | "chosen";
}

export interface TranslatedRequest {
  body: ChatRequest;
  /** For the reply: how each call is told to the client. */
  tools: ToolBridge;
  /** For the reply: ids that a new call may not have (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: what the response object repeats of the request. */
  echo: JsonObject;
  /** For the reply: how the upstream's replies differ. */
  profile: Profile;
  repairs: Repairs;
}

/** What a Chat upstream is asked for a client that speaks Responses. Takes what `decodeResponsesRequest` returned. */
export function chatRequest(
  request: ResponsesRequest,
  options: ChatRequestOptions = {},
): TranslatedRequest {
  refuseServerState(request);
  const { profile = genericProfile } = options;
  const repairs = new Repairs();
  const offered = offerTools(declaredTools(request), profile, repairs);
  const entries = inputEntries(request.input ?? [], offered, repairs);
  const history = chatMessages(entries, { ...options, profile, repairs });
  const { tools, choice, hint } = chooseTools(request.tool_choice, offered, profile, repairs);
  const settings = latestSettings(request);
  const effort = knownEffort(settings.effort, profile, repairs);
  const saysJson = (): boolean => /json/i.test(JSON.stringify([request.instructions, history]));
  const taken = takenFormats(profile, tools);
  const format = responseFormat(settings.format, saysJson, taken, repairs);
  const hints = [hint, format.hint];
  const settled = settleSystem(request.instructions ?? "", history, hints, profile, repairs);
  const messages = strictOrder(settled, tools.length > 0, profile, repairs);
  if (messages.length === 0) refuseEmpty(repairs);

  const stream = profile.alwaysStream || (options.stream ?? request.stream ?? false);
  const body: ChatRequest = {
    ...passedOn(request, repairs),
    model: modelOf(request, options),
    messages,
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(tools.length > 0 && request.parallel_tool_calls === false
      ? { parallel_tool_calls: false }
      : {}),
    ...(format.asked === undefined ? {} : { response_format: format.asked }),
    ...reasoningParameters(request.reasoning, effort, options),
    ...(typeof request.max_output_tokens === "number"
      ? { [profile.maxTokensParameter]: request.max_output_tokens }
      : {}),
    ...logprobs(request),
    ...(request.text?.verbosity ? { verbosity: request.text.verbosity } : {}),
    ...(stream ? { stream } : {}),
    ...(stream && profile.streamUsage ? { stream_options: { include_usage: true } } : {}),
  };
  return {
    body: { ...allowed(body, profile, options, repairs), ...profile.extraBody },
    tools: offered.bridge,
    usedCallIds: usedCallIds(entries, messages),
    echo: responseEcho(request),
    profile,
    repairs,
  };
}

function refuseEmpty(repairs: Repairs): never {
  const skipped = repairs.list.flatMap(({ code, detail }) =>
    code === "item_skipped" ? [detail] : [],
  );
  const message =
    skipped.length === 0
      ? "input: expected something to answer, got nothing"
      : `input: nothing in it can be sent to a Chat upstream (${skipped.join("; ")})`;
  throw new WireError("invalid_request", message, { param: "input" });
}

/** What lies on a server has to be put into `input` by whoever keeps it; without it the model would answer out of context. */
function refuseServerState(request: ResponsesRequest): void {
  for (const [field, advice] of Object.entries(serverState))
    if (request[field] !== undefined && request[field] !== null)
      throw new WireError("unsupported", `${field}: a Chat upstream keeps no state; ${advice}`, {
        param: field,
      });
}

const serverState = {
  previous_response_id: 'send the whole history in "input"',
  conversation: 'send the whole history in "input"',
  prompt: 'send its text in "instructions"',
};

function modelOf(request: ResponsesRequest, { upstreamModel }: ChatRequestOptions): string {
  const model = upstreamModel ?? request.model;
  if (model) return model;
  throw new WireError("invalid_request", "model: expected the name of a model, got nothing", {
    param: "model",
  });
}

/** Settings of the request, else the last that a `configuration_update` in its input set. */
function latestSettings(request: ResponsesRequest): {
  effort: string | undefined;
  format: TextFormat | undefined;
} {
  let effort: string | undefined;
  let format: TextFormat | undefined;
  for (const item of Array.isArray(request.input) ? request.input : []) {
    if (item.type !== "configuration_update") continue;
    effort = item.reasoning?.effort ?? effort;
    format = item.text?.format ?? format;
  }
  return { effort: request.reasoning?.effort ?? effort, format: request.text?.format ?? format };
}

/**
 * The effort, and what else a user chose: OpenRouter has `max_tokens`, `exclude` and `enabled` in `reasoning`, and refuses
 * `reasoning_effort` beside it.
 */
function reasoningParameters(
  asked: ResponsesRequest["reasoning"],
  effort: string | undefined,
  { parameters }: ChatRequestOptions,
): JsonObject {
  const {
    effort: _effort,
    summary: _summary,
    generate_summary: _older,
    ...others
  } = (asked ?? {}) as JsonObject;
  if (parameters !== "chosen" || Object.keys(others).length === 0)
    return effort ? { reasoning_effort: effort } : {};
  return { reasoning: { ...(effort ? { effort } : {}), ...others } };
}

function logprobs(request: ResponsesRequest): Partial<ChatRequest> {
  if (request.top_logprobs) return { logprobs: true, top_logprobs: request.top_logprobs };
  return request.include?.includes("message.output_text.logprobs") ? { logprobs: true } : {};
}

/** Fields of the same name and meaning on both wires, and those that we do not know. */
function passedOn(request: ResponsesRequest, repairs: Repairs): JsonObject {
  const passed: JsonObject = {};
  for (const [name, value] of Object.entries(request)) {
    if (value === null || value === undefined || translated.has(name) || name === "__proto__")
      continue;
    if (!Object.hasOwn(responsesOnly, name)) passed[name] = value;
    else if (value !== responsesOnly[name]) repairs.add("parameter_dropped", name);
  }
  return passed;
}

/** Handled above, or a matter between the client and whoever answers it. */
const translated = new Set([
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

/** Parameters that Chat has no word for, with the value that asks for nothing. */
const responsesOnly: Record<string, JsonValue | undefined> = {
  truncation: "disabled",
  background: false,
  max_tool_calls: undefined,
  context_management: undefined,
};

/** Set by gateways in every request, and never by a user. */
const gatewayParameters = new Set(["store", "prompt_cache_key"]);

function allowed(
  body: ChatRequest,
  { parameters, droppedParameters }: Profile,
  { parameters: sent = "listed" }: ChatRequestOptions,
  repairs: Repairs,
): ChatRequest {
  const kept: ChatRequest = { model: body.model, messages: body.messages };
  for (const [name, value] of Object.entries(body)) {
    const known =
      parameters === "all" ||
      parameters.includes(name) ||
      (sent === "chosen" && !gatewayParameters.has(name));
    if (known && !droppedParameters.includes(name)) kept[name] = value;
    else if (!asksForNothing(name, value)) repairs.add("parameter_dropped", name);
  }
  return kept;
}

/** Values that mean what happens anyway, and fields that the gateway itself answers for. */
function asksForNothing(name: string, value: JsonValue | undefined): boolean {
  if (name === "store" || name === "metadata") return true;
  return (name === "service_tier" && value === "auto") || name === "stream_options";
}

function usedCallIds(entries: readonly Entry[], messages: readonly ChatMessage[]): Set<string> {
  const used = new Set<string>();
  for (const entry of entries) if (entry.is === "call" || entry.is === "result") used.add(entry.id);
  for (const message of messages)
    if (message.role === "assistant")
      for (const call of message.tool_calls ?? []) used.add(call.id);
  return used;
}
