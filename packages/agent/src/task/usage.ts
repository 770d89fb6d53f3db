import {
  addUsage,
  noUsage,
  roundCost,
  type TaskTree,
  type TaskWriter,
  type Usage,
} from "@deltawire/tasks";
import type { ResponseUsage } from "@deltawire/wire";

/** Prices per million tokens. */
export interface ModelPrice {
  input: number;
  /** For input tokens from the provider's cache. Default: `input`. */
  cached?: number;
  output: number;
  /** Per generated image. */
  image?: number;
}

/** Converts the usage that a server reported, and adds the cost if the price is known. */
export function calculateUsage(
  reported: (ResponseUsage & { images?: number }) | null | undefined,
  price: ModelPrice | undefined,
): Usage {
  if (reported === null || reported === undefined) return noUsage;
  const input_tokens = toAmount(reported.input_tokens);
  const output_tokens = toAmount(reported.output_tokens);
  const total_tokens = toAmount(reported.total_tokens) || input_tokens + output_tokens;
  const cached = toAmount(reported.input_tokens_details?.cached_tokens);
  const reasoning = toAmount(reported.output_tokens_details?.reasoning_tokens);
  const amounts = {
    input: input_tokens,
    cached,
    output: output_tokens,
    images: toAmount(reported.images),
  };
  return {
    input_tokens,
    output_tokens,
    total_tokens,
    ...(cached > 0 ? { cached_tokens: cached } : {}),
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {}),
    ...(price === undefined ? {} : { cost: calculateCost(amounts, price) }),
    ...(reported.estimated === true ? { estimated: true } : {}),
  };
}

/** Adds the usage of a model request to that of the task. */
export function addRoundUsage(
  { task, tree }: { task: TaskWriter; tree: { state: TaskTree } },
  usage: Usage,
): void {
  const taskUsage = addUsage(task.state.usage, usage);
  task.usageUpdated(taskUsage, sumTreeUsage(tree.state, task.taskId, taskUsage));
}

/**
 * Returns the usage of a task including its sub-agents. `taskUsage` is the usage without them. Always adds in the same order:
 * with another order the sum could decrease by a rounding error.
 */
export function sumTreeUsage(
  tree: TaskTree,
  taskId: string,
  taskUsage: Usage = tree.tasks[taskId]?.usage ?? noUsage,
): Usage {
  let usage = taskUsage;
  for (const child of Object.values(tree.tasks))
    if (child.info.parent_task_id === taskId)
      usage = addUsage(usage, sumTreeUsage(tree, child.task_id));
  return usage;
}

/** Custom models may report values of any type. */
function toAmount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function calculateCost(
  { input, cached, output, images }: Record<"input" | "cached" | "output" | "images", number>,
  price: ModelPrice,
): number {
  const uncached = Math.max(0, input - cached);
  const tokens =
    uncached * price.input + cached * (price.cached ?? price.input) + output * price.output;
  return roundCost(tokens / 1e6 + images * (price.image ?? 0));
}
