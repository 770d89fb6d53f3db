import { annotateCitations, CitationAnnotator } from "./markdown/citation-annotator.ts";
import { BlockWriter, maxTextEventLength } from "./block-writer.ts";
import { toMessageContent } from "./content.ts";
import {
  toPrivateData,
  toPublicContent,
  toStatusField,
  type ContentEndOptions,
  type ItemContext,
} from "./item-context.ts";
import type {
  Annotation,
  AudioBlock,
  Block,
  FileBlock,
  ImageBlock,
  CallOutcome,
  TextBlock,
} from "./items.ts";
import type { OpenPart } from "./validator-state.ts";
import { SurrogateJoiner, chunkText, toWellFormed } from "./well-formed.ts";

/** Writes the result of a call. If a sub-agent ran, its items are written as a separate task, and the result has no blocks. */
export class ToolResultWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly callId: string;
  readonly #context: ItemContext;
  readonly #blocks: BlockWriter;
  readonly #hasChildTask: () => boolean;

  /** `openBlocks`: the blocks of a result that is already open. `part`: the last of these blocks, if it is open too. */
  constructor(
    context: ItemContext,
    callId: string,
    hasChildTask: () => boolean,
    openBlocks?: Block[],
    part?: OpenPart,
  ) {
    this.#context = context;
    this.#blocks = new BlockWriter(context, openBlocks, part);
    this.#hasChildTask = hasChildTask;
    this.itemId = context.itemId;
    this.outputIndex = context.outputIndex;
    this.callId = callId;
    if (openBlocks === undefined)
      context.write({
        type: "task.output_item.added",
        output_index: this.outputIndex,
        item: { type: "tool_result", id: this.itemId, call_id: callId, block_list: [] },
      });
  }

  block(block: Block): void {
    this.#blocks.block(block);
  }

  /** Appends to the open text block, or opens one. Any other block closes it. */
  textDelta(delta: string): void {
    this.#blocks.textDelta(delta);
  }

  /** Announces audio or a file, whose URL may be empty; `block` completes it. */
  openMedia(block: AudioBlock | FileBlock): void {
    this.#blocks.openMedia(block);
  }

  /** Closes the open block with its current content. */
  closeBlock(): void {
    this.#blocks.closeBlock();
  }

  /** Announces an image; `block` completes it. */
  openImage(options: { id?: number } = {}): void {
    this.#blocks.openImage(options);
  }

  /** Sends a preview of the image. */
  partialImage(block: ImageBlock): void {
    this.#blocks.partialImage(block);
  }

  /**
   * `omitBlocks`: the result of a sub-agent, which has no blocks. Default: true if a sub-agent ran.
   *
   * `numbers`: by index, the numbers of blocks that were written without one, because the number of a streamed block is known
   * only when the result is complete. Their references must be added afterwards.
   */
  done(
    options: ContentEndOptions & {
      outcome?: CallOutcome;
      omitBlocks?: boolean;
      numbers?: ReadonlyMap<number, number>;
    } = {},
  ): void {
    const { itemId: id, callId: call_id } = this;
    const omitBlocks = options.omitBlocks === true || this.#hasChildTask();
    this.closeBlock();
    const numberedBlocks = this.#blocks.blocks.map((block, index): Block => {
      const number = options.numbers?.get(index);
      return number === undefined ? block : { ...block, id: number };
    });
    const item = {
      type: "tool_result" as const,
      id,
      call_id,
      ...(omitBlocks ? { status: options.status ?? "completed" } : toStatusField(options.status)),
      ...(options.outcome === undefined ? {} : { outcome: options.outcome }),
      ...(omitBlocks ? {} : { block_list: numberedBlocks }),
      ...toPublicContent(this.#context, () => options.content),
    };
    this.#context.write(
      { type: "task.output_item.done", output_index: this.outputIndex, item },
      toPrivateData(options),
    );
  }
}

/**
 * Writes a message of the model. Annotates citation markers as they are sent. `isKnownReference`: whether a number can be cited.
 */
