import { canonicalJson } from "./json.ts";
import { sha256 as ownSha256 } from "./sha256.ts";
import type { TaskView } from "./state.ts";

/** What `state_hash` has to be: whoever reduced the same events has the same view and so the same hash. */
export function stateHash(view: TaskView, sha256: (text: string) => string = ownSha256): string {
  return sha256(canonicalJson(view));
}
