import { nonEmptyString, type JsonObject } from "../json.ts";
import { getOutputIndex, ItemIndex, type StreamedItem } from "../responses-upstream/item-index.ts";

/** An item that is forwarded on the same wire. */
export interface PassthroughItem extends StreamedItem {
  /** Index in the output: the upstream's, or a free one if two items share an index. */
  readonly index: number;
  item: JsonObject;
  /** The joined deltas by event type. */
  readonly deltaTexts: Map<string, string>;
}

/** The items of a response that is forwarded on the same wire, each with a unique index. */
export class PassthroughItems extends ItemIndex<PassthroughItem> {
  readonly #items = new Map<number, PassthroughItem>();
  #nextFreeIndex = 0;
  /** True if the index of an item differs from the upstream's: then its events must be rewritten. */
  hasMovedItems = false;

  get sortedItems(): PassthroughItem[] {
    return [...this.#items.values()].toSorted((a, b) => a.index - b.index);
  }

  open(event: JsonObject, item: JsonObject): PassthroughItem {
    const requestedIndex = getOutputIndex(event);
    const index =
      requestedIndex === undefined || this.#items.has(requestedIndex)
        ? this.#nextFreeIndex
        : requestedIndex;
    this.#nextFreeIndex = Math.max(this.#nextFreeIndex, index + 1);
    if (requestedIndex !== undefined && requestedIndex !== index) this.hasMovedItems = true;
    const passthroughItem: PassthroughItem = {
      type: nonEmptyString(item["type"]),
      id: nonEmptyString(item["id"]),
      callId: nonEmptyString(item["call_id"]),
      index,
      item,
      deltaTexts: new Map(),
      state: "open",
    };
    this.#items.set(index, passthroughItem);
    this.add(event, passthroughItem);
    return passthroughItem;
  }
}
