import type { OutputItem, ResponseEvent } from "../shapes/responses-reply.ts";

/** Numbers the events and the items of one response, and keeps the items that are done. */
export class Output {
  readonly #items: OutputItem[] = [];
  #sequence = 0;
  #count = 0;

  /** The items that are done, in order; one that was withheld leaves no gap. */
  get items(): OutputItem[] {
    return this.#items.filter((item) => item !== undefined);
  }

  next(): { sequence_number: number } {
    return { sequence_number: this.sequence() };
  }

  sequence(): number {
    this.#sequence += 1;
    return this.#sequence - 1;
  }

  /** Opens an item: it has its place in the output from now on. */
  add(item: OutputItem, out: ResponseEvent[]): number {
    const output_index = this.#count;
    this.#count += 1;
    out.push({ type: "response.output_item.added", ...this.next(), output_index, item });
    return output_index;
  }

  done(output_index: number, item: OutputItem, out: ResponseEvent[]): void {
    this.#items[output_index] = item;
    out.push({ type: "response.output_item.done", ...this.next(), output_index, item });
  }
}
