import type { ResponseOutputItem, ResponseEvent } from "../shapes/responses-reply.ts";

/** Numbers the events and items of one response, and collects the finished items. */
export class ResponseOutputWriter {
  readonly #items: ResponseOutputItem[] = [];
  #nextNumber = 0;
  #itemCount = 0;

  /** The finished items in order, without withheld ones. */
  get finishedItems(): ResponseOutputItem[] {
    return this.#items.filter((item) => item !== undefined);
  }

  nextSequenceField(): { sequence_number: number } {
    return { sequence_number: this.nextSequenceNumber() };
  }

  nextSequenceNumber(): number {
    this.#nextNumber += 1;
    return this.#nextNumber - 1;
  }

  /** Opens an item and returns its index in the output. */
  addItem(item: ResponseOutputItem, out: ResponseEvent[]): number {
    const output_index = this.#itemCount;
    this.#itemCount += 1;
    out.push({
      type: "response.output_item.added",
      ...this.nextSequenceField(),
      output_index,
      item,
    });
    return output_index;
  }

  finishItem(output_index: number, item: ResponseOutputItem, out: ResponseEvent[]): void {
    this.#items[output_index] = item;
    out.push({
      type: "response.output_item.done",
      ...this.nextSequenceField(),
      output_index,
      item,
    });
  }
}
