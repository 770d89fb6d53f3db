import type { JsonObject } from "../json.ts";
import { isObject } from "../json.ts";
import { maxCacheControls } from "../mapping/cache-breakpoints.ts";
import { reasoningEfforts } from "../mapping/reasoning-effort.ts";
import type { FieldReport } from "../field-report.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatMessage, ChatTool, ChatToolChoice } from "../shapes/chat-request.ts";
import type {
  MessageContentBlock,
  MessageParam,
  MessagesRequest,
  MessageThinking,
  MessageTool,
} from "../shapes/messages-request.ts";
import { toObjectSchema } from "../tools/json-schema.ts";
import { buildTurns } from "./build-turns.ts";
import { applyMessagesFlags, type MessagesFlags } from "./messages-flags.ts";
import { limitThinkingBudget, minThinkingBudget } from "./thinking-budget.ts";

/** A request of any wire, in the form from which a Messages request is built. */
export interface ConversationForMessages {
  model: string;
  /** Ordered: calls are directly followed by their results. */
  messages: readonly ChatMessage[];
  tools: readonly ChatTool[];
  toolChoice: ChatToolChoice | undefined;
  parallelToolCalls: boolean | undefined;
  maxTokens: number | undefined;
  effort: string | undefined;
  /** A format of the Responses API. */
  format: JsonObject | undefined;
  stop: readonly string[];
  temperature: number | undefined;
  topP: number | undefined;
  /** Identifies the user or the conversation, already hashed. */
  userId: string | undefined;
  serviceTier: string | undefined;
  /** `prompt_cache_options` of the OpenAI APIs. */
  cacheOptions: JsonObject | undefined;
  stream: boolean;
}

export interface BuildMessagesContext {
  flags: MessagesFlags;
  repairs: Repairs;
  report: FieldReport;
}

const defaultMaxTokens = 8192;

/** Builds a request for a Messages upstream. */
export function buildMessagesRequest(
  conversation: ConversationForMessages,
  context: BuildMessagesContext,
): MessagesRequest {
  const { flags, repairs } = context;
  const { system, messages, lacksThinking } = buildTurns(conversation.messages, context);
  const tools = conversation.tools.flatMap(toMessageTool);
  const maxTokens = limitMaxTokens(conversation.maxTokens, context);
  const choice = toMessageToolChoice(conversation, tools.length > 0);
  const isForced = choice?.["type"] === "any" || choice?.["type"] === "tool";
  const canThink = !isForced && !lacksThinking;
  const thinking = buildThinking(conversation.effort, maxTokens, canThink, context);
  const isThinking = thinking.thinking !== undefined && thinking.thinking.type !== "disabled";
  const hint = buildFormatHint(conversation.format);
  const systemBlocks = hint === "" ? system : [...system, toTextBlock(hint)];
  const body: MessagesRequest = {
    model: conversation.model,
    max_tokens: maxTokens,
    ...(systemBlocks.length === 0 ? {} : { system: systemBlocks }),
    messages,
    ...(tools.length === 0 ? {} : { tools }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...buildOutputConfig(conversation.format, thinking.effort),
    ...buildSampling(conversation, isThinking, repairs),
    ...buildStopSequences(conversation.stop, repairs),
    ...(conversation.userId === undefined ? {} : { metadata: { user_id: conversation.userId } }),
    ...buildServiceTier(conversation.serviceTier),
    ...(conversation.stream ? { stream: true } : {}),
  };
  setCacheMarks(body, conversation.cacheOptions, context);
  return applyMessagesFlags(body, flags, (name) => repairs.add("parameter_dropped", name));
}

function limitMaxTokens(
  requested: number | undefined,
  { flags, repairs }: BuildMessagesContext,
): number {
  const maxTokens = Math.max(1, requested ?? flags.defaultMaxTokens ?? defaultMaxTokens);
  const { maxTokensLimit: limit } = flags;
  if (limit === undefined || maxTokens <= limit) return maxTokens;
  if (requested !== undefined)
    repairs.add("parameter_changed", `max_tokens: ${maxTokens} -> ${limit}`);
  return limit;
}

function toMessageTool(tool: ChatTool): MessageTool[] {
  // Custom tools were offered as functions.
  if (tool.type !== "function") return [];
  const { name, description, parameters, strict } = tool.function;
  return [
    {
      name,
      ...(description ? { description } : {}),
      input_schema: toObjectSchema(parameters),
      ...(strict === true ? { strict } : {}),
    },
  ];
}

function toMessageToolChoice(
  { toolChoice, parallelToolCalls }: ConversationForMessages,
  hasTools: boolean,
): MessagesRequest["tool_choice"] | undefined {
  if (!hasTools) return undefined;
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (toolChoice === undefined)
    return parallelToolCalls === false ? { type: "auto", ...single } : undefined;
  if (toolChoice === "none") return { type: "none" };
  if (toolChoice === "required") return { type: "any", ...single };
  if (typeof toolChoice === "object" && toolChoice.type === "function")
    return { type: "tool", name: toolChoice.function.name, ...single };
  return { type: "auto", ...single };
}

/** Thinking budgets in tokens by effort. The API requires at least 1024, and less than `max_tokens`. */
const budgets: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 16_000,
  high: 32_000,
  xhigh: 48_000,
  max: 64_000,
};

