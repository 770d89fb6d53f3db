import type { ResponseOutputMessage, ResponseReasoningItem, ResponseEvent } from "@deltawire/wire";

/** An event before the reply assigns its sequence number. */
export type UnnumberedEvent = ResponseEvent extends infer E
  ? E extends ResponseEvent
    ? Omit<E, "sequence_number">
    : never
  : never;

export type EmitEvent = (event: UnnumberedEvent) => void;

interface ItemPosition {
  item_id: string;
  output_index: number;
}

/** Builds the events of a content or summary part. `partIndex` is its index in the item. */
interface PartEncoder<Item> {
  buildAdded(position: ItemPosition, partIndex: number): UnnumberedEvent;
  buildDelta(position: ItemPosition, partIndex: number, delta: string): UnnumberedEvent;
  buildDone(
    position: ItemPosition,
    partIndex: number,
    text: string,
  ): [UnnumberedEvent, UnnumberedEvent];
  appendPart(item: Item, text: string): Item;
}

/** A message or reasoning item of an agent's reply while it is streamed. */
export class AgentItemStream<
  Item extends ResponseOutputMessage | ResponseReasoningItem =
    | ResponseOutputMessage
    | ResponseReasoningItem,
> {
  readonly index: number;
  item: Item;
  readonly #encoder: PartEncoder<Item>;
  readonly #emit: EmitEvent;
  /** The task's index of the part that is being streamed. */
  #openPartIndex: number | undefined;
  /** The text of that part so far. */
  #text = "";
  /** Number of finished parts, which is the reply's index of the open part. */
  #partCount = 0;

  constructor(index: number, item: Item, encoder: PartEncoder<Item>, emit: EmitEvent) {
    this.index = index;
    this.item = item;
    this.#encoder = encoder;
    this.#emit = emit;
    emit({ type: "response.output_item.added", output_index: index, item });
  }

  /** `taskPartIndex`: the index of the part in the task, which may count parts that are not sent. */
  pushDelta(taskPartIndex: number, delta: string): void {
    if (this.#openPartIndex !== taskPartIndex) {
      this.#openPartIndex = taskPartIndex;
      this.#text = "";
      this.#emit(this.#encoder.buildAdded(this.#position, this.#partCount));
    }
    if (delta === "") return;
    this.#text += delta;
    this.#emit(this.#encoder.buildDelta(this.#position, this.#partCount, delta));
  }

  /** Opens the part first if necessary: short text has no deltas. */
  closePart(taskPartIndex: number, text: string): void {
    if (this.#openPartIndex !== taskPartIndex) this.pushDelta(taskPartIndex, text);
    this.#openPartIndex = undefined;
    this.#encoder.buildDone(this.#position, this.#partCount, text).forEach(this.#emit);
    this.item = this.#encoder.appendPart(this.item, text);
    this.#partCount += 1;
  }

  close(status: "completed" | "incomplete"): Item {
    if (this.#openPartIndex !== undefined) this.closePart(this.#openPartIndex, this.#text);
    this.item = { ...this.item, status };
    this.#emit({
      type: "response.output_item.done",
      output_index: this.index,
      item: this.item,
    });
    return this.item;
  }

  get #position(): ItemPosition {
    return { item_id: this.item.id, output_index: this.index };
  }
}

const buildTextPart = (text: string) => ({
  type: "output_text" as const,
  text,
  annotations: [],
  logprobs: [],
});
const buildReasoningTextPart = (text: string) => ({ type: "reasoning_text" as const, text });
const buildSummaryPart = (text: string) => ({ type: "summary_text" as const, text });

export const messagePartEncoder: PartEncoder<ResponseOutputMessage> = {
  buildAdded: (position, partIndex) => ({
    type: "response.content_part.added",
    ...position,
    content_index: partIndex,
    part: buildTextPart(""),
  }),
  buildDelta: (position, partIndex, delta) => ({
    type: "response.output_text.delta",
    ...position,
    content_index: partIndex,
    delta,
    logprobs: [],
  }),
  buildDone: (position, partIndex, text) => [
    {
      type: "response.output_text.done",
      ...position,
      content_index: partIndex,
      text,
      logprobs: [],
    },
    {
      type: "response.content_part.done",
      ...position,
      content_index: partIndex,
      part: buildTextPart(text),
    },
  ],
  appendPart: (item, text) => ({ ...item, content: [...item.content, buildTextPart(text)] }),
};

export const summaryPartEncoder: PartEncoder<ResponseReasoningItem> = {
  buildAdded: (position, partIndex) => ({
    type: "response.reasoning_summary_part.added",
    ...position,
    summary_index: partIndex,
    part: buildSummaryPart(""),
  }),
  buildDelta: (position, partIndex, delta) => ({
    type: "response.reasoning_summary_text.delta",
    ...position,
    summary_index: partIndex,
    delta,
  }),
  buildDone: (position, partIndex, text) => [
    { type: "response.reasoning_summary_text.done", ...position, summary_index: partIndex, text },
    {
      type: "response.reasoning_summary_part.done",
      ...position,
      summary_index: partIndex,
      part: buildSummaryPart(text),
    },
  ],
  appendPart: (item, text) => ({ ...item, summary: [...item.summary, buildSummaryPart(text)] }),
};

export const reasoningTextPartEncoder: PartEncoder<ResponseReasoningItem> = {
  buildAdded: (position, partIndex) => ({
    type: "response.content_part.added",
    ...position,
    content_index: partIndex,
    part: buildReasoningTextPart(""),
  }),
  buildDelta: (position, partIndex, delta) => ({
    type: "response.reasoning_text.delta",
    ...position,
    content_index: partIndex,
    delta,
  }),
  buildDone: (position, partIndex, text) => [
    { type: "response.reasoning_text.done", ...position, content_index: partIndex, text },
    {
      type: "response.content_part.done",
      ...position,
      content_index: partIndex,
      part: buildReasoningTextPart(text),
    },
  ],
  appendPart: (item, text) => ({
    ...item,
    content: [...(item.content ?? []), buildReasoningTextPart(text)],
  }),
};
