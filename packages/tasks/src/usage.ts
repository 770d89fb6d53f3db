import type { Usage } from "./items.ts";

export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

export function addUsage(one: Usage, other: Usage): Usage {
  const sum = (name: "cached_tokens" | "reasoning_tokens" | "cost"): Partial<Usage> => {
    const [a, b] = [one[name], other[name]];
    return a === undefined && b === undefined ? {} : { [name]: roundedCost((a ?? 0) + (b ?? 0)) };
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

/** What is left of a sum without one of its parts. */
export function subtractUsage(sum: Usage, part: Usage): Usage {
  const left = { ...sum };
  for (const name of usageAmounts) {
    const amount = sum[name];
    if (amount !== undefined) left[name] = Math.max(0, roundedCost(amount - (part[name] ?? 0)));
  }
  return left;
}

/** Those of its fields that are summed up, and never fall. */
export const usageAmounts = [
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost",
] as const;

/** Nobody pays for less than a billionth, and 0.1 and 0.2 are 0.3. */
export function roundedCost(amountOfMoney: number): number {
  return Math.round(amountOfMoney * 1e9) / 1e9;
}
