import { isObject, nonEmptyString, type JsonObject } from "./json.ts";
import type { Repairs } from "./repairs.ts";
import type { InputItem } from "./shapes/responses-request.ts";

export interface MendHistoryOptions {
  /** Whether the upstream stored the items of earlier turns (`store: true`); then it may still find reasoning by id. */
  stored: boolean;
  /**
   * Returns an id for an item whose own must not be seen again; without it they lose theirs, which serves as well. The same
   * for the same `old`, so that a later request begins with the same bytes: prompt caches are by prefix.
   */
  newId?: (prefix: string, old: string) => string;
  /** The upstream has refused the history: then no item keeps an id whose reasoning is not there. */
  refused?: boolean;
  /** Sealed reasoning goes too: the upstream has said that it cannot open it. */
  dropSealed?: boolean;
  /** Whether a seal is not the upstream's: then its reasoning goes too. */
  isForeignSeal?: (encrypted: string) => boolean;
  repairs: Repairs;
}

/**
 * A Responses history that its upstream accepts (decision 18). OpenAI drops the reasoning of earlier turns and still
 * remembers which item belonged to it, so a history that has the one without the other is refused:
 *
 *     Item with id 'rs_…' not found.
 *     Item 'msg_…' of type 'message' was provided without its required 'reasoning' item: 'rs_…'.
 *
 * Reasoning without `encrypted_content` goes, except in the current turn of a stored history; what followed it gets
 * another id; reasoning that nothing follows goes too.
 */
export function mendHistory(input: readonly InputItem[], options: MendHistoryOptions): InputItem[] {
  const { stored, refused = false, repairs } = options;
  const turn = currentTurn(input);
  const leads = findLeadingReasoning(input);
  const mended: InputItem[] = [];
  const renewed = new Set<string>();
  /** Whether the reasoning of the reply that goes on has been kept; undefined where there was none. */
  let kept: boolean | undefined;
  input.forEach((item, at) => {
    if (item.type === "reasoning") {
      const sealed = nonEmptyString(item.encrypted_content);
      const usable =
        sealed === undefined ? stored && !refused && at > turn : canOpen(sealed, options);
      kept = usable && leads.has(at);
      if (kept) mended.push(item);
      else repairs.add("reasoning_dropped", nonEmptyString(item.id) ?? "");
      return;
    }
    if (item.type === "item_reference" && !stored)
      return repairs.add("item_skipped", `item_reference ${nonEmptyString(item["id"]) ?? ""}`);
    if (!isOutput(item) || item.type === "item_reference") {
      if (item.type !== "item_reference") kept = undefined;
      mended.push(item);
      return;
    }
    const orphaned = kept === false || (kept === undefined && (refused || at < turn));
    mended.push(orphaned ? withoutOldId(item, renewed, options) : item);
  });
  return mended;
}

/** Whether an upstream's error says that it will not take the history as it is: then mend it and ask again. */
export function refusesHistory(error: unknown): boolean {
  const fields = isObject(error) ? error : {};
  const inner = isObject(fields["error"]) ? fields["error"] : fields;
  const message = typeof error === "string" ? error : nonEmptyString(inner["message"]);
  return message !== undefined && refusals.some((refusal) => refusal.test(message));
}

const refusals = [
  /Item with id '?[\w-]+'? not found/,
  /was provided without its required '?reasoning'? item/,
  /of type '?reasoning'? was provided without its required following item/,
  /encrypted content .*could not be (?:verified|decrypted)/, // then with `dropSealed`
];

/** The index of the last thing a user said: what comes after it is the current turn. */
function currentTurn(input: readonly InputItem[]): number {
  return input.findLastIndex((item) => "role" in item && item["role"] === "user");
}

function canOpen(sealed: string, { dropSealed, isForeignSeal }: MendHistoryOptions): boolean {
  return dropSealed !== true && isForeignSeal?.(sealed) !== true;
}

/**
 * Returns the positions of reasoning that output follows, perhaps after further reasoning. Reads the input once, from its
 * end: a search from every item took 281 ms for 15,000 reasoning items in a row.
 */
function findLeadingReasoning(input: readonly InputItem[]): Set<number> {
  const positions = new Set<number>();
  let beforeOutput = false;
  for (let at = input.length - 1; at >= 0; at -= 1) {
    const item = input[at];
    if (item?.type !== "reasoning") beforeOutput = item !== undefined && isOutput(item);
    else if (beforeOutput) positions.add(at);
  }
  return positions;
}

/** Output that is no call by its name. */
const outputTypes = new Set([
  "program",
  "mcp_approval_request",
  "mcp_list_tools",
  "item_reference",
]);

/** What a model put out, as against what it was told. */
function isOutput(item: InputItem): boolean {
  if (item.type === "message" || !item.type) return "role" in item && item["role"] === "assistant";
  return item.type.endsWith("_call") || outputTypes.has(item.type);
}

function withoutOldId(
  item: InputItem,
  renewed: Set<string>,
  { newId, repairs }: MendHistoryOptions,
): InputItem {
  const { id, ...rest } = item as JsonObject;
  const old = nonEmptyString(id);
  if (old === undefined) return item;
  repairs.add("item_id_renewed", old);
  if (newId === undefined) return rest as InputItem;
  const prefix = old.split("_")[0] ?? "item";
  // A history may have an id twice.
  let from = old;
  for (let number = 2; renewed.has(from); number += 1) from = `${old}#${number}`;
  renewed.add(from);
  return { ...rest, id: newId(prefix, from) } as InputItem;
}
