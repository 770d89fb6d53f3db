import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";

/** From the least to the most; clients and servers know different parts of it. */
const ladder = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The effort in a word that the upstream knows: the nearest one, of two equally near ones the higher. */
export function knownEffort(
  asked: string | undefined,
  { efforts }: Profile,
  repairs: Repairs,
): string | undefined {
  if (!asked || efforts === "any" || efforts.includes(asked)) return asked;
  const place = ladder.indexOf(asked);
  let nearest: string | undefined;
  for (const word of place < 0 ? [] : efforts)
    if (nearest === undefined || distance(word) <= distance(nearest)) nearest = word;
  if (nearest === undefined) repairs.add("parameter_dropped", `reasoning.effort: ${asked}`);
  else repairs.add("parameter_changed", `reasoning.effort: ${asked} -> ${nearest}`);
  return nearest;

  function distance(word: string): number {
    return Math.abs(ladder.indexOf(word) - place);
  }
}
