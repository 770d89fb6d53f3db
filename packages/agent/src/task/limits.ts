import type { Limits, TaskTree } from "@deltawire/tasks";
import { RuntimeError } from "../runtime-error.ts";
import type { Price } from "./usage.ts";

const names = ["rounds", "tokens", "cost", "seconds", "depth"] as const;

/** What a task may use: a request can ask for less than its agent has, never for more. */
export function limitsOf(agent: Limits, request: Limits = {}): Limits {
  const lower = names.map((name) => {
    const told = [agent[name], request[name]].filter((limit) => limit !== undefined);
    return told.length === 0 ? {} : { [name]: Math.min(...told) };
  });
  return Object.assign({}, ...lower) as Limits;
}

/** Throws where the cost of a task is limited and nobody could count it. */
export function mustHavePrice(
  model: string,
  { cost }: Limits,
  price: (model: string) => Price | undefined,
): void {
  if (cost === undefined || price(model) !== undefined) return;
  throw new RuntimeError(
    "unpriced_model",
    `the cost is limited to ${cost}, but the model "${model}" has no price: give it one, or limit tokens instead`,
  );
}

/** What a task may cost, or one above it that pays for it too. */
export function costLimitAbove(tree: TaskTree, taskId: string | undefined): number | undefined {
  const info = taskId === undefined ? undefined : tree.tasks[taskId]?.info;
  return info && (info.limits?.cost ?? costLimitAbove(tree, info.parent_task_id));
}
