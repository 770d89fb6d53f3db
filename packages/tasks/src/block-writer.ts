import { TaskError, assertNever } from "./error.ts";
import type { ItemContext } from "./item-context.ts";
import type { AudioBlock, Block, FileBlock, ImageBlock, TextBlock } from "./items.ts";
import type { OpenPart } from "./validator-state.ts";
import { SurrogateJoiner, chunkText, toWellFormed } from "./well-formed.ts";

/** Complete text up to this length is sent in one event, longer text in deltas of this length. In UTF-16 units. */
export const maxTextEventLength = 2_000;
/** Images in data URLs of at least this length are announced before they are sent. */
const largeImageLength = 64 * 1_024;

/** A block that has been announced but is not complete yet. */
type OpenBlock =
  | { readonly type: "text"; text: string; readonly surrogates: SurrogateJoiner }
  | { readonly type: "image"; block: ImageBlock; partialCount: number }
  | { readonly type: "audio" | "file"; readonly block: AudioBlock | FileBlock };

/** Writes the blocks of a tool result or a message, one after the other. */
export class BlockWriter {
  readonly blocks: Block[];
  readonly #context: ItemContext;
  #openBlock: OpenBlock | undefined;

  /** `blocks`: the blocks of an item that another writer opened. `part`: the last of these blocks if it is still open. */
  constructor(context: ItemContext, blocks: Block[] = [], part?: OpenPart) {
    this.#context = context;
    this.blocks = blocks;
    const last = part === undefined ? undefined : blocks.pop();
    if (part !== undefined && last !== undefined) this.#openBlock = reopenBlock(last, part);
  }

  /** Returns the position of the open or the next block. */
  position() {
    const { itemId: item_id, outputIndex: output_index } = this.#context;
    return { item_id, output_index, block_index: this.blocks.length };
  }

  /** Completes the open block of the same type, or adds a complete block. */
  block(block: Block): void {
    const open = this.#openBlock?.type;
    if (open === "text") this.closeBlock();
    else if (open !== undefined && open !== block.type)
      throw new TaskError("invalid_event", `the previous ${open} block is still open`);
    switch (block.type) {
      case "text":
        return this.#writeText({ ...block, text: toWellFormed(block.text) });
      case "image":
        return this.#writeImage(block);
      case "audio":
        this.#context.write({ type: "task.audio.done", ...this.position(), item: block });
        break;
      case "file":
        this.#context.write({ type: "task.file.done", ...this.position(), item: block });
        break;
      case "data":
        this.#context.write({ type: "task.data.done", ...this.position(), item: block });
        break;
      default:
        return assertNever(block);
    }
    this.blocks.push(block);
    this.#openBlock = undefined;
  }

  /** Appends to the open text block, or opens one. */
  textDelta(delta: string): void {
    if (delta === "") return;
    const position = this.position();
    if (this.#openBlock?.type !== "text") {
      this.#ensureNoOpenBlock();
      this.#context.write({
        type: "task.text.added",
        ...position,
        item: { type: "text", text: "" },
      });
      this.#openBlock = { type: "text", text: "", surrogates: new SurrogateJoiner() };
    }
    this.#appendText(this.#openBlock, this.#openBlock.surrogates.push(delta));
  }

  /** Announces an image; `block` completes it. */
  openImage(options: { id?: number }): void {
    const { id } = options;
    this.#ensureNoOpenBlock();
    const image: ImageBlock = {
      type: "image",
      image_url: { url: "" },
      ...(id === undefined ? {} : { id }),
    };
    this.#context.write({ type: "task.image.added", ...this.position(), item: image });
    this.#openBlock = { type: "image", block: image, partialCount: 0 };
  }

  /** Announces audio or a file; `block` completes it. */
  openMedia(block: AudioBlock | FileBlock): void {
    this.#ensureNoOpenBlock();
    if (block.type === "audio")
      this.#context.write({ type: "task.audio.added", ...this.position(), item: block });
    else this.#context.write({ type: "task.file.added", ...this.position(), item: block });
    this.#openBlock = { type: block.type, block };
  }

  /** Sends a preview of the image. */
  partialImage(block: ImageBlock): void {
    if (this.#openBlock?.type !== "image") this.openImage(block);
    const image = this.#openBlock as OpenBlock & { type: "image" };
    this.#context.write({
      type: "task.image.delta",
      ...this.position(),
      partial_image_index: image.partialCount,
      item: block,
    });
    image.partialCount += 1;
    image.block = { ...image.block, ...block };
  }

  /** Closes the open block with its current content: an image with its last partial image. */
  closeBlock(): void {
    const open = this.#openBlock;
    if (open === undefined) return;
    if (open.type !== "text") {
      this.block(open.block);
      return;
    }
    this.#appendText(open, open.surrogates.end());
    const item: TextBlock = { type: "text", text: open.text };
    this.#context.write({ type: "task.text.done", ...this.position(), item });
    this.blocks.push(item);
    this.#openBlock = undefined;
  }

  #appendText(open: OpenBlock & { type: "text" }, delta: string): void {
    if (delta === "") return;
    open.text += delta;
    this.#context.write({ type: "task.text.delta", ...this.position(), delta });
  }

  #ensureNoOpenBlock(): void {
    if (this.#openBlock?.type === "text") this.closeBlock();
    else if (this.#openBlock !== undefined)
      throw new TaskError(
        "invalid_event",
        `the previous ${this.#openBlock.type} block is still open`,
      );
  }

  #writeImage(block: ImageBlock): void {
    const { url } = block.image_url;
    const isLarge = url.length >= largeImageLength && url.startsWith("data:");
    if (isLarge && this.#openBlock === undefined) this.openImage(block);
    this.#context.write({ type: "task.image.done", ...this.position(), item: block });
    this.blocks.push(block);
    this.#openBlock = undefined;
  }

  #writeText(block: TextBlock): void {
    const position = this.position();
    if (block.text.length > maxTextEventLength) {
      this.#context.write({ type: "task.text.added", ...position, item: { ...block, text: "" } });
      for (const delta of chunkText(block.text, maxTextEventLength))
        this.#context.write({ type: "task.text.delta", ...position, delta });
    }
    this.#context.write({ type: "task.text.done", ...position, item: block });
    this.blocks.push(block);
  }
}

/** `part` has the current text: in the list of an open item, a text block still has its initial text. */
function reopenBlock(block: Block, part: OpenPart): OpenBlock | undefined {
  switch (block.type) {
    case "text":
      return { type: "text", text: part.text, surrogates: new SurrogateJoiner() };
    case "image":
      return { type: "image", block, partialCount: part.partialCount };
    case "audio":
    case "file":
      return { type: block.type, block };
    default:
      return undefined;
  }
}
