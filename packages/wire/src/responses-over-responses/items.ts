import { nonEmptyString, type JsonObject } from "../json.ts";
import { indexIn, KnownItems, type KnownItem } from "../responses-upstream/known-items.ts";

/** An item that events have told of. */
export interface PassingItem extends KnownItem {
  /** Its place in the output: the upstream's index, or a free one where two items came under the same. */
  readonly index: number;
  item: JsonObject;
  /** What its deltas said, joined, by the type of the event. */
  readonly said: Map<string, string>;
}

/** The items of a response that passes to the same wire, each under an index of its own. */
export class PassingItems extends KnownItems<PassingItem> {
  readonly #items = new Map<number, PassingItem>();
  #nextFree = 0;
  /** Whether an item has another index than the upstream gives it: then all its events need that one. */
  areMoved = false;

  get inOrder(): PassingItem[] {
    return [...this.#items.values()].toSorted((a, b) => a.index - b.index);
  }

  open(event: JsonObject, item: JsonObject): PassingItem {
    const asked = indexIn(event);
    const index = asked === undefined || this.#items.has(asked) ? this.#nextFree : asked;
    this.#nextFree = Math.max(this.#nextFree, index + 1);
    if (asked !== undefined && asked !== index) this.areMoved = true;
    const passing: PassingItem = {
      type: nonEmptyString(item["type"]),
      id: nonEmptyString(item["id"]),
      callId: nonEmptyString(item["call_id"]),
      index,
      item,
      said: new Map(),
      state: "open",
    };
    this.#items.set(index, passing);
    this.add(event, passing);
    return passing;
  }
}
