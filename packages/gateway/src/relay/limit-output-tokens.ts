import { isObject, limitThinkingBudget, type JsonObject, type Repairs } from "@deltawire/wire";
import type { RelayPlan } from "./relay-plan.ts";

const limitNames = ["max_tokens", "max_completion_tokens", "max_output_tokens"] as const;

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
  return { ...plan, body: limitThinking(body, limit, plan.repairs) };
}

/** Lowers a thinking budget that is not below the limit, which servers reject. */
function limitThinking(body: JsonObject, limit: number, repairs: Repairs): JsonObject {
  const { thinking } = body;
  if (!isObject(thinking) || typeof thinking["budget_tokens"] !== "number") return body;
  const { budget_tokens: requested } = thinking;
  if (requested < limit) return body;
  const budget = limitThinkingBudget(requested, limit);
  repairs.add(
    "parameter_changed",
    `thinking.budget_tokens: ${requested} -> ${budget ?? "disabled"}`,
  );
  return {
    ...body,
    thinking: budget === undefined ? { type: "disabled" } : { ...thinking, budget_tokens: budget },
  };
}