export class MessageWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly #context: ItemContext;
  readonly #isKnownReference: (n: number) => boolean;
  readonly #blocks: BlockWriter;
  #openText: OpenText | undefined;

  constructor(context: ItemContext, isKnownReference: (n: number) => boolean) {
    this.#context = context;
    this.#isKnownReference = isKnownReference;
    this.#blocks = new BlockWriter(context);
    this.itemId = context.itemId;
    this.outputIndex = context.outputIndex;
    context.write({
      type: "task.output_item.added",
      output_index: this.outputIndex,
      item: { type: "message", id: this.itemId, role: "assistant", block_list: [] },
    });
  }

  /** Appends to the open text block, or opens one. */
  delta(delta: string): void {
    if (delta === "") return;
    this.#openText ??= this.#startText();
    this.#appendText(this.#openText, this.#openText.surrogates.push(delta));
  }

  /** Closes the open text block. */
  textDone(): void {
    const open = this.#openText;
    if (open === undefined) return;
    this.#appendText(open, open.surrogates.end());
    this.#writeText(open, open.annotator.end());
    const item = toTextBlock(open.text, open.annotations);
    this.#context.write({ type: "task.text.done", ...this.#blocks.position(), item });
    this.#blocks.blocks.push(item);
    this.#openText = undefined;
  }

  /** Writes a complete text block. */
  text(fullText: string): void {
    this.textDone();
    if (fullText.length > maxTextEventLength) {
      for (const piece of chunkText(fullText, maxTextEventLength)) this.delta(piece);
      return this.textDone();
    }
    const text = toWellFormed(fullText);
    this.#blocks.block(toTextBlock(text, annotateCitations(text, this.#isKnownReference)));
  }

  block(block: Block): void {
    if (block.type === "text") return this.text(block.text);
    this.textDone();
    this.#blocks.block(block);
  }

  openImage(): void {
    this.textDone();
    this.#blocks.openImage({});
  }

  partialImage(block: ImageBlock): void {
    this.textDone();
    this.#blocks.partialImage(block);
  }

  done(options: ContentEndOptions = {}): void {
    this.textDone();
    const item = {
      type: "message" as const,
      id: this.itemId,
      role: "assistant" as const,
      ...toStatusField(options.status),
      block_list: [...this.#blocks.blocks],
      ...toPublicContent(
        this.#context,
        () => options.content ?? toMessageContent(this.#blocks.blocks),
      ),
    };
    this.#context.write(
      { type: "task.output_item.done", output_index: this.outputIndex, item },
      toPrivateData(options),
    );
  }

  #startText(): OpenText {
    this.#context.write({
      type: "task.text.added",
      ...this.#blocks.position(),
      item: { type: "text", text: "" },
    });
    const annotator = new CitationAnnotator(this.#isKnownReference);
    return { text: "", annotations: [], annotator, surrogates: new SurrogateJoiner() };
  }

  #appendText(open: OpenText, delta: string): void {
    if (delta !== "") this.#writeText(open, open.annotator.push(delta));
  }

  #writeText(
    open: OpenText,
    { text, annotations }: { text: string; annotations: Annotation[] },
  ): void {
    const position = this.#blocks.position();
    if (text !== "") {
      open.text += text;
      this.#context.write({ type: "task.text.delta", ...position, delta: text });
    }
    for (const annotation of annotations) {
      this.#context.write({
        type: "task.text.annotation.added",
        ...position,
        annotation_index: open.annotations.length,
        annotation,
      });
      open.annotations.push(annotation);
    }
  }
}

interface OpenText {
  text: string;
  readonly annotations: Annotation[];
  readonly annotator: CitationAnnotator;
  readonly surrogates: SurrogateJoiner;
}

function toTextBlock(text: string, annotations: readonly Annotation[]): TextBlock {
  return annotations.length === 0
    ? { type: "text", text }
    : { type: "text", text, annotations: [...annotations] };
}
