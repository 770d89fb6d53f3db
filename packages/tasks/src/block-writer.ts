import { TaskError, unreachable } from "./error.ts";
import type { ItemContext } from "./item-context.ts";
import type { AudioBlock, Block, FileBlock, ImageBlock, TextBlock } from "./items.ts";
import type { Part } from "./log-notes.ts";
import { PairJoiner, piecesOf, toWellFormed } from "./well-formed.ts";

/** Text that reaches the writer whole is told at once up to this many UTF-16 units, and in pieces of it beyond. */
export const longText = 2_000;
/** A picture in a data url of this length is announced first. */
const largeImage = 64 * 1_024;

/** A block that has been announced and is not complete yet. */
type OpenBlock =
  | { readonly type: "text"; text: string; readonly pairs: PairJoiner }
  | { readonly type: "image"; block: ImageBlock; partials: number }
  | { readonly type: "audio" | "file"; readonly block: AudioBlock | FileBlock };

/** The blocks of a result or a message, one after the other. */
export class BlockWriter {
  readonly list: Block[];
  readonly #context: ItemContext;
  #open: OpenBlock | undefined;

  /** `part`: the block that is open, of an item that another writer has opened. It is the last of `list`, which has it too. */
  constructor(context: ItemContext, list: Block[] = [], part?: Part) {
    this.#context = context;
    this.list = list;
    const last = part === undefined ? undefined : list.pop();
    if (part !== undefined && last !== undefined) this.#open = openAgain(last, part);
  }

  place() {
    const { itemId: item_id, outputIndex: output_index } = this.#context;
    return { item_id, output_index, block_index: this.list.length };
  }

  block(block: Block): void {
    const open = this.#open?.type;
    if (open === "text") this.closeBlock();
    else if (open !== undefined && open !== block.type)
      throw new TaskError("illegal_event", `the ${open} before it is not complete yet`);
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
    this.#open = undefined;
  }

  /** Grows the text that is open, or opens one. */
  textDelta(delta: string): void {
    if (delta === "") return;
    const place = this.place();
    if (this.#open?.type !== "text") {
      this.#mustBeClosed();
      this.#context.write({ type: "task.text.added", ...place, item: { type: "text", text: "" } });
      this.#open = { type: "text", text: "", pairs: new PairJoiner() };
    }
    this.#grow(this.#open, this.#open.pairs.push(delta));
  }

  openImage(numbered: { id?: number }): void {
    const { id } = numbered;
    this.#mustBeClosed();
    const image: ImageBlock = {
      type: "image",
      image_url: { url: "" },
      ...(id === undefined ? {} : { id }),
    };
    this.#context.write({ type: "task.image.added", ...this.place(), item: image });
    this.#open = { type: "image", block: image, partials: 0 };
  }

  /** Announces audio or a file; `block` completes it. */
  openMedium(block: AudioBlock | FileBlock): void {
    this.#mustBeClosed();
    if (block.type === "audio")
      this.#context.write({ type: "task.audio.added", ...this.place(), item: block });
    else this.#context.write({ type: "task.file.added", ...this.place(), item: block });
    this.#open = { type: block.type, block };
  }

  partialImage(block: ImageBlock): void {
    if (this.#open?.type !== "image") this.openImage(block);
    const image = this.#open as OpenBlock & { type: "image" };
    this.#context.write({
      type: "task.image.delta",
      ...this.place(),
      partial_image_index: image.partials,
      item: block,
    });
    image.partials += 1;
    image.block = { ...image.block, ...block };
  }

  /** Closes the block that is open as what it is by now: an image with its last partial one. */
  closeBlock(): void {
    const open = this.#open;
    if (open === undefined) return;
    if (open.type !== "text") {
      this.block(open.block);
      return;
    }
    this.#grow(open, open.pairs.end());
    const item: TextBlock = { type: "text", text: open.text };
    this.#context.write({ type: "task.text.done", ...this.place(), item });
    this.list.push(item);
    this.#open = undefined;
  }

  #grow(open: OpenBlock & { type: "text" }, delta: string): void {
    if (delta === "") return;
    open.text += delta;
    this.#context.write({ type: "task.text.delta", ...this.place(), delta });
  }

  #mustBeClosed(): void {
    if (this.#open?.type === "text") this.closeBlock();
    else if (this.#open !== undefined)
      throw new TaskError("illegal_event", `the ${this.#open.type} before it is not complete yet`);
  }

  #imageDone(block: ImageBlock): void {
    const { url } = block.image_url;
    const isLarge = url.length >= largeImage && url.startsWith("data:");
    if (isLarge && this.#open === undefined) this.openImage(block);
    this.#context.write({ type: "task.image.done", ...this.place(), item: block });
    this.list.push(block);
    this.#open = undefined;
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

/** The list of an open item has a growing text as it was when it was opened; `part` has all of it. */
function openAgain(block: Block, part: Part): OpenBlock | undefined {
  switch (block.type) {
    case "text":
      return { type: "text", text: part.text, pairs: new PairJoiner() };
    case "image":
      return { type: "image", block, partials: part.partials };
    case "audio":
    case "file":
      return { type: block.type, block };
    default:
      return undefined;
  }
}
