import type { StoreErrorCode } from "@deltawire/tasks";
import { Problem, type ProblemCode } from "../http/problem.ts";

/** What the runtime or the store refused, as a client is told of it; anything else stays as it is. */
export function taskProblem(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Problem) return error;
  const { code } = error as { code?: unknown };
  const refusal = typeof code === "string" ? refusals.get(code) : undefined;
  if (refusal !== undefined)
    return new Problem(refusal.code, error.message, { param: refusal.param, cause: error });
  if (storeCodes.some((each) => each === code))
    return new Problem("store_unavailable", error.message, { cause: error });
  return error;
}

const refusals = new Map<string, { code: ProblemCode; param?: string }>([
  ["unknown_agent", { code: "unknown_agent", param: "agent" }],
  ["unknown_model", { code: "model_not_found", param: "model" }],
  ["closed", { code: "shutting_down" }],
  ["unknown_tool_group", { code: "unknown_tool_group", param: "tool_groups" }],
]);

const storeCodes: readonly StoreErrorCode[] = [
  "store_locked",
  "store_full",
  "store_corrupt",
  "store_newer",
  "store_unreachable",
  "store_failed",
];
