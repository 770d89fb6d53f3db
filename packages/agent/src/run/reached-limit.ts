import type { TaskLimits, TaskApproval, TaskState, Usage } from "@deltawire/tasks";
import { findOpenCalls } from "../task/task-items.ts";

export type LimitName = "rounds" | "tokens" | "cost";

/** Names of the limits in messages to users and models. */
export const limitLabels: Readonly<Record<LimitName, string>> = {
  rounds: "round limit",
  tokens: "token limit",
  cost: "cost limit",
};

export interface ReachedLimit {
  name: LimitName;
  limit: number;
  used: number;
}

/**
 * Returns the first limit that is reached. Each approval in `approvals` allows the same amount again, counted from the usage
 * at that time. A round is a round trip between model and tools: it counts once all its calls have results.
 */
export function findReachedLimit(
  state: TaskState,
  usage: Usage,
  limits: TaskLimits,
  approvals: readonly TaskApproval[],
): ReachedLimit | undefined {
  const usedByName: Record<LimitName, number> = {
    rounds: countFinishedRounds(state),
    tokens: usage.total_tokens,
    cost: usage.cost ?? 0,
  };
  for (const name of ["rounds", "tokens", "cost"] as const) {
    const { [name]: limit } = limits;
    const { [name]: used } = usedByName;
    if (limit !== undefined && used >= limit + getExtension(name, approvals))
      return { name, limit, used };
  }
  return undefined;
}

/** Counts groups of consecutive results: the results of a round follow its calls without a gap. */
function countFinishedRounds(state: TaskState): number {
  const { output, round_started_at_index } = state;
  const end = findOpenCalls(state).length > 0 ? round_started_at_index : output.length;
  let rounds = 0;
  for (let index = 0; index < end; index += 1)
    if (output[index]?.type === "tool_result" && output[index - 1]?.type !== "tool_result")
      rounds += 1;
  return rounds;
}

function getExtension(name: LimitName, approvals: readonly TaskApproval[]): number {
  const lastApproval = approvals.findLast(
    ({ limit_name, resolution }) => limit_name === name && resolution?.decision === "approve",
  );
  return lastApproval?.used ?? 0;
}
