import type { TaskLimits, TaskTree } from "@deltawire/tasks";
import { RuntimeError } from "../runtime-error.ts";
import type { ModelPrice } from "./usage.ts";

const limitNames = ["rounds", "tokens", "cost", "seconds", "depth"] as const;

/** Returns the lower of the two values for each limit: a request can lower the limits of its agent but not raise them. */
export function mergeLimits(agent: TaskLimits, request: TaskLimits = {}): TaskLimits {
  const merged = limitNames.map((name) => {
    const values = [agent[name], request[name]].filter((limit) => limit !== undefined);
    return values.length === 0 ? {} : { [name]: Math.min(...values) };
  });
  return Object.assign({}, ...merged) as TaskLimits;
}

/** Throws if there is a cost limit but the price of the model is unknown. */
export function assertPriced(
  model: string,
  { cost }: TaskLimits,
  getPrice: (model: string) => ModelPrice | undefined,
): void {
  if (cost === undefined || getPrice(model) !== undefined) return;
  throw new RuntimeError(
    "unpriced_model",
    `the cost is limited to ${cost}, but the model "${model}" has no price; set its price, or limit tokens instead`,
  );
}

/** Returns the cost limit of a task, else of its nearest ancestor with one, because costs also count toward their limits. */
export function findCostLimit(tree: TaskTree, taskId: string | undefined): number | undefined {
  const info = taskId === undefined ? undefined : tree.tasks[taskId]?.info;
  return info && (info.limits?.cost ?? findCostLimit(tree, info.parent_task_id));
}
