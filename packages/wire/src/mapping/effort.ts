import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";

/** From the least to the most; clients and servers know different parts of it. */
export const effortLadder: readonly string[] = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

/** The effort in a word that the upstream knows: the nearest one, of two equally near ones the higher. */
export function knownEffort(
  asked: string | undefined,
  { efforts }: Pick<Profile, "efforts">,
  repairs: Repairs,
): string | undefined {
  if (!asked || efforts === "any" || efforts.includes(asked)) return asked;
  const nearest = effortLadder.includes(asked)
    ? nearestOf(efforts, effortLadder.indexOf(asked))
    : undefined;
  if (nearest === undefined) repairs.add("parameter_dropped", `reasoning.effort: ${asked}`);
  else repairs.add("parameter_changed", `reasoning.effort: ${asked} -> ${nearest}`);
  return nearest;
}

function nearestOf(efforts: readonly string[], place: number): string | undefined {
  let nearest: string | undefined;
  let distance = Infinity;
  for (const [at, word] of effortLadder.entries()) {
    if (!efforts.includes(word) || Math.abs(at - place) > distance) continue;
    nearest = word;
    distance = Math.abs(at - place);
  }
  return nearest;
}
