import {
  addUsage,
  noUsage,
  roundedCost,
  type TaskTree,
  type TaskWriter,
  type Usage,
} from "@deltawire/tasks";
import type { ResponseUsage } from "@deltawire/wire";

/** For a million tokens. */
export interface Price {
  input: number;
  /** Of input that the provider had in its cache; as `input` unless it is told. */
  cached?: number;
  output: number;
  /** For each picture that was made. */
  image?: number;
}

/** What a round cost. */
export function usageOf(
  told: (ResponseUsage & { images?: number }) | null | undefined,
  price: Price | undefined,
): Usage {
  if (told === null || told === undefined) return noUsage;
  const input_tokens = amount(told.input_tokens);
  const output_tokens = amount(told.output_tokens);
  const total_tokens = amount(told.total_tokens) || input_tokens + output_tokens;
  const cached = amount(told.input_tokens_details?.cached_tokens);
  const reasoning = amount(told.output_tokens_details?.reasoning_tokens);
  const used = { input: input_tokens, cached, output: output_tokens, images: amount(told.images) };
  return {
    input_tokens,
    output_tokens,
    total_tokens,
    ...(cached > 0 ? { cached_tokens: cached } : {}),
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {}),
    ...(price === undefined ? {} : { cost: costOf(used, price) }),
    ...(told.estimated === true ? { estimated: true } : {}),
  };
}

/** Counts what the model was used for, in a round or beside it. */
export function addRoundUsage(
  { task, tree }: { task: TaskWriter; tree: { state: TaskTree } },
  usage: Usage,
): void {
  const own = addUsage(task.state.usage, usage);
  task.usageUpdated(own, treeUsage(tree.state, task.taskId, own));
}

/**
 * Of a task and all tasks below it; `own` is what the task itself has used by now. Added in one order: in another one the
 * sum could fall by a rounding error.
 */
export function treeUsage(
  tree: TaskTree,
  taskId: string,
  own: Usage = tree.tasks[taskId]?.usage ?? noUsage,
): Usage {
  let usage = own;
  for (const child of Object.values(tree.tasks))
    if (child.info.parent_task_id === taskId)
      usage = addUsage(usage, treeUsage(tree, child.task_id));
  return usage;
}

/** A model of somebody's own may tell anything. */
function amount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function costOf(
  { input, cached, output, images }: Record<"input" | "cached" | "output" | "images", number>,
  price: Price,
): number {
  const fresh = Math.max(0, input - cached);
  const tokens =
    fresh * price.input + cached * (price.cached ?? price.input) + output * price.output;
  return roundedCost(tokens / 1e6 + images * (price.image ?? 0));
}
