import type { Limits, TaskApproval, TaskState, Usage } from "@deltawire/tasks";
import { openCalls } from "../task/items.ts";

export type LimitName = "rounds" | "tokens" | "cost";

export interface Reached {
  name: LimitName;
  limit: number;
  used: number;
}

/**
 * The first limit that is reached. `answers` of users: who approves gives as much again, from what was used by then. Rounds
 * are round trips between model and tools: one counts when all its calls have results.
 */
export function reachedLimit(
  state: TaskState,
  usage: Usage,
  limits: Limits,
  answers: readonly TaskApproval[],
): Reached | undefined {
  const uses: Record<LimitName, number> = {
    rounds: finishedRounds(state),
    tokens: usage.total_tokens,
    cost: usage.cost ?? 0,
  };
  for (const name of ["rounds", "tokens", "cost"] as const) {
    const { [name]: limit } = limits;
    const { [name]: used } = uses;
    if (limit !== undefined && used >= limit + extendedAt(name, answers))
      return { name, limit, used };
  }
  return undefined;
}

/** The results of one round stand together, behind its calls. */
function finishedRounds(state: TaskState): number {
  const { output, round_started_at_index } = state;
  const end = openCalls(state).length > 0 ? round_started_at_index : output.length;
  let rounds = 0;
  for (let at = 0; at < end; at += 1)
    if (output[at]?.type === "tool_result" && output[at - 1]?.type !== "tool_result") rounds += 1;
  return rounds;
}

function extendedAt(name: LimitName, answers: readonly TaskApproval[]): number {
  const last = answers.findLast(
    ({ limit_name, resolution }) => limit_name === name && resolution?.decision === "approve",
  );
  return last?.used ?? 0;
}
