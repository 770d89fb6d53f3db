import type { LogNotes } from "../log-notes.ts";
import { RuleBroken } from "./rule-broken.ts";

/** Notes new ids; refuses all of them if one is not new. */
export function takeId(notes: LogNotes, ...ids: readonly string[]): void {
  for (const [at, id] of ids.entries())
    if (notes.ids.has(id) || ids.indexOf(id) !== at)
      throw new RuleBroken("unique_ids", `the id ${id} is in use`);
  for (const id of ids) notes.ids.add(id);
}
