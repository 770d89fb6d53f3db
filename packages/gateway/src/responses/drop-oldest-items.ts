import type { ResponseInputItem } from "@deltawire/wire";
import { getCallId, isInstruction } from "../history/item-kinds.ts";

/** Share of the items that is dropped at once. */
const droppedShare = 1 / 4;

/**
 * Returns the items without the oldest quarter. Instructions at the beginning and the last item stay. A call and its result are
 * dropped together. Returns the same array if nothing can be dropped.
 */
export function dropOldestItems(items: readonly ResponseInputItem[]): readonly ResponseInputItem[] {
  const firstOther = items.findIndex((item) => !isInstruction(item));
  if (firstOther < 0) return items;
  const rest = items.slice(firstOther);
  const count = Math.min(rest.length - 1, Math.ceil(rest.length * droppedShare));
  if (count <= 0) return items;
  const remaining = rest.slice(count);
  const droppedCalls = new Set(rest.slice(0, count).flatMap((item) => getCallId(item) ?? []));
  return [
    ...items.slice(0, firstOther),
    ...remaining.filter((item) => !droppedCalls.has(getCallId(item) ?? "")),
  ];
}
