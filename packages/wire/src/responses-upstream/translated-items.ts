import { nonEmptyString, type JsonObject } from "../json.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import {
  getItemId,
  getOutputIndex,
  isDifferentItem,
  ItemIndex,
  type StreamedItem,
} from "./item-index.ts";

/** An item that is translated to another wire. */
export interface TranslatedItem extends StreamedItem {
  /** The call of the assembler, if the item is a call. */
  call: { index: number; kind: "function" | "custom" } | undefined;
  /** Number of annotations sent. */
  sentAnnotations: number;
  /** The sent text of each part, by kind and index. */
  sentTexts: Map<string, string>;
  /** The form in which the reasoning was sent. The other form is ignored, because it would repeat the reasoning. */
  reasoningForm: "reasoning" | "summary" | undefined;
}

/** The items of one response, collected from its events. */
export class TranslatedItems {
  readonly #index = new ItemIndex<TranslatedItem>();
  readonly items: TranslatedItem[] = [];
  readonly #budget: ReplyBudget;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  /** Returns the item of a delta or of the end of a part; a new one if it was not announced. */
  getByDelta(event: JsonObject): TranslatedItem {
    return this.#index.findByDelta(event) ?? this.#findLatest(event) ?? this.#addItemFor(event);
  }

  /** Returns the item of an added or done event. */
  getByItemEvent(event: JsonObject): TranslatedItem {
    const latest = this.#findLatest(event);
    const continued = latest === undefined || isDifferentItem(latest, event) ? undefined : latest;
    return this.#index.findByItemEvent(event) ?? continued ?? this.#addItemFor(event);
  }

  addItem(): TranslatedItem {
    this.#budget.addItem();
    const item: TranslatedItem = {
      type: undefined,
      id: undefined,
      callId: undefined,
      item: undefined,
      call: undefined,
      sentAnnotations: 0,
      sentTexts: new Map(),
      reasoningForm: undefined,
      state: "open",
    };
    this.items.push(item);
    return item;
  }

  /** Updates an item from a later event. Its first type, id and call id are kept. */
  update(translatedItem: TranslatedItem, item: JsonObject): void {
    translatedItem.type ??= nonEmptyString(item["type"]);
    translatedItem.id ??= nonEmptyString(item["id"]);
    translatedItem.callId ??= nonEmptyString(item["call_id"]);
    translatedItem.item = item;
    this.#index.addId(translatedItem, nonEmptyString(item["id"]));
  }

  /** Returns the latest item for an event without index and id; undefined for other events. */
  #findLatest(event: JsonObject): TranslatedItem | undefined {
    const isIdentified = getOutputIndex(event) !== undefined || getItemId(event) !== undefined;
    return isIdentified ? undefined : this.items.at(-1);
  }

  #addItemFor(event: JsonObject): TranslatedItem {
    const item = this.addItem();
    this.#index.add(event, item);
    return item;
  }
}
