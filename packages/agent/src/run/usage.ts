import type { TaskTree, Usage } from "@deltawire/tasks";
import type { ResponseUsage } from "@deltawire/wire";

/** For a million tokens. */
export interface Price {
  input: number;
  /** Of input that the provider had in its cache; as `input` unless it is told. */
  cached?: number;
  output: number;
}

const noUsage: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

/** What a round cost. */
export function usageOf(told: ResponseUsage | null | undefined, price: Price | undefined): Usage {
  if (told === null || told === undefined) return noUsage;
  const input_tokens = amount(told.input_tokens);
  const output_tokens = amount(told.output_tokens);
  const total_tokens = amount(told.total_tokens) || input_tokens + output_tokens;
  const cached = amount(told.input_tokens_details?.cached_tokens);
  const reasoning = amount(told.output_tokens_details?.reasoning_tokens);
  return {
    input_tokens,
    output_tokens,
    total_tokens,
    ...(cached > 0 ? { cached_tokens: cached } : {}),
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {}),
    ...(price === undefined ? {} : { cost: costOf(input_tokens, cached, output_tokens, price) }),
    ...(told.estimated === true ? { estimated: true } : {}),
  };
}

export function addUsage(one: Usage, other: Usage): Usage {
  const sum = (name: "cached_tokens" | "reasoning_tokens" | "cost"): Partial<Usage> => {
    const [a, b] = [one[name], other[name]];
    return a === undefined && b === undefined ? {} : { [name]: rounded((a ?? 0) + (b ?? 0)) };
  };
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
    ...sum("cached_tokens"),
    ...sum("reasoning_tokens"),
    ...sum("cost"),
    ...(one.estimated === true || other.estimated === true ? { estimated: true } : {}),
  };
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

function costOf(input: number, cached: number, output: number, price: Price): number {
  const fresh = Math.max(0, input - cached);
  return rounded(
    (fresh * price.input + cached * (price.cached ?? price.input) + output * price.output) / 1e6,
  );
}

/** Nobody pays for less than a billionth, and 0.1 and 0.2 are 0.3. */
function rounded(amountOfMoney: number): number {
  return Math.round(amountOfMoney * 1e9) / 1e9;
}
