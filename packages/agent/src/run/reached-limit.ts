import type { Limits, TaskApproval, TaskState, Usage } from "@deltawire/tasks";

export type LimitName = "rounds" | "tokens" | "cost";

export interface Reached {
  name: LimitName;
  limit: number;
  used: number;
}

/**
 * The first limit that is reached. `answers` of users: who approves gives as much again, from what was used by then. A
 * round that was cut off does not count.
 */
export function reachedLimit(
  { round, round_done }: TaskState,
  usage: Usage,
  limits: Limits,
  answers: readonly TaskApproval[],
): Reached | undefined {
  const uses: Record<LimitName, number> = {
    rounds: round_done ? round : round - 1,
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

function extendedAt(name: LimitName, answers: readonly TaskApproval[]): number {
  const last = answers.findLast(
    ({ limit_name, resolution }) => limit_name === name && resolution?.decision === "approve",
  );
  return last?.used ?? 0;
}
