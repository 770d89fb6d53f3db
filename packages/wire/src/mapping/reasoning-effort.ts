import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";

/** From lowest to highest. Clients and servers each support a subset. */
export const reasoningEfforts: readonly string[] = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

/**
 * Returns the nearest effort that the upstream supports; if two are equally near, the higher one. Undefined for an unknown
 * effort that the upstream does not support.
 */
export function toSupportedEffort(
  requested: string | undefined,
  { efforts }: Pick<UpstreamProfile, "efforts">,
  repairs: Repairs,
): string | undefined {
  if (!requested || efforts === "any" || efforts.includes(requested)) return requested;
  const nearest = reasoningEfforts.includes(requested)
    ? findNearestEffort(efforts, reasoningEfforts.indexOf(requested))
    : undefined;
  if (nearest === undefined) repairs.add("parameter_dropped", `reasoning.effort: ${requested}`);
  else repairs.add("parameter_changed", `reasoning.effort: ${requested} -> ${nearest}`);
  return nearest;
}

function findNearestEffort(efforts: readonly string[], position: number): string | undefined {
  let nearest: string | undefined;
  let distance = Infinity;
  for (const [index, effort] of reasoningEfforts.entries()) {
    if (!efforts.includes(effort) || Math.abs(index - position) > distance) continue;
    nearest = effort;
    distance = Math.abs(index - position);
  }
  return nearest;
}
