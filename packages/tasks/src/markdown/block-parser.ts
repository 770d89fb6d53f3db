import type { MarkdownBlock } from "./ast.ts";
import { parseDetailsClosing, parseDetailsOpening, parseSummary } from "./html-patterns.ts";
import {
  isBlank,
  parseListItemStart,
  MarkdownLine,
  parseQuote,
  type ListItemStart,
} from "./block-starts.ts";
import type { BlockReplacer } from "./block-replacer.ts";
import { OpenContainers } from "./open-containers.ts";
import { OpenLeaf } from "./open-leaf.ts";
import type { LinkReferences, LabelUse } from "./link-references.ts";

/**
 * Parses lines into blocks; each line is read once. `blocks` are finished: later lines change them only by defining a label that
 * they use. Unlike in CommonMark, an unindented line never continues a quote or a list item (no lazy continuation): models write
 * "- a" and then "**b**" below it.
 */
export class BlockParser {
  readonly #references: LinkReferences;
  /** Number of characters read by this parser and its branches. */
  readonly parseWork: { characters: number };
  readonly #containers: OpenContainers;
  readonly #leaf: OpenLeaf;

  constructor(
    references: LinkReferences,
    work = { characters: 0 },
    containers = new OpenContainers(),
    leaf = new OpenLeaf(references, containers, work),
  ) {
    this.#references = references;
    this.parseWork = work;
    this.#containers = containers;
    this.#leaf = leaf;
  }

  get blocks(): MarkdownBlock[] {
    return this.#containers.blocks;
  }

  /** The open paragraph. `lastLineStart`: index of its last line. */
  get paragraph(): { text: string; lastLineStart: number } | undefined {
    return this.#leaf.paragraph;
  }

  get leafState(): OpenLeaf["state"] {
    return this.#leaf.state;
  }

  /** True if no block is open, so that the following lines can be parsed without the earlier ones. */
  get isIdle(): boolean {
    return this.#containers.depth === 0 && this.#leaf.isEmpty;
  }

