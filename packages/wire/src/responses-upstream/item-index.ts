import { isDeepEqual, nonEmptyString, type JsonObject } from "../json.ts";
import { asObject } from "./terminal-event.ts";
import type { ItemIdentity } from "./match-terminal-items.ts";

/** The state of an item according to its events so far. */
export interface StreamedItem extends ItemIdentity {
  /** `withheld`: the item has ended, but its `done` event is not sent to the client. */
  state: "open" | "done" | "withheld";
  /** The item object of the latest event; undefined if only deltas arrived. */
  item: JsonObject | undefined;
}

/** Larger indexes are ignored: no response has so many items. */
const maxOutputIndex = 1_000_000_000;

/**
 * Finds the item of an event: by its output_index, unless its id names another item. Some servers change an item's id
 * between events, some use one index for several items, and some send no index.
 */
export class ItemIndex<Item extends StreamedItem> {
  /** The latest item of each index. */
  readonly #byIndex = new Map<number, Item>();
  readonly #byId = new Map<string, Item>();
  /** True if two items share an index. Until then ids need no comparison. */
  #hasSharedIndex = false;

  /** Returns the item of a delta, or of the end of a part. */
  findByDelta(event: JsonObject): Item | undefined {
    const index = getOutputIndex(event);
    const atIndex = index === undefined ? undefined : this.#byIndex.get(index);
    if (atIndex !== undefined && !this.#hasSharedIndex) return atIndex;
    const id = getItemId(event);
    if (id === undefined || atIndex?.id === id) return atIndex;
    return this.#byId.get(id) ?? atIndex;
  }

  /** Returns the item of an added or done event; undefined for a new item. */
  findByItemEvent(event: JsonObject): Item | undefined {
    const index = getOutputIndex(event);
    const id = getItemId(event);
    const withId = id === undefined ? undefined : this.#byId.get(id);
    if (index === undefined) return withId;
    const atIndex = this.#byIndex.get(index);
    if (atIndex === undefined)
      return isItemAddedEvent(event) || withId?.state !== "open" ? undefined : withId;
    if (atIndex === withId || (id !== undefined && atIndex.id === id)) return atIndex;
    return withId ?? (isDifferentItem(atIndex, event) ? undefined : atIndex);
  }

  /** Registers the item under the index and id of the event. */
  add(event: JsonObject, item: Item): void {
    const index = getOutputIndex(event);
    if (index !== undefined) {
      this.#hasSharedIndex ||= this.#byIndex.has(index);
      this.#byIndex.set(index, item);
    }
    this.addId(item, getItemId(event));
  }

  addId(item: Item, id: string | undefined): void {
    if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, item);
  }
}

/** Returns undefined for a missing index, not 0. */
export function getOutputIndex(event: JsonObject): number | undefined {
  const index = event["output_index"];
  return typeof index === "number" &&
    index >= 0 &&
    index < maxOutputIndex &&
    Number.isInteger(index)
    ? index
    : undefined;
}

export function getItemId(event: JsonObject): string | undefined {
  return nonEmptyString(event["item_id"]) ?? nonEmptyString(asObject(event["item"])["id"]);
}

/** True if an event belongs to another item than `streamed`, an earlier item with the same index or without one. */
export function isDifferentItem(streamed: StreamedItem, event: JsonObject): boolean {
  const item = asObject(event["item"]);
  const differs = (a: string | undefined, b: string | undefined) =>
    a !== undefined && b !== undefined && a !== b;
  if (differs(streamed.type, nonEmptyString(item["type"]))) return true;
  if (differs(streamed.callId, nonEmptyString(item["call_id"]))) return true;
  const hasEnded = streamed.state !== "open";
  if (isItemAddedEvent(event)) return hasEnded || differs(streamed.id, nonEmptyString(item["id"]));
  // A done event with another id still ends the open item; a second done event may be a repetition.
  return hasEnded && !isDeepEqual(withoutIdAndStatus(streamed.item), withoutIdAndStatus(item));
}

function isItemAddedEvent(event: JsonObject): boolean {
  return event["type"] === "response.output_item.added";
}

function withoutIdAndStatus(item: JsonObject | undefined): JsonObject {
  const { id: _id, status: _status, ...rest } = item ?? {};
  return rest;
}
