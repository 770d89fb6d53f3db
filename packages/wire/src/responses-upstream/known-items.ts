import { isDeepEqual, nonEmptyString, type JsonObject } from "../json.ts";
import { objectOf } from "./terminal.ts";
import type { ToldItem } from "./terminal-match.ts";

/** An item as far as its events have told of it. */
export interface KnownItem extends ToldItem {
  /** `withheld`: its end has been told, and the client must not hear of it. */
  state: "open" | "done" | "withheld";
  /** The item as it was told last; undefined where only deltas have come. */
  item: JsonObject | undefined;
}

/** No response has more items than this; a larger index is noise. */
const indexLimit = 1_000_000_000;

/**
 * Which item an event is about: the one under its output_index, unless it names another by its id. Some servers change
 * an item's id between events, some use one index for several items, and some send no index at all.
 */
export class KnownItems<Item extends KnownItem> {
  /** The latest item under each index. */
  readonly #byIndex = new Map<number, Item>();
  readonly #byId = new Map<string, Item>();
  /** Whether an index has had two items; until then, no id has to be looked at. */
  #isShared = false;

  /** The item that a delta, or the end of a part, belongs to. */
  of(event: JsonObject): Item | undefined {
    const index = indexIn(event);
    const under = index === undefined ? undefined : this.#byIndex.get(index);
    if (under !== undefined && !this.#isShared) return under;
    const id = idIn(event);
    if (id === undefined || under?.id === id) return under;
    return this.#byId.get(id) ?? under;
  }

  /** The item whose beginning or end is told; undefined for one that nothing has told of yet. */
  told(event: JsonObject): Item | undefined {
    const index = indexIn(event);
    const id = idIn(event);
    const named = id === undefined ? undefined : this.#byId.get(id);
    if (index === undefined) return named;
    const under = this.#byIndex.get(index);
    if (under === undefined) return begins(event) || named?.state !== "open" ? undefined : named;
    if (under === named || (id !== undefined && under.id === id)) return under;
    return named ?? (isAnother(under, event) ? undefined : under);
  }

  /** From now on, events with this index or this id are about the item. */
  add(event: JsonObject, item: Item): void {
    const index = indexIn(event);
    if (index !== undefined) {
      this.#isShared ||= this.#byIndex.has(index);
      this.#byIndex.set(index, item);
    }
    this.learn(item, idIn(event));
  }

  learn(item: Item, id: string | undefined): void {
    if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, item);
  }
}

/** A missing index is not 0. */
export function indexIn(event: JsonObject): number | undefined {
  const index = event["output_index"];
  return typeof index === "number" && index >= 0 && index < indexLimit && Number.isInteger(index)
    ? index
    : undefined;
}

export function idIn(event: JsonObject): string | undefined {
  return nonEmptyString(event["item_id"]) ?? nonEmptyString(objectOf(event["item"])["id"]);
}

/** Whether an event tells of another item than the one that came in its place before, the ids being no help. */
export function isAnother(known: KnownItem, event: JsonObject): boolean {
  const item = objectOf(event["item"]);
  const differs = (one: string | undefined, other: string | undefined) =>
    one !== undefined && other !== undefined && one !== other;
  if (differs(known.type, nonEmptyString(item["type"]))) return true;
  if (differs(known.callId, nonEmptyString(item["call_id"]))) return true;
  const over = known.state !== "open";
  if (begins(event)) return over || differs(known.id, nonEmptyString(item["id"]));
  // An end under another id is the end of what is open; a second end may be the same one told twice.
  return over && !isDeepEqual(wordsOf(known.item), wordsOf(item));
}

function begins(event: JsonObject): boolean {
  return event["type"] === "response.output_item.added";
}

function wordsOf(item: JsonObject | undefined): JsonObject {
  const { id: _id, status: _status, ...rest } = item ?? {};
  return rest;
}
