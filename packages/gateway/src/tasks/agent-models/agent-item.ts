import type { MessageItem, ReasoningItem, ResponseEvent } from "@deltawire/wire";

/** An event to which the reply has yet to give its number. */
export type Unnumbered = ResponseEvent extends infer E
  ? E extends ResponseEvent
    ? Omit<E, "sequence_number">
    : never
  : never;

export type Put = (event: Unnumbered) => void;

interface Place {
  item_id: string;
  output_index: number;
}

/** The events of a part, its number `n` among the parts of its item. */
interface PartForm<Item> {
  opened(at: Place, n: number): Unnumbered;
  delta(at: Place, n: number, delta: string): Unnumbered;
  closed(at: Place, n: number, text: string): [Unnumbered, Unnumbered];
  added(item: Item, text: string): Item;
}

/** A message or a reasoning item of an agent's reply while it is said. */
export class SaidItem<Item extends MessageItem | ReasoningItem = MessageItem | ReasoningItem> {
  readonly index: number;
  item: Item;
  readonly #form: PartForm<Item>;
  readonly #put: Put;
  /** The part that is being said, by its number in the task, and what has been said of it. */
  #open: number | undefined;
  #text = "";
  #parts = 0;

  constructor(index: number, item: Item, form: PartForm<Item>, put: Put) {
    this.index = index;
    this.item = item;
    this.#form = form;
    this.#put = put;
    put({ type: "response.output_item.added", output_index: index, item });
  }

  say(part: number, delta: string): void {
    if (this.#open !== part) {
      this.#open = part;
      this.#text = "";
      this.#put(this.#form.opened(this.#place, this.#parts));
    }
    if (delta === "") return;
    this.#text += delta;
    this.#put(this.#form.delta(this.#place, this.#parts, delta));
  }

  /** Also what was never begun: a short text comes whole. */
  closePart(part: number, text: string): void {
    if (this.#open !== part) this.say(part, text);
    this.#open = undefined;
    this.#form.closed(this.#place, this.#parts, text).forEach(this.#put);
    this.item = this.#form.added(this.item, text);
    this.#parts += 1;
  }

  close(status: "completed" | "incomplete"): Item {
    if (this.#open !== undefined) this.closePart(this.#open, this.#text);
    this.item = { ...this.item, status };
    this.#put({
      type: "response.output_item.done",
      output_index: this.index,
      item: this.item,
    });
    return this.item;
  }

  get #place(): Place {
    return { item_id: this.item.id, output_index: this.index };
  }
}

const textPart = (text: string) => ({
  type: "output_text" as const,
  text,
  annotations: [],
  logprobs: [],
});
const rawPart = (text: string) => ({ type: "reasoning_text" as const, text });
const summaryPart = (text: string) => ({ type: "summary_text" as const, text });

export const messageText: PartForm<MessageItem> = {
  opened: (at, n) => ({
    type: "response.content_part.added",
    ...at,
    content_index: n,
    part: textPart(""),
  }),
  delta: (at, n, delta) => ({
    type: "response.output_text.delta",
    ...at,
    content_index: n,
    delta,
    logprobs: [],
  }),
  closed: (at, n, text) => [
    { type: "response.output_text.done", ...at, content_index: n, text, logprobs: [] },
    { type: "response.content_part.done", ...at, content_index: n, part: textPart(text) },
  ],
  added: (item, text) => ({ ...item, content: [...item.content, textPart(text)] }),
};

export const summary: PartForm<ReasoningItem> = {
  opened: (at, n) => ({
    type: "response.reasoning_summary_part.added",
    ...at,
    summary_index: n,
    part: summaryPart(""),
  }),
  delta: (at, n, delta) => ({
    type: "response.reasoning_summary_text.delta",
    ...at,
    summary_index: n,
    delta,
  }),
  closed: (at, n, text) => [
    { type: "response.reasoning_summary_text.done", ...at, summary_index: n, text },
    {
      type: "response.reasoning_summary_part.done",
      ...at,
      summary_index: n,
      part: summaryPart(text),
    },
  ],
  added: (item, text) => ({ ...item, summary: [...item.summary, summaryPart(text)] }),
};

export const rawReasoning: PartForm<ReasoningItem> = {
  opened: (at, n) => ({
    type: "response.content_part.added",
    ...at,
    content_index: n,
    part: rawPart(""),
  }),
  delta: (at, n, delta) => ({
    type: "response.reasoning_text.delta",
    ...at,
    content_index: n,
    delta,
  }),
  closed: (at, n, text) => [
    { type: "response.reasoning_text.done", ...at, content_index: n, text },
    { type: "response.content_part.done", ...at, content_index: n, part: rawPart(text) },
  ],
  added: (item, text) => ({ ...item, content: [...(item.content ?? []), rawPart(text)] }),
};
