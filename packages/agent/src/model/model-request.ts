import type { TaskState } from "@deltawire/tasks";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import type { Agent } from "../agent.ts";
import { mergeOptions } from "../options/model-options.ts";
import { renderTaskHistory } from "./task-history.ts";
import { getUnretractedItems } from "../task/task-items.ts";
import type { RoundContext } from "./round-context.ts";

/** Builds the request of the next round. If tool calls are not allowed, the tools are still listed, for the prompt cache. */
export function buildModelRequest(
  { task, tree, agent, toolset, request }: RoundContext,
  allowsToolCalls: boolean,
): ResponsesRequest {
  const { state } = task;
  const offeredTools = [...toolset.tools.values()].map(({ name, description, parameters }) => ({
    type: "function" as const,
    name,
    description,
    parameters,
    strict: false,
  }));
  const resolvedOptions = resolveOptions(agent, request);
  const { reasoning, tool_choice, parallel_tool_calls, ...options } =
    pickModelOptions(resolvedOptions);
  return {
    ...options,
    ...buildReasoning(agent.effort, reasoning),
    model: state.info.model,
    ...(toolset.instructions === "" ? {} : { instructions: toolset.instructions }),
    input: renderTaskHistory(state, tree.privateRecords),
    ...(offeredTools.length === 0
      ? {}
      : {
          tools: offeredTools,
          tool_choice: allowsToolCalls ? resolveToolChoice(tool_choice, state) : "none",
          parallel_tool_calls: parallel_tool_calls ?? true,
        }),
    include: ["reasoning.encrypted_content"],
    // All turns of a chat share a prefix, so they share the key of the prompt cache.
    prompt_cache_key: getCacheKey(resolvedOptions) ?? request.chat_id ?? tree.rootTaskId,
    store: false,
    stream: true,
  };
}

/** In a chat, the options of the agent were already merged when the message was sent. */
function resolveOptions(
  agent: Agent,
  { options = {}, chat_id }: RoundContext["request"],
): JsonObject {
  return chat_id === undefined ? mergeOptions([agent.options, options]) : options;
}

/** Parameters that the runtime sets itself or does not support. */
const reservedParameters = new Set([
  "model",
  "instructions",
  "input",
  "tools",
  "include",
  "prompt_cache_key",
  "store",
  "stream",
  "stream_options",
  "background",
  "conversation",
  "previous_response_id",
  "prompt",
]);

function pickModelOptions(options: JsonObject): Partial<ResponsesRequest> {
  return Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => value !== null && !reservedParameters.has(name),
    ),
  );
}

/** Returns the cache key from the options, if set. */
function getCacheKey(options: JsonObject): string | undefined {
  const { prompt_cache_key: key } = options;
  return typeof key === "string" && key !== "" ? key : undefined;
}

function buildReasoning(
  effort: string | undefined,
  requested: ResponsesRequest["reasoning"],
): Pick<ResponsesRequest, "reasoning"> {
  const agentReasoning = effort === undefined ? {} : { effort };
  const reasoning =
    typeof requested === "object" ? { ...agentReasoning, ...requested } : agentReasoning;
  if (Object.keys(reasoning).length === 0) return {};
  return { reasoning: "effort" in reasoning ? { summary: "auto", ...reasoning } : reasoning };
}

/** Applies a forced call only until the first call: if every round had to call a tool, the task would never end. */
function resolveToolChoice(
  requested: ResponsesRequest["tool_choice"],
  state: TaskState,
): NonNullable<ResponsesRequest["tool_choice"]> {
  const choice = requested ?? "auto";
  if (choice === "auto" || choice === "none") return choice;
  if (!getUnretractedItems(state, 0).some(({ type }) => type === "tool_call")) return choice;
  if (typeof choice === "string" || choice["type"] !== "allowed_tools") return "auto";
  return { ...choice, mode: "auto" };
}
