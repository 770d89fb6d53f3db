import { canonicalJson } from "./json.ts";
import { sha256 as defaultSha256 } from "./sha256.ts";
import type { TaskView } from "./state.ts";

/** Computes `state_hash`: clients that reduced the same events have the same view, and therefore the same hash. */
export function computeStateHash(
  view: TaskView,
  sha256: (text: string) => string = defaultSha256,
): string {
  return sha256(canonicalJson(view));
}
