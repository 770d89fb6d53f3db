import { TaskError, unreachable } from "./error.ts";
import type { ItemContext } from "./item-context.ts";
import type { Block, ImageBlock, TextBlock } from "./items.ts";
import { piecesOf, toWellFormed } from "./well-formed.ts";

/** Text that reaches the writer whole is told at once up to this many UTF-16 units, and in pieces of it beyond. */
export const longText = 2_000;
/** A picture in a data url of this length is announced first. */
const largeImage = 64 * 1_024;

/** The blocks of a result or a message, one after the other. */
export class BlockWriter {
  readonly list: Block[];
  readonly #context: ItemContext;
  #image: { id?: number; partials: number } | undefined;

  constructor(context: ItemContext, list: Block[] = []) {
    this.#context = context;
    this.list = list;
  }

  place() {
    const { itemId: item_id, outputIndex: output_index } = this.#context;
    return { item_id, output_index, block_index: this.list.length };
  }

  block(block: Block): void {
    if (this.#image !== undefined && block.type !== "image")
      throw new TaskError("illegal_event", "a picture is still being made");
    switch (block.type) {
      case "text":
        return this.#text({ ...block, text: toWellFormed(block.text) });
      case "image":
        return this.#imageDone(block);
      case "audio":
        this.#context.write({ type: "task.audio.done", ...this.place(), item: block });
        break;
      case "file":
        this.#context.write({ type: "task.file.done", ...this.place(), item: block });
        break;
      case "data":
        this.#context.write({ type: "task.data.done", ...this.place(), item: block });
        break;
      default:
        return unreachable(block);
    }
    this.list.push(block);
  }

  openImage(numbered: { id?: number }): void {
    const { id } = numbered;
    const image: ImageBlock = {
      type: "image",
      image_url: { url: "" },
      ...(id === undefined ? {} : { id }),
    };
    this.#context.write({ type: "task.image.added", ...this.place(), item: image });
    this.#image = { ...(id === undefined ? {} : { id }), partials: 0 };
  }

  partialImage(block: ImageBlock): void {
    if (this.#image === undefined) this.openImage(block);
    const partial_image_index = this.#image?.partials ?? 0;
    this.#context.write({
      type: "task.image.delta",
      ...this.place(),
      partial_image_index,
      item: block,
    });
    if (this.#image !== undefined) this.#image.partials += 1;
  }

  #imageDone(block: ImageBlock): void {
    const { url } = block.image_url;
    const isLarge = url.length >= largeImage && url.startsWith("data:");
    if (isLarge && this.#image === undefined) this.openImage(block);
    this.#context.write({ type: "task.image.done", ...this.place(), item: block });
    this.list.push(block);
    this.#image = undefined;
  }

  #text(block: TextBlock): void {
    const place = this.place();
    if (block.text.length > longText) {
      this.#context.write({ type: "task.text.added", ...place, item: { ...block, text: "" } });
      for (const delta of piecesOf(block.text, longText))
        this.#context.write({ type: "task.text.delta", ...place, delta });
    }
    this.#context.write({ type: "task.text.done", ...place, item: block });
    this.list.push(block);
  }
}
