import {
  hasEnded,
  removeMarkers,
  type TaskLimits,
  type CallOutcome,
  type TaskState,
  type TaskStatus,
  type ToolCallItem,
} from "@deltawire/tasks";
import { getModelName, type Agent } from "../agent.ts";
import { endTask } from "../task/end-task.ts";
import { getErrorMessage } from "../event-text.ts";
import type { CallResult } from "./call-result.ts";
import { findCostLimit, assertPriced } from "../task/limits.ts";
import type { AskForHelpInput } from "../task/built-in-tools.ts";
import { StoppedError, throwIfStopped } from "../task/stop-reason.ts";
import type { CallContext } from "./call-context.ts";
import { restoreReferencePool } from "../model/history-references.ts";
import { buildToolset } from "../task/toolset.ts";
import { sumTreeUsage } from "../task/usage.ts";

/**
 * Runs a sub-agent as a task whose id is the call id and whose events go to the same log. Users see all of its items; the
 * calling model receives its last message and the references that it cites, renumbered.
 */
export async function runSubAgent(
  context: CallContext,
  call: ToolCallItem,
  helpInput: AskForHelpInput,
): Promise<CallResult> {
  const { tree, task, agent, depth } = context;
  const subAgent = agent.agents.find(({ name }) => name === helpInput.name);
  if (subAgent === undefined)
    return {
      outcome: "failed",
      output: `Unknown agent "${helpInput.name}".`,
      error: "unknown agent",
    };
  const maxDepth = context.limits.depth ?? 3;
  const existingTask = tree.state.tasks[call.call_id];
  if (existingTask === undefined && depth + 1 > maxDepth) {
    const error = `sub-agents may be nested at most ${maxDepth} levels deep`;
    return { outcome: "failed", output: `The agent was not called: ${error}.`, error };
  }
  if (existingTask === undefined) {
    const model = getModelName(subAgent);
    try {
      buildToolset(subAgent);
      assertPriced(model, resolveCostLimit(context, subAgent), tree.options.getPrice);
    } catch (error) {
      const message = getErrorMessage(error);
      return { outcome: "failed", output: `The agent cannot run: ${message}`, error: message };
    }
    const content = [{ type: "text", text: helpInput.prompt }];
    tree.writer.create(
      call.call_id,
      {
        root_task_id: tree.rootTaskId,
        parent_task_id: task.taskId,
        parent_call_id: call.call_id,
        attempt: 1,
        depth: depth + 1,
        ...(task.state.info.session_id === undefined
          ? {}
          : { session_id: task.state.info.session_id }),
        agent: subAgent.name,
        model,
        limits: { ...subAgent.limits, depth: maxDepth },
        input: content,
      },
      { content },
    );
    task.update(call.id, { child_task_ids: [call.call_id] });
  }
  if (existingTask === undefined || !hasEnded(existingTask.status))
    await context.runChild(tree.writer.task(call.call_id), subAgent);
  // The process is ending: the child and the call stay open in the log.
  if (tree.isDetached) throwIfStopped(context.signal);
  const child = tree.state.tasks[call.call_id];
  if (child === undefined || !hasEnded(child.status)) throw new StoppedError({ type: "detached" });
  context.activity.set(call.call_id, []);
  task.usageUpdated(task.state.usage, sumTreeUsage(tree.state, task.taskId));
  return getSubAgentResult(context, call);
}

/**
 * Returns the result of a sub-agent that was called earlier and no longer exists, and cancels its task if it has not ended.
 * Undefined for other calls.
 */
export function endRemovedAgentCall(
  context: CallContext,
  call: ToolCallItem,
): CallResult | undefined {
  const { tree, agent } = context;
  const child = tree.state.tasks[call.call_id];
  if (child === undefined || agent.agents.some(({ name }) => name === child.info.agent))
    return undefined;
  if (!hasEnded(child.status)) {
    const reason = `the agent "${child.info.agent}" no longer exists`;
    endTask(tree.writer, child.task_id, { status: "canceled", by: "runtime", reason });
  }
  return getSubAgentResult(context, call);
}

/** The cost also counts against the limits of the parent agents, so the model of a sub-agent needs a price too. */
function resolveCostLimit({ tree, task }: CallContext, subAgent: Agent): TaskLimits {
  const { cost } = subAgent.limits;
  if (cost !== undefined) return { cost };
  const inheritedLimit = findCostLimit(tree.state, task.taskId);
  return inheritedLimit === undefined ? {} : { cost: inheritedLimit };
}

/** Returns the result of a sub-agent whose task has ended. */
export function getSubAgentResult({ tree }: CallContext, call: ToolCallItem): CallResult {
  const child = tree.state.tasks[call.call_id];
  if (child === undefined) return { outcome: "failed", output: "The agent did not start." };
  const lastText = getLastMessageText(child);
  if (child.status === "completed") {
    const cited = restoreReferencePool(child, tree.privateRecords).findCitedGroups(lastText);
    return { outcome: "completed", output: undefined, child: { cited, message: lastText } };
  }
  const outcome = outcomeByStatus[child.status] ?? "failed";
  const reason = child.error?.message ?? child.ended?.reason ?? child.status;
  const partialAnswer = lastText === "" ? "" : ` Its last message: ${removeMarkers(lastText)}`;
  const message = `The agent ${child.info.agent} did not finish: ${reason}.${partialAnswer}`;
  return { outcome, output: undefined, error: reason, child: { cited: [], message } };
}

const outcomeByStatus: Partial<Record<TaskStatus, CallOutcome>> = {
  failed: "failed",
  expired: "timeout",
  canceled: "canceled",
};

function getLastMessageText(child: TaskState): string {
  const message = child.output.findLast((item) => item.type === "message");
  return (
    message?.block_list.map((block) => (block.type === "text" ? block.text : "")).join("") ?? ""
  );
}