function buildThinking(
  effort: string | undefined,
  maxTokens: number,
  canThink: boolean,
  { flags, repairs, report }: BuildMessagesContext,
): { thinking?: MessageThinking; effort?: string } {
  const { thinkingStyle = "budget" } = flags;
  if (effort === undefined) return {};
  if (thinkingStyle === "none" || !reasoningEfforts.includes(effort)) {
    repairs.add("parameter_dropped", `effort: ${effort}`);
    report.drop("effort", "not supported by the upstream");
    return {};
  }
  if (effort === "none") return { thinking: { type: "disabled" } };
  if (thinkingStyle === "adaptive") {
    const sentEffort = effort === "minimal" ? "low" : effort;
    return canThink
      ? { thinking: { type: "adaptive" }, effort: sentEffort }
      : { effort: sentEffort };
  }
  const budget = limitThinkingBudget(budgets[effort] ?? minThinkingBudget, maxTokens);
  if (canThink && budget !== undefined)
    return { thinking: { type: "enabled", budget_tokens: budget } };
  const reason = canThink
    ? "max_tokens is too low for thinking"
    : "no thinking with a forced call, or after calls without thinking";
  repairs.add("parameter_dropped", `effort: ${reason}`);
  report.drop("effort", reason);
  return {};
}

function buildOutputConfig(
  format: JsonObject | undefined,
  effort: string | undefined,
): { output_config?: JsonObject } {
  const config: JsonObject = {};
  if (effort !== undefined) config["effort"] = effort;
  if (format?.["type"] === "json_schema" && isObject(format["schema"]))
    config["format"] = { type: "json_schema", schema: format["schema"] };
  return Object.keys(config).length === 0 ? {} : { output_config: config };
}

/** The API has no format for JSON without a schema. */
function buildFormatHint(format: JsonObject | undefined): string {
  return format?.["type"] === "json_object" ? "Answer only with a valid JSON object." : "";
}

function buildSampling(
  { temperature, topP }: ConversationForMessages,
  isThinking: boolean,
  repairs: Repairs,
): Pick<MessagesRequest, "temperature" | "top_p"> {
  const sampling: Pick<MessagesRequest, "temperature" | "top_p"> = {};
  if (temperature !== undefined && temperature !== 1) {
    const limited = Math.min(1, Math.max(0, temperature));
    if (isThinking) repairs.add("parameter_dropped", "temperature: only 1 with thinking");
    else sampling.temperature = limited;
    if (limited !== temperature && !isThinking)
      repairs.add("parameter_changed", `temperature: ${temperature} -> ${limited}`);
  }
  if (topP !== undefined && topP !== 1)
    if (isThinking) repairs.add("parameter_dropped", "top_p: not with thinking");
    else sampling.top_p = Math.min(1, Math.max(0, topP));
  return sampling;
}

function buildStopSequences(
  stop: readonly string[],
  repairs: Repairs,
): Pick<MessagesRequest, "stop_sequences"> {
  const sequences = stop.filter((sequence) => sequence.trim() !== "");
  if (sequences.length < stop.length) repairs.add("parameter_changed", "stop: without blank ones");
  return sequences.length === 0 ? {} : { stop_sequences: sequences };
}

function buildServiceTier(tier: string | undefined): Pick<MessagesRequest, "service_tier"> {
  if (tier === "auto") return { service_tier: "auto" };
  return tier === "default" ? { service_tier: "standard_only" } : {};
}

/**
 * Sends the breakpoints of the request as cache marks. Without any, marks the end of the tools, of the system text and of the
 * last turn, up to where the next request will be the same.
 */
function setCacheMarks(
  { tools, system, messages }: MessagesRequest,
  options: JsonObject | undefined,
  { flags, repairs, report }: BuildMessagesContext,
): void {
  const systemBlocks = Array.isArray(system) ? system : [];
  const marked = [...systemBlocks, ...messages.flatMap(getBlocks)].filter(
    (block) => block.cache_control,
  );
  const limit = flags.cacheMarks === false ? 0 : maxCacheControls;
  for (const block of marked.slice(0, Math.max(0, marked.length - limit))) {
    delete block.cache_control;
    repairs.add("parameter_dropped", "prompt_cache_breakpoint");
  }
  const isExplicit = options?.["mode"] === "explicit";
  if (options !== undefined)
    if (isExplicit) report.translate("prompt_cache_options", "cache_control");
    else report.drop("prompt_cache_options", "marks are set automatically");
  if (marked.length > 0)
    if (limit > 0) report.translate("prompt_cache_breakpoint", "cache_control");
    else report.drop("prompt_cache_breakpoint", "rejected by the upstream");
  if (limit === 0 || marked.length > 0 || isExplicit) return;
  const mark = { type: "ephemeral" };
  const lastTool = tools?.at(-1);
  if (lastTool !== undefined) lastTool["cache_control"] = mark;
  const lastText = systemBlocks.at(-1);
  if (lastText !== undefined) lastText.cache_control = mark;
  const turn = messages.findLast(({ role }) => role === "user");
  const lastBlock = getBlocks(turn).at(-1);
  if (lastBlock !== undefined) lastBlock.cache_control = mark;
}

function getBlocks(turn: MessageParam | undefined): MessageContentBlock[] {
  return Array.isArray(turn?.content) ? turn.content : [];
}

function toTextBlock(text: string): MessageContentBlock {
  return { type: "text", text };
}
