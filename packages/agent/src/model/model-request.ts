import type { ResponsesRequest } from "@deltawire/wire";
import { historyOf } from "./history.ts";
import type { TaskRun } from "../run/task-run.ts";

/** What a model is asked in the next round. */
export function requestOf(
  { task, tree, agent, toolset }: TaskRun,
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
  return {
    model: state.info.model,
    ...(toolset.instructions === "" ? {} : { instructions: toolset.instructions }),
    input: historyOf(state, tree.privateParts),
    ...(offered.length === 0
      ? {}
      : { tools: offered, tool_choice: tools ? "auto" : "none", parallel_tool_calls: true }),
    ...(agent.effort === undefined ? {} : { reasoning: { effort: agent.effort, summary: "auto" } }),
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: tree.rootTaskId,
    store: false,
    stream: true,
  };
}
