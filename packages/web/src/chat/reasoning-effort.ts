import type { JsonObject } from "@deltawire/tasks";
import type { ModelOptions } from "@deltawire/tasks/chats";

export function effortIn(options: ModelOptions | undefined): string | undefined {
  const { effort } = objectOr(options?.["reasoning"]);
  return typeof effort === "string" ? effort : undefined;
}

/** The options with another effort, or without one; null where nothing is left of them. */
export function withEffort(
  options: ModelOptions | undefined,
  effort: string | undefined,
): ModelOptions | null {
  const { reasoning, ...others } = options ?? {};
  const { effort: _before, ...rest } = objectOr(reasoning);
  const next = effort === undefined ? rest : { ...rest, effort };
  const all = Object.keys(next).length === 0 ? others : { ...others, reasoning: next };
  return Object.keys(all).length === 0 ? null : all;
}

function objectOr(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}
