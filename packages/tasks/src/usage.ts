import type { Usage } from "./items.ts";

export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

export function addUsage(first: Usage, second: Usage): Usage {
  const sum = (name: "cached_tokens" | "reasoning_tokens" | "cost"): Partial<Usage> => {
    const [a, b] = [first[name], second[name]];
    return a === undefined && b === undefined ? {} : { [name]: roundCost((a ?? 0) + (b ?? 0)) };
  };
  return {
    input_tokens: first.input_tokens + second.input_tokens,
    output_tokens: first.output_tokens + second.output_tokens,
    total_tokens: first.total_tokens + second.total_tokens,
    ...sum("cached_tokens"),
    ...sum("reasoning_tokens"),
    ...sum("cost"),
    ...(first.estimated === true || second.estimated === true ? { estimated: true } : {}),
  };
}

/** Subtracts a part from a sum. No field becomes negative. */
export function subtractUsage(sum: Usage, part: Usage): Usage {
  const difference = { ...sum };
  for (const name of usageFields) {
    const amount = sum[name];
    if (amount !== undefined) difference[name] = Math.max(0, roundCost(amount - (part[name] ?? 0)));
  }
  return difference;
}

/** The numeric fields, which never decrease during a task. */
export const usageFields = [
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost",
] as const;

/** Rounds to a billionth, so that 0.1 + 0.2 is 0.3. */
export function roundCost(cost: number): number {
  return Math.round(cost * 1e9) / 1e9;
}
