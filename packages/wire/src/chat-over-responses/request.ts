import {
  FieldReport,
  notSupported,
  reportFields,
  type FieldOutcome,
  type FieldTargets,
} from "../field-report.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import {
  getToolCalls,
  orderMessages,
  convertLegacyCalls,
} from "../chat-upstream/order-messages.ts";
import { repairHistory } from "../repair-history.ts";
import {
  convertLegacyFunctionCall,
  convertLegacyFunctions,
  toResponsesTool,
  toResponsesToolChoice,
} from "../mapping/chat-tools.ts";
import { genericProfile } from "../upstream-profile.ts";
import { Repairs } from "../repairs.ts";
import { applyResponsesFlags, type ResponsesFlags } from "../responses-upstream/responses-flags.ts";
import type { ChatRequest, ChatResponseFormat } from "../shapes/chat-request.ts";
import type { ResponsesRequest, ResponseTool } from "../shapes/responses-request.ts";
import { collectToolSchemas } from "../tools/offer-tools.ts";
import { toResponseInputItems } from "./input-items.ts";

export interface TranslateChatRequestOptions extends ResponsesFlags {
  /** The upstream's name for the model. Default: the requested name. */
  upstreamModel?: string;
  /** Whether to request a stream. Default: as the client requested. */
  stream?: boolean;
}

export interface TranslatedChatRequest {
  body: ResponsesRequest;
  /** For the reply: names and parameters of the offered tools. */
  toolNames: ReadonlySet<string>;
  toolSchemas: ReadonlyMap<string, JsonObject>;
  /** For the reply: ids that new calls must not use (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: whether the client requested usage. A complete (JSON) reply always has it. */
  includeUsage: boolean;
  /** Number of choices that the client requested (`n`). A Responses upstream returns one per request. */
  choiceCount: number;
  repairs: Repairs;
  /** What happened to each field of the request. */
  fields: FieldOutcome[];
}

/** Translates a request from `decodeChatRequest` into a Responses request. Throws `WireError` if that is impossible. */
export function translateChatRequest(
  request: ChatRequest,
  options: TranslateChatRequestOptions = {},
): TranslatedChatRequest {
  const repairs = new Repairs();
  const offered = [...(request.tools ?? []), ...convertLegacyFunctions(request)];
  const tools = offered.map(toResponsesTool);
  const store = request.store ?? false;
  const converted = convertLegacyCalls(request.messages);
  const messages = orderMessages(converted, genericProfile, repairs);
  const { rejectsHistory: wasRejected = false, dropSealed = false } = options;
  const items = toResponseInputItems(messages, repairs);
  const input = repairHistory(items, { stored: store, wasRejected, dropSealed, repairs });
  const stream = options.stream ?? request.stream ?? false;
  const requestedChoice = toResponsesToolChoice(
    request.tool_choice ?? convertLegacyFunctionCall(request),
  );
  const choice = tools.length > 0 ? requestedChoice : undefined;
  if (choice !== requestedChoice && requestedChoice !== "auto" && requestedChoice !== "none")
    repairs.add("parameter_dropped", "tool_choice: no tools are offered");
  const text = toTextOptions(request);
  const logprobs = request.logprobs === true;
  const body: ResponsesRequest = {
    ...pickSharedParameters(request, repairs),
    model: options.upstreamModel ?? request.model,
    input,
    store,
    // Without encrypted_content, reasoning that is not stored cannot be sent back in the next turn.
    include: ["reasoning.encrypted_content", ...(logprobs ? ["message.output_text.logprobs"] : [])],
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(request.reasoning_effort ? { reasoning: { effort: request.reasoning_effort } } : {}),
    ...(text === undefined ? {} : { text }),
    ...toMaxOutputTokens(request),
    ...(stream ? { stream } : {}),
  };
  const adapted = applyResponsesFlags(body, options, repairs);
  const report = new FieldReport();
  reportFields(request, adapted, report, fieldTargets);
  return {
    body: adapted,
    toolNames: new Set(tools.flatMap(getToolNames)),
    toolSchemas: collectToolSchemas(offered),
    usedCallIds: new Set(messages.flatMap((message) => getToolCalls(message).map(({ id }) => id))),
    includeUsage: request.stream !== true || request.stream_options?.include_usage === true,
    choiceCount: request.n ?? 1,
    repairs,
    fields: report.outcomes,
  };
}

/** The fields of Responses in which those of Chat are sent. */
const fieldTargets: FieldTargets = {
  targets: {
    messages: "input",
    functions: "tools",
    function_call: "tool_choice",
    response_format: "text.format",
    verbosity: "text.verbosity",
    reasoning_effort: "reasoning.effort",
    max_tokens: "max_output_tokens",
    max_completion_tokens: "max_output_tokens",
    logprobs: "include",
  },
  reasons: {
    stream_options: "concerns only the reply",
    n: "one request is sent for each choice",
  },
  defaultReason: notSupported,
};

/** Parameters with the same name on both wires. */
const sharedParameters = [
  "temperature",
  "top_p",
  "top_logprobs",
  "parallel_tool_calls",
  "metadata",
  "user",
  "safety_identifier",
  "service_tier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
];

/** Parameters that are translated elsewhere, or only concern the reply. */
const translatedParameters = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "response_format",
  "reasoning_effort",
  "verbosity",
  "max_tokens",
  "max_completion_tokens",
  "logprobs",
  "n",
  "store",
]);

function pickSharedParameters(request: ChatRequest, repairs: Repairs): JsonObject {
  const parameters: JsonObject = {};
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || translatedParameters.has(name)) continue;
    if (sharedParameters.includes(name)) parameters[name] = value;
    else repairs.add("parameter_dropped", name); // stop, seed, penalties, …: Responses does not have them
  }
  return parameters;
}

function toTextOptions(request: ChatRequest): ResponsesRequest["text"] | undefined {
  const format = request.response_format ? toTextFormat(request.response_format) : undefined;
  const { verbosity } = request;
  if (format === undefined && !verbosity) return undefined;
  return { ...(format === undefined ? {} : { format }), ...(verbosity ? { verbosity } : {}) };
}

function toTextFormat(format: ChatResponseFormat): JsonObject & { type: string } {
  if (format.type !== "json_schema") return format;
  return { type: "json_schema", ...(format.json_schema as JsonObject) };
}

function toMaxOutputTokens(request: ChatRequest): { max_output_tokens?: number } {
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens;
  return typeof maxOutputTokens === "number" ? { max_output_tokens: maxOutputTokens } : {};
}

function getToolNames(tool: ResponseTool): string[] {
  const name: JsonValue | undefined = tool["name"];
  return typeof name === "string" ? [name] : [];
}
