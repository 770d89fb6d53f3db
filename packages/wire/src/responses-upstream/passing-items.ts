import { nonEmptyString, type JsonObject } from "../json.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import { idIn, indexIn, isAnother, KnownItems, type KnownItem } from "./known-items.ts";

/** An item on its way to another wire. */
export interface PassingItem extends KnownItem {
  /** As the assembler knows it, if it is a call. */
  call: { index: number; kind: "function" | "custom" } | undefined;
  /** How many of its annotations have gone out. */
  annotations: number;
  /** What has gone out of each of its texts, by kind and index. */
  sent: Map<string, string>;
  /** The form in which its reasoning has gone out; the other form would repeat it. */
  reasoningForm: "reasoning" | "summary" | undefined;
}

/** The items of one response, as its events tell of them. */
export class PassingItems {
  readonly #known = new KnownItems<PassingItem>();
  readonly all: PassingItem[] = [];
  readonly #budget: ReplyBudget;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  /** The item that a delta or the end of a part belongs to; a new one where nothing has announced it. */
  of(event: JsonObject): PassingItem {
    return this.#known.of(event) ?? this.#last(event) ?? this.#addFor(event);
  }

  /** The item whose beginning or end an event tells of. */
  told(event: JsonObject): PassingItem {
    const last = this.#last(event);
    const same = last === undefined || isAnother(last, event) ? undefined : last;
    return this.#known.told(event) ?? same ?? this.#addFor(event);
  }

  add(): PassingItem {
    this.#budget.addItem();
    const item: PassingItem = {
      type: undefined,
      id: undefined,
      callId: undefined,
      item: undefined,
      call: undefined,
      annotations: 0,
      sent: new Map(),
      reasoningForm: undefined,
      state: "open",
    };
    this.all.push(item);
    return item;
  }

  /** What an event or the terminal event tells of an item; the first word counts. */
  tell(passing: PassingItem, item: JsonObject): void {
    passing.type ??= nonEmptyString(item["type"]);
    passing.id ??= nonEmptyString(item["id"]);
    passing.callId ??= nonEmptyString(item["call_id"]);
    passing.item = item;
    this.#known.learn(passing, nonEmptyString(item["id"]));
  }

  /** What an event without index and id goes on with. */
  #last(event: JsonObject): PassingItem | undefined {
    const named = indexIn(event) !== undefined || idIn(event) !== undefined;
    return named ? undefined : this.all.at(-1);
  }

  #addFor(event: JsonObject): PassingItem {
    const item = this.add();
    this.#known.add(event, item);
    return item;
  }
}
