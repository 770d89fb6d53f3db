import { isObject, type JsonObject } from "@deltawire/wire";
import type { RelayPlan } from "./relay-plan.ts";

const limitNames = ["max_tokens", "max_completion_tokens", "max_output_tokens"] as const;

/** The part of the output tokens that a thinking budget may use, which must be lower than `max_tokens`. */
const maxBudgetShare = 0.8;

/** Lowers the output token limit of a request to that of the model, and counts the repair. */
export function limitOutputTokens(plan: RelayPlan, limit: number): RelayPlan {
  let body: JsonObject = plan.body;
  for (const name of limitNames) {
    const requested = body[name];
    if (typeof requested !== "number" || requested <= limit) continue;
    plan.repairs.add("parameter_changed", `${name}: ${requested} -> ${limit}`);
    body = { ...body, [name]: limit };
  }
  if (body === plan.body) return plan;
  return { ...plan, body: limitThinkingBudget(body, limit) };
}

function limitThinkingBudget(body: JsonObject, limit: number): JsonObject {
  const { thinking } = body;
  if (!isObject(thinking) || typeof thinking["budget_tokens"] !== "number") return body;
  if (thinking["budget_tokens"] < limit) return body;
  return {
    ...body,
    thinking: { ...thinking, budget_tokens: Math.floor(limit * maxBudgetShare) },
  };
}
