import { isObject, nonEmptyString, type JsonObject } from "./json.ts";
import type { Repairs } from "./repairs.ts";
import type { ResponseInputItem } from "./shapes/responses-request.ts";

export interface RepairHistoryOptions {
  /** True if the upstream stored the items of earlier turns (`store: true`) and may still find reasoning by id. */
  stored: boolean;
  /**
   * Returns a new id for an item whose id must not be sent. It must return the same id for the same `oldId`, because
   * prompt caches match the start of a request byte by byte. Default: the id is removed, which upstreams accept too.
   */
  newId?: (prefix: string, oldId: string) => string;
  /** True if the upstream rejected the history: then every item without its reasoning gets a new id. Default false. */
  wasRejected?: boolean;
  /** True to drop sealed reasoning too, because the upstream cannot decrypt it. Default false. */
  dropSealed?: boolean;
  /** True if another upstream sealed this `encrypted_content`, which is then dropped. Default: false for all. */
  isForeignSeal?: (encrypted: string) => boolean;
  repairs: Repairs;
}

/**
 * Changes a Responses history so that the upstream accepts it (decision 18). OpenAI deletes the reasoning of earlier turns but
 * remembers which item belonged to it, and rejects a history that has the item without the reasoning or the reverse:
 *
 *     Item with id 'rs_…' not found.
 *     Item 'msg_…' of type 'message' was provided without its required 'reasoning' item: 'rs_…'.
 *
 * Reasoning without `encrypted_content` is dropped, except in the current turn of a stored history, and the items after it
 * get new ids. Reasoning that is not followed by an output item is dropped too.
 */
export function repairHistory(
  input: readonly ResponseInputItem[],
  options: RepairHistoryOptions,
): ResponseInputItem[] {
  const { stored, wasRejected = false, repairs } = options;
  const turnStart = findCurrentTurnStart(input);
  const leadingReasoning = findLeadingReasoning(input);
  const repaired: ResponseInputItem[] = [];
  const usedIds = new Set<string>();
  /** True if the reasoning before the current output items is sent, false if it is dropped; undefined if there is none. */
  let isReasoningSent: boolean | undefined;
  input.forEach((item, index) => {
    if (item.type === "reasoning") {
      const sealed = nonEmptyString(item.encrypted_content);
      const isUsable =
        sealed === undefined
          ? stored && !wasRejected && index > turnStart
          : canUnseal(sealed, options);
      isReasoningSent = isUsable && leadingReasoning.has(index);
      if (isReasoningSent) repaired.push(item);
      else repairs.add("reasoning_dropped", nonEmptyString(item.id) ?? "");
      return;
    }
    if (item.type === "item_reference" && !stored)
      return repairs.add("item_skipped", `item_reference ${nonEmptyString(item["id"]) ?? ""}`);
    if (!isOutputItem(item) || item.type === "item_reference") {
      if (item.type !== "item_reference") isReasoningSent = undefined;
      repaired.push(item);
      return;
    }
    const isOrphaned =
      isReasoningSent === false ||
      (isReasoningSent === undefined && (wasRejected || index < turnStart));
    repaired.push(isOrphaned ? replaceItemId(item, usedIds, options) : item);
  });
  return repaired;
}

/** True if an upstream's error rejects the history: then repair the history with `wasRejected` and send it again. */
export function isHistoryRejection(error: unknown): boolean {
  const fields = isObject(error) ? error : {};
  const inner = isObject(fields["error"]) ? fields["error"] : fields;
  const message = typeof error === "string" ? error : nonEmptyString(inner["message"]);
  return message !== undefined && historyRejectionPatterns.some((pattern) => pattern.test(message));
}

const historyRejectionPatterns = [
  /Item with id '?[\w-]+'? not found/,
  /was provided without its required '?reasoning'? item/,
  /of type '?reasoning'? was provided without its required following item/,
  /encrypted content .*could not be (?:verified|decrypted)/, // needs `dropSealed`
];

/** Returns the index of the last user message, or -1. Items after it are the current turn. */
function findCurrentTurnStart(input: readonly ResponseInputItem[]): number {
  return input.findLastIndex((item) => "role" in item && item["role"] === "user");
}

function canUnseal(sealed: string, { dropSealed, isForeignSeal }: RepairHistoryOptions): boolean {
  return dropSealed !== true && isForeignSeal?.(sealed) !== true;
}

/**
 * Returns the positions of reasoning items that are followed by output, directly or after more reasoning. One pass from the
 * end: a search from every item took 281 ms for 15,000 consecutive reasoning items.
 */
function findLeadingReasoning(input: readonly ResponseInputItem[]): Set<number> {
  const positions = new Set<number>();
  let beforeOutput = false;
  for (let index = input.length - 1; index >= 0; index -= 1) {
    const item = input[index];
    if (item?.type !== "reasoning") beforeOutput = item !== undefined && isOutputItem(item);
    else if (beforeOutput) positions.add(index);
  }
  return positions;
}

/** Types of output items that do not end in `_call`. */
const outputTypes = new Set([
  "program",
  "mcp_approval_request",
  "mcp_list_tools",
  "item_reference",
]);

/** True for items that a model generated, as opposed to input. */
function isOutputItem(item: ResponseInputItem): boolean {
  if (item.type === "message" || !item.type) return "role" in item && item["role"] === "assistant";
  return item.type.endsWith("_call") || outputTypes.has(item.type);
}

function replaceItemId(
  item: ResponseInputItem,
  usedIds: Set<string>,
  { newId, repairs }: RepairHistoryOptions,
): ResponseInputItem {
  const { id, ...rest } = item as JsonObject;
  const oldId = nonEmptyString(id);
  if (oldId === undefined) return item;
  repairs.add("item_id_renewed", oldId);
  if (newId === undefined) return rest as ResponseInputItem;
  const prefix = oldId.split("_")[0] ?? "item";
  // A history may contain the same id more than once.
  let uniqueId = oldId;
  for (let number = 2; usedIds.has(uniqueId); number += 1) uniqueId = `${oldId}#${number}`;
  usedIds.add(uniqueId);
  return { ...rest, id: newId(prefix, uniqueId) } as ResponseInputItem;
}
