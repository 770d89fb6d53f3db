import {
  hasEnded,
  withoutMarkers,
  type Limits,
  type Outcome,
  type TaskState,
  type TaskStatus,
  type ToolCallItem,
} from "@deltawire/tasks";
import { modelNameOf, type Agent } from "../agent.ts";
import { endTask } from "../task/end-task.ts";
import { messageOf } from "../event-text.ts";
import type { Executed } from "./executed.ts";
import { costLimitAbove, mustHavePrice } from "../task/limits.ts";
import type { HelpWanted } from "../task/own-tools.ts";
import { Stopped, throwIfStopped } from "../task/stop.ts";
import type { CallContext } from "./call-context.ts";
import { referencePool } from "../model/history-references.ts";
import { toolsetOf } from "../task/toolset.ts";
import { treeUsage } from "../task/usage.ts";

/**
 * A sub-agent's task: its id is the call's, its events go into the same log. People see all of its items; the model that
 * asked gets its last message and the groups that it cites, under numbers of its own.
 */
export async function askAgent(
  run: CallContext,
  call: ToolCallItem,
  wanted: HelpWanted,
): Promise<Executed> {
  const { tree, task, agent, depth } = run;
  const helper = agent.agents.find(({ name }) => name === wanted.name);
  if (helper === undefined)
    return {
      outcome: "failed",
      output: `There is no agent "${wanted.name}".`,
      error: "unknown agent",
    };
  const deepest = run.limits.depth ?? 3;
  const known = tree.state.tasks[call.call_id];
  if (known === undefined && depth + 1 > deepest) {
    const error = `agents may ask each other to a depth of ${deepest} only`;
    return { outcome: "failed", output: `No help was asked for: ${error}.`, error };
  }
  if (known === undefined) {
    const model = modelNameOf(helper);
    try {
      toolsetOf(helper);
      mustHavePrice(model, costLimitOf(run, helper), tree.options.price);
    } catch (error) {
      const message = messageOf(error);
      return { outcome: "failed", output: `The agent cannot work: ${message}`, error: message };
    }
    const content = [{ type: "text", text: wanted.prompt }];
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
        agent: helper.name,
        model,
        limits: { ...helper.limits, depth: deepest },
        input: content,
      },
      { content },
    );
    task.update(call.id, { child_task_ids: [call.call_id] });
  }
  if (known === undefined || !hasEnded(known.status))
    await run.runBelow(tree.writer.task(call.call_id), helper);
  // The process ends: the child stays as it is in the log, and so does the call.
  if (tree.isLeft) throwIfStopped(run.signal);
  const child = tree.state.tasks[call.call_id];
  if (child === undefined || !hasEnded(child.status)) throw new Stopped({ why: "left" });
  run.activity.set(call.call_id, []);
  task.usageUpdated(task.state.usage, treeUsage(tree.state, task.taskId));
  return helpOf(run, call);
}

/** What has come of a sub-agent that was asked before and cannot be asked any more. Undefined: it was not, or it can be. */
export function helpOfOneGone(run: CallContext, call: ToolCallItem): Executed | undefined {
  const { tree, agent } = run;
  const child = tree.state.tasks[call.call_id];
  if (child === undefined || agent.agents.some(({ name }) => name === child.info.agent))
    return undefined;
  if (!hasEnded(child.status)) {
    const reason = `there is no agent "${child.info.agent}" any more`;
    endTask(tree.writer, child.task_id, { is: "canceled", by: "runtime", reason });
  }
  return helpOf(run, call);
}

/** The agents above pay too. Without a price nothing could be counted, so nobody is asked who has none. */
function costLimitOf({ tree, task }: CallContext, helper: Agent): Limits {
  const { cost } = helper.limits;
  if (cost !== undefined) return { cost };
  const above = costLimitAbove(tree.state, task.taskId);
  return above === undefined ? {} : { cost: above };
}

/** What has come of the task of a sub-agent that has ended. */
export function helpOf({ tree }: CallContext, call: ToolCallItem): Executed {
  const child = tree.state.tasks[call.call_id];
  if (child === undefined) return { outcome: "failed", output: "The agent did not start." };
  const said = lastMessage(child);
  if (child.status === "completed") {
    const cited = referencePool(child, tree.privateParts).cited(said);
    return { outcome: "completed", output: undefined, child: { cited, message: said } };
  }
  const outcome = outcomes[child.status] ?? "failed";
  const why = child.error?.message ?? child.ended?.reason ?? child.status;
  const rest = said === "" ? "" : ` It had said: ${withoutMarkers(said)}`;
  const message = `The agent ${child.info.agent} did not finish: ${why}.${rest}`;
  return { outcome, output: undefined, error: why, child: { cited: [], message } };
}

const outcomes: Partial<Record<TaskStatus, Outcome>> = {
  failed: "failed",
  expired: "timeout",
  canceled: "canceled",
};

function lastMessage(child: TaskState): string {
  const message = child.output.findLast((item) => item.type === "message");
  return (
    message?.block_list.map((block) => (block.type === "text" ? block.text : "")).join("") ?? ""
  );
}
