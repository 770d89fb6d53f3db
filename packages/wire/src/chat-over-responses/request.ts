import { isObject, nonEmptyString, type JsonObject, type JsonValue } from "../json.ts";
import { legacyTools } from "../chat-over-chat/request.ts";
import { callsOf, orderedMessages, withoutLegacyCalls } from "../chat-upstream/ordered-messages.ts";
import { mendHistory } from "../history.ts";
import { genericProfile } from "../profiles.ts";
import { Repairs } from "../repairs.ts";
import type {
  ChatRequest,
  ChatResponseFormat,
  ChatTool,
  ChatToolChoice,
} from "../shapes/chat-request.ts";
import type { ResponsesRequest, Tool } from "../shapes/responses-request.ts";
import { toolSchemas } from "../tools/definitions.ts";
import { inputItems } from "./items.ts";

export interface ResponsesRequestOptions {
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
  const input = mendHistory(inputItems(messages, repairs), { stored: store, repairs });
  const stream = options.stream ?? request.stream ?? false;
  const asked = toolChoice(request.tool_choice ?? legacyChoice(request));
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
    body,
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

function responsesTool(tool: ChatTool): Tool {
  if (tool.type === "custom") {
    const { name, description, format } = tool.custom;
    const grammar = isObject(format?.["grammar"])
      ? { type: "grammar", ...format["grammar"] }
      : format;
    return {
      type: "custom",
      name,
      ...(description === undefined ? {} : { description }),
      ...(grammar === undefined ? {} : { format: grammar as JsonObject & { type: string } }),
    };
  }
  const { name, description, parameters, strict, ...rest } = tool.function;
  return {
    ...rest,
    type: "function",
    name,
    ...(description ? { description } : {}),
    parameters: parameters ?? { type: "object", properties: {} },
    // Chat's default is false, Responses' is true.
    strict: strict ?? false,
  };
}

function legacyChoice({ function_call: choice }: ChatRequest): ChatToolChoice | undefined {
  if (choice === "auto" || choice === "none") return choice;
  return isObject(choice)
    ? { type: "function", function: { name: nonEmptyString(choice["name"]) ?? "" } }
    : undefined;
}

function toolChoice(
  choice: ChatToolChoice | undefined,
): ResponsesRequest["tool_choice"] | undefined {
  if (choice === undefined || typeof choice === "string") return choice;
  switch (choice.type) {
    case "function":
      return { type: "function", name: choice.function.name };
    case "custom":
      return { type: "custom", name: choice.custom.name };
    case "allowed_tools": {
      const { mode, tools } = choice.allowed_tools;
      return { type: "allowed_tools", mode, tools: tools.map(flatTool) };
    }
    default:
      return choice;
  }
}

/** `{type: "function", function: {name}}` as `{type: "function", name}`. */
function flatTool(tool: JsonObject): JsonObject {
  const { function: described, custom, ...rest } = tool;
  return {
    ...rest,
    ...(isObject(described) ? described : {}),
    ...(isObject(custom) ? custom : {}),
  };
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
