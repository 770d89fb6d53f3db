import { nonEmptyString, type JsonObject } from "../json.ts";
import { objectOf } from "./terminal.ts";
import type { ToldItem } from "./terminal-match.ts";

/** An item on its way. Items are known by their output_index: some servers change an item's id between events. */
export interface PassingItem extends ToldItem {
  /** As the assembler knows it, if it is a call. */
  call: { index: number; kind: "function" | "custom" } | undefined;
  /** How many of its annotations have gone out. */
  annotations: number;
  /** What has gone out of each of its texts, by kind and index. */
  sent: Map<string, string>;
  done: boolean;
}

/** The items of one response, as its events tell of them. */
export class PassingItems {
  readonly #items = new Map<number | string, PassingItem>();
  #last: PassingItem | undefined;

  get all(): PassingItem[] {
    return [...this.#items.values()];
  }

  /** The item that an event belongs to: by its output_index, else by its id. A missing index is not 0. */
  of(event: JsonObject): PassingItem {
    const index = event["output_index"];
    const id = nonEmptyString(event["item_id"]) ?? nonEmptyString(objectOf(event["item"])["id"]);
    if (!Number.isInteger(index) && id === undefined) return this.#last ?? this.add();
    const key = Number.isInteger(index) ? (index as number) : `id ${id ?? ""}`;
    const known = this.#items.get(key);
    // An index that is used again, once the first item is done, is another item, unless it names the same id.
    const again =
      known?.done === true &&
      event["type"] === "response.output_item.added" &&
      (id === undefined || id !== known.id);
    if (known !== undefined && !again) return known;
    return this.add(key);
  }

  add(key: number | string = `terminal ${this.#items.size}`): PassingItem {
    const before = this.#items.get(key);
    if (before !== undefined) this.#items.set(`${key} before ${this.#items.size}`, before);
    const item: PassingItem = {
      type: undefined,
      id: undefined,
      callId: undefined,
      call: undefined,
      annotations: 0,
      sent: new Map(),
      done: false,
    };
    this.#items.set(key, item);
    this.#last = item;
    return item;
  }
}

/** What an event or the terminal event tells of an item; the first word counts. */
export function tell(passing: PassingItem, item: JsonObject): void {
  passing.type ??= nonEmptyString(item["type"]);
  passing.id ??= nonEmptyString(item["id"]);
  passing.callId ??= nonEmptyString(item["call_id"]);
}
