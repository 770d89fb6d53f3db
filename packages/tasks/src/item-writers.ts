import { annotate, Annotator } from "./markdown/annotator.ts";
import { BlockWriter, longText } from "./block-writer.ts";
import { messageContent } from "./content.ts";
import {
  privatePart,
  publicContent,
  unlessCompleted,
  type ContentEnd,
  type ItemContext,
} from "./item-context.ts";
import type {
  Annotation,
  AudioBlock,
  Block,
  FileBlock,
  ImageBlock,
  Outcome,
  TextBlock,
} from "./items.ts";
import type { Part } from "./log-notes.ts";
import { PairJoiner, piecesOf, toWellFormed } from "./well-formed.ts";

/** What came of a call. A sub-agent's items come as a task of their own, and then no blocks are written here. */
export class ToolResultWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly callId: string;
  readonly #context: ItemContext;
  readonly #blocks: BlockWriter;
  readonly #isChild: () => boolean;

  /** `opened` are the blocks of a result that is open already; `part` is the last of them if that is open too. */
  constructor(
    context: ItemContext,
    callId: string,
    isChild: () => boolean,
    opened?: Block[],
    part?: Part,
  ) {
    this.#context = context;
    this.#blocks = new BlockWriter(context, opened, part);
    this.#isChild = isChild;
    this.itemId = context.itemId;
    this.outputIndex = context.outputIndex;
    this.callId = callId;
    if (opened === undefined)
      context.write({
        type: "task.output_item.added",
        output_index: this.outputIndex,
        item: { type: "tool_result", id: this.itemId, call_id: callId, block_list: [] },
      });
  }

  block(block: Block): void {
    this.#blocks.block(block);
  }

  /** Grows a text; opens one where none is open. Any other block closes it. */
  textDelta(delta: string): void {
    this.#blocks.textDelta(delta);
  }

  /** Announces audio or a file, whose address may be empty; `block` completes it. */
  openMedium(block: AudioBlock | FileBlock): void {
    this.#blocks.openMedium(block);
  }

  /** Closes the block that is open as what it is by now. */
  closeBlock(): void {
    this.#blocks.closeBlock();
  }

  /** Tells that a picture is being made; `block` closes it. */
  openImage(numbered: { id?: number } = {}): void {
    this.#blocks.openImage(numbered);
  }

  /** A picture of how far it has come. */
  partialImage(block: ImageBlock): void {
    this.#blocks.partialImage(block);
  }

  /**
   * `numbers` are the numbers of blocks that were written without one, by their index: of a streamed block it is known only
   * when the result is complete. Their references are added after this.
   */
  done(
    end: ContentEnd & {
      outcome?: Outcome;
      blocks?: boolean;
      numbers?: ReadonlyMap<number, number>;
    } = {},
  ): void {
    const { itemId: id, callId: call_id } = this;
    const isChild = end.blocks === false || this.#isChild();
    this.closeBlock();
    const numbered = this.#blocks.list.map((block, index): Block => {
      const number = end.numbers?.get(index);
      return number === undefined ? block : { ...block, id: number };
    });
    const item = {
      type: "tool_result" as const,
      id,
      call_id,
      ...(isChild ? { status: end.status ?? "completed" } : unlessCompleted(end.status)),
      ...(end.outcome === undefined ? {} : { outcome: end.outcome }),
      ...(isChild ? {} : { block_list: numbered }),
      ...publicContent(this.#context, () => end.content),
    };
    this.#context.write(
      { type: "task.output_item.done", output_index: this.outputIndex, item },
      privatePart(end),
    );
  }
}

/** What the model says: `delta` opens a text where none is open. Its markers are annotated as soon as they are sent. */
export class MessageWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly #context: ItemContext;
  readonly #known: (n: number) => boolean;
  readonly #blocks: BlockWriter;
  #open: OpenText | undefined;

  constructor(context: ItemContext, known: (n: number) => boolean) {
    this.#context = context;
    this.#known = known;
    this.#blocks = new BlockWriter(context);
    this.itemId = context.itemId;
    this.outputIndex = context.outputIndex;
    context.write({
      type: "task.output_item.added",
      output_index: this.outputIndex,
      item: { type: "message", id: this.itemId, role: "assistant", block_list: [] },
    });
  }

  delta(delta: string): void {
    if (delta === "") return;
    this.#open ??= this.#opened();
    this.#grow(this.#open, this.#open.pairs.push(delta));
  }

  textDone(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#grow(open, open.pairs.end());
    this.#send(open, open.annotator.end());
    const item = annotated(open.text, open.annotations);
    this.#context.write({ type: "task.text.done", ...this.#blocks.place(), item });
    this.#blocks.list.push(item);
    this.#open = undefined;
  }

  /** A text that is there as a whole. */
  text(whole: string): void {
    this.textDone();
    if (whole.length > longText) {
      for (const piece of piecesOf(whole, longText)) this.delta(piece);
      return this.textDone();
    }
    const text = toWellFormed(whole);
    this.#blocks.block(annotated(text, annotate(text, this.#known)));
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

  done(end: ContentEnd = {}): void {
    this.textDone();
    const item = {
      type: "message" as const,
      id: this.itemId,
      role: "assistant" as const,
      ...unlessCompleted(end.status),
      block_list: [...this.#blocks.list],
      ...publicContent(this.#context, () => end.content ?? messageContent(this.#blocks.list)),
    };
    this.#context.write(
      { type: "task.output_item.done", output_index: this.outputIndex, item },
      privatePart(end),
    );
  }

  #opened(): OpenText {
    this.#context.write({
      type: "task.text.added",
      ...this.#blocks.place(),
      item: { type: "text", text: "" },
    });
    const annotator = new Annotator(this.#known);
    return { text: "", annotations: [], annotator, pairs: new PairJoiner() };
  }

  #grow(open: OpenText, delta: string): void {
    if (delta !== "") this.#send(open, open.annotator.push(delta));
  }

  #send(open: OpenText, { text, annotations }: { text: string; annotations: Annotation[] }): void {
    const place = this.#blocks.place();
    if (text !== "") {
      open.text += text;
      this.#context.write({ type: "task.text.delta", ...place, delta: text });
    }
    for (const annotation of annotations) {
      this.#context.write({
        type: "task.text.annotation.added",
        ...place,
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
  readonly annotator: Annotator;
  readonly pairs: PairJoiner;
}

function annotated(text: string, annotations: readonly Annotation[]): TextBlock {
  return annotations.length === 0
    ? { type: "text", text }
    : { type: "text", text, annotations: [...annotations] };
}
