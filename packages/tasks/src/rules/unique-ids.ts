import type { ValidatorState } from "../validator-state.ts";
import { RuleViolationError } from "./rule-violation.ts";

/** Registers new ids. If one is in use, throws and registers none of them. */
export function claimIds(state: ValidatorState, ...ids: readonly string[]): void {
  for (const [index, id] of ids.entries())
    if (state.ids.has(id) || ids.indexOf(id) !== index)
      throw new RuleViolationError("unique_ids", `the id ${id} is already in use`);
  for (const id of ids) state.ids.add(id);
}
