import type { TaskState } from "@deltawire/tasks";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import type { Agent } from "../agent.ts";
import { mergeOptions } from "../options/model-options.ts";
import { historyOf } from "./history.ts";
import { unretractedItems } from "../task/items.ts";
import type { RoundContext } from "./round-context.ts";

/** What a model is asked in the next round. Without `tools` they are told, so that the cache fits, and not to be called. */
export function requestOf(
  { task, tree, agent, toolset, asked }: RoundContext,
  tools: boolean,
): ResponsesRequest {
  const { state } = task;
  const offered = [...toolset.tools.values()].map(({ name, description, parameters }) => ({
    type: "function" as const,
    name,
    description,
    parameters,
    strict: false,
  }));
  const wanted = wantedOptions(agent, asked);
  const { reasoning, tool_choice, parallel_tool_calls, ...options } = optionsOf(wanted);
  return {
    ...options,
    ...reasoningOf(agent.effort, reasoning),
    model: state.info.model,
    ...(toolset.instructions === "" ? {} : { instructions: toolset.instructions }),
    input: historyOf(state, tree.privateParts),
    ...(offered.length === 0
      ? {}
      : {
          tools: offered,
          tool_choice: tools ? toolChoice(tool_choice, state) : "none",
          parallel_tool_calls: parallel_tool_calls ?? true,
        }),
    include: ["reasoning.encrypted_content"],
    // The turns of a chat begin alike: a server that keeps them finds them by the same key.
    prompt_cache_key: cacheKey(wanted) ?? asked.chat_id ?? tree.rootTaskId,
    store: false,
    stream: true,
  };
}

/** Those of a chat are merged with the agent's already, when the message was sent. */
function wantedOptions(agent: Agent, { options = {}, chat_id }: RoundContext["asked"]): JsonObject {
  return chat_id === undefined ? mergeOptions([agent.options, options]) : options;
}

/** What a round is made of, or what would have a server add to it. */
const ours = new Set([
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

function optionsOf(options: JsonObject): Partial<ResponsesRequest> {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => value !== null && !ours.has(name)),
  );
}

/** The user's own, if set. */
function cacheKey(options: JsonObject): string | undefined {
  const { prompt_cache_key: key } = options;
  return typeof key === "string" && key !== "" ? key : undefined;
}

function reasoningOf(
  effort: string | undefined,
  asked: ResponsesRequest["reasoning"],
): Pick<ResponsesRequest, "reasoning"> {
  const own = effort === undefined ? {} : { effort };
  const reasoning = typeof asked === "object" ? { ...own, ...asked } : own;
  if (Object.keys(reasoning).length === 0) return {};
  return { reasoning: "effort" in reasoning ? { summary: "auto", ...reasoning } : reasoning };
}

/** Who has to call in every round never comes to an end: from the first call on it is free to. */
function toolChoice(
  asked: ResponsesRequest["tool_choice"],
  state: TaskState,
): NonNullable<ResponsesRequest["tool_choice"]> {
  const choice = asked ?? "auto";
  if (choice === "auto" || choice === "none") return choice;
  if (!unretractedItems(state, 0).some(({ type }) => type === "tool_call")) return choice;
  if (typeof choice === "string" || choice["type"] !== "allowed_tools") return "auto";
  return { ...choice, mode: "auto" };
}