  /** Returns a parser that continues after the given number of blocks, at a point where no block was open. */
  restartAfter(blockCount: number): BlockParser {
    const containers = new OpenContainers(this.blocks.slice(0, blockCount));
    return new BlockParser(this.#references, this.parseWork, containers);
  }

  /**
   * Returns a copy that continues independently and starts without blocks. Finished parts of open blocks are shared.
   * `isPreview`: the copy is discarded before the next line, so its uses of labels are not registered.
   */
  branch(isPreview: boolean): BlockParser {
    const containers = this.#containers.branch();
    const leaf = this.#leaf.branch(containers, isPreview);
    return new BlockParser(this.#references, this.parseWork, containers, leaf);
  }

  /** `isContinuation`: another chunk of the previous line. `isComplete`: the last chunk of the line. */
  pushLine(text: string, isContinuation: boolean, isComplete: boolean): void {
    this.parseWork.characters += text.length + 1;
    if (isContinuation) return this.#leaf.appendChunk(text);
    const { depth, rest } = this.#containers.matchLine(new MarkdownLine(text), this.#leaf.isFenced);
    if (depth === this.#containers.depth) return this.#read(rest, isComplete);
    if (
      this.#leaf.isParagraph &&
      this.#containers.isIndentedBeyondMarker(depth, rest) &&
      !this.#startsBlock(rest)
    )
      return this.#leaf.readIndented(rest, isComplete);
    this.#leaf.end();
    const item = this.#containers.openNextItem(depth, rest);
    if (item === undefined) {
      this.#containers.closeTo(depth);
      this.#read(rest, isComplete);
    } else if (!item.rest.isBlank) this.#read(item.rest, isComplete);
  }

  /** Closes everything that is open. `isStreaming`: more text will follow. */
  end(isStreaming: boolean): void {
    this.#leaf.end(isStreaming);
    this.#containers.closeTo(0);
  }

  /** Parses text again after one of its labels has been defined, or its definition has been undone. */
  reparse(use: LabelUse, replacer: BlockReplacer): void {
    this.parseWork.characters += use.source.length;
    const inline = this.#references.reparse(use);
    if (!this.#containers.replaceInline(use.path, inline, replacer))
      this.#leaf.replaceInline(use.path, inline, replacer);
  }

  /** Reads a line without the markers of its containers. */
  #read(line: MarkdownLine, isComplete: boolean): void {
    if (!this.#closesDetailsInHtml(line) && this.#leaf.readFenced(line)) return;
    let rest = line;
    for (;;) {
      if (rest.isBlank) {
        this.#leaf.readBlank(rest);
        return this.#containers.markBlankLine();
      }
      this.#containers.resolveBlankLine();
      if (rest.isIndented) return this.#leaf.readIndented(rest, isComplete);
      const canNest = this.#containers.canNest;
      const html = this.#readDetailsTag(rest.content, canNest, isComplete);
      if (html !== undefined) {
        rest = new MarkdownLine(html);
        if (rest.isBlank) return;
        continue;
      }
      const quotedLine = canNest ? parseQuote(rest) : undefined;
      const item = canNest && quotedLine === undefined ? this.#parseItem(rest) : undefined;
      if (quotedLine !== undefined) {
        this.#leaf.end();
        this.#containers.openQuote();
        rest = quotedLine;
      } else if (item !== undefined) {
        this.#leaf.end();
        this.#containers.openList(item);
        ({ rest } = item);
        if (rest.isBlank) return;
      } else return this.#leaf.read(rest, isComplete);
    }
  }

  /** True if a line starts a block inside a paragraph. */
  #startsBlock(line: MarkdownLine): boolean {
    if (line.isIndented) return false;
    const { content } = line;
    return (
      parseQuote(line) !== undefined ||
      parseListItemStart(line) !== undefined ||
      parseDetailsOpening(content) !== undefined ||
      (this.#containers.hasDetails && parseDetailsClosing(content) !== undefined) ||
      this.#leaf.isInterruptedBy(line)
    );
  }

  /** True if the line ends the details element around an HTML block, which otherwise continues to a blank line. */
  #closesDetailsInHtml({ content }: MarkdownLine): boolean {
    const isHtml = this.#leaf.state === "html";
    return isHtml && this.#containers.hasDetails && parseDetailsClosing(content) !== undefined;
  }

  /** Reads a line that opens or closes a details element or contains its summary. Returns the rest of the line, or undefined. */
  #readDetailsTag(line: string, canNest: boolean, isComplete: boolean): string | undefined {
    const containers = this.#containers;
    const closing = containers.hasDetails ? parseDetailsClosing(line) : undefined;
    const isClosed = closing?.before === "";
    const details = canNest && !isClosed ? parseDetailsOpening(line) : undefined;
    if (details !== undefined) {
      this.#leaf.end();
      containers.openDetails(details.open);
      return details.rest;
    }
    const isFirst = !isClosed && containers.awaitsSummary && this.#leaf.isEmpty;
    const summary = isFirst ? parseSummary(line) : undefined;
    if (summary !== undefined) {
      this.parseWork.characters += summary.text.length;
      containers.setSummary(this.#references.parseStandalone(summary.text));
      return summary.rest;
    }
    if (closing === undefined) return undefined;
    if (!isBlank(closing.before)) this.#leaf.read(new MarkdownLine(closing.before), isComplete);
    this.#leaf.end();
    containers.closeDetails();
    return closing.rest;
  }

  /**
   * Inside a paragraph, an item must have text and start with 1; an ordered item must always have text: an answer may be "42.".
   */
  #parseItem(line: MarkdownLine): ListItemStart | undefined {
    const item = parseListItemStart(line);
    if (item === undefined || (item.ordered && item.rest.isBlank)) return undefined;
    if (!this.#leaf.isParagraph) return item;
    return !item.rest.isBlank && item.start === 1 ? item : undefined;
  }
}
