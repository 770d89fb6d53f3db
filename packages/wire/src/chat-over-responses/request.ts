import type { JsonObject, JsonValue } from "../json.ts";
import { callsOf, orderedMessages, withoutLegacyCalls } from "../chat-upstream/ordered-messages.ts";
import { mendHistory } from "../history.ts";
import {
  legacyChoice,
  legacyTools,
  responsesTool,
  responsesToolChoice,
} from "../mapping/chat-tools.ts";
import { genericProfile } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import { withKnownParameters, type ResponsesFlags } from "../responses-upstream/request-flags.ts";
import type { ChatRequest, ChatResponseFormat } from "../shapes/chat-request.ts";
import type { ResponsesRequest, Tool } from "../shapes/responses-request.ts";
import { toolSchemas } from "../tools/definitions.ts";
import { inputItems } from "./items.ts";

export interface ResponsesRequestOptions extends ResponsesFlags {
  /** The upstream's name of the model, where it differs from what the client asked for. */
  upstreamModel?: string;
  /** Whether to ask for a stream; otherwise what the client asked for. */
  stream?: boolean;
}

export interface TranslatedChatRequest {
  body: ResponsesRequest;
  /** For the reply: names and parameters of the tools that were offered. */
  toolNames: ReadonlySet<string>;
  toolSchemas: ReadonlyMap<string, JsonObject>;
  /** For the reply: ids that a new call may not have (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** For the reply: whether the client asked for usage. A whole reply always has it. */
  includeUsage: boolean;
  /** How many answers the client wants (`n`). A Responses upstream gives one: ask it so many times. */
  choices: number;
  repairs: Repairs;
}

/** What a Responses upstream is asked for a client that speaks Chat. Takes what `decodeChatRequest` returned. */
export function responsesRequest(
  request: ChatRequest,
  options: ResponsesRequestOptions = {},
): TranslatedChatRequest {
  const repairs = new Repairs();
  const offered = [...(request.tools ?? []), ...legacyTools(request)];
  const tools = offered.map(responsesTool);
  const store = request.store ?? false;
  const called = withoutLegacyCalls(request.messages);
  const messages = orderedMessages(called, genericProfile, repairs);
  const { refusedHistory: refused = false, dropSealed = false } = options;
  const items = inputItems(messages, repairs);
  const input = mendHistory(items, { stored: store, refused, dropSealed, repairs });
  const stream = options.stream ?? request.stream ?? false;
  const asked = responsesToolChoice(request.tool_choice ?? legacyChoice(request));
  const choice = tools.length > 0 ? asked : undefined;
  if (choice !== asked && asked !== "auto" && asked !== "none")
    repairs.add("parameter_dropped", "tool_choice: no tool that could be called");
  const text = textOptions(request);
  const logprobs = request.logprobs === true;
  const body: ResponsesRequest = {
    ...passedOn(request, repairs),
    model: options.upstreamModel ?? request.model,
    input,
    store,
    // Without it, reasoning that is not stored cannot be sent back on the next turn.
    include: ["reasoning.encrypted_content", ...(logprobs ? ["message.output_text.logprobs"] : [])],
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(request.reasoning_effort ? { reasoning: { effort: request.reasoning_effort } } : {}),
    ...(text === undefined ? {} : { text }),
    ...maxTokens(request),
    ...(stream ? { stream } : {}),
  };
  return {
    body: withKnownParameters(body, options, repairs),
    toolNames: new Set(tools.flatMap(nameOf)),
    toolSchemas: toolSchemas(offered),
    usedCallIds: new Set(messages.flatMap((message) => callsOf(message).map(({ id }) => id))),
    includeUsage: request.stream !== true || request.stream_options?.include_usage === true,
    choices: request.n ?? 1,
    repairs,
  };
}

/** Parameters that both wires have under one name. */
const common = [
  "temperature",
  "top_p",
  "top_logprobs",
  "parallel_tool_calls",
  "metadata",
  "user",
  "safety_identifier",
  "service_tier",
  "prompt_cache_key",
  "prompt_cache_retention",
];

/** What is said elsewhere in the request, or only concerns the reply. */
const handled = new Set([
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

function passedOn(request: ChatRequest, repairs: Repairs): JsonObject {
  const passed: JsonObject = {};
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || handled.has(name)) continue;
    if (common.includes(name)) passed[name] = value;
    else repairs.add("parameter_dropped", name); // stop, seed, penalties, …: this wire cannot say them
  }
  return passed;
}

function textOptions(request: ChatRequest): ResponsesRequest["text"] | undefined {
  const format = request.response_format ? textFormat(request.response_format) : undefined;
  const { verbosity } = request;
  if (format === undefined && !verbosity) return undefined;
  return { ...(format === undefined ? {} : { format }), ...(verbosity ? { verbosity } : {}) };
}

function textFormat(format: ChatResponseFormat): JsonObject & { type: string } {
  if (format.type !== "json_schema") return format;
  return { type: "json_schema", ...(format.json_schema as JsonObject) };
}

function maxTokens(request: ChatRequest): { max_output_tokens?: number } {
  const most = request.max_completion_tokens ?? request.max_tokens;
  return typeof most === "number" ? { max_output_tokens: most } : {};
}

function nameOf(tool: Tool): string[] {
  const name: JsonValue | undefined = tool["name"];
  return typeof name === "string" ? [name] : [];
}
