import type { Block } from "./blocks.ts";
import { closingIn, detailsIn, summaryIn } from "./html-forms.ts";
import { isBlank, itemOf, Line, quotedIn, type ItemStart } from "./line-forms.ts";
import type { MadeAnew } from "./made-anew.ts";
import { OpenContainers } from "./open-containers.ts";
import { OpenLeaf } from "./open-leaf.ts";
import type { References, Use } from "./references.ts";

/**
 * Blocks from lines, each of which is read once. What is in `blocks` is finished: no line to come changes it, unless by
 * defining a label that it uses. Unlike in CommonMark, a line at the left edge never continues a quote or an item: models
 * write "- a" and then "**b**" below it.
 */
export class BlockParser {
  readonly #references: References;
  /** How many characters have been read, by this one and those that branched off. */
  readonly work: { characters: number };
  readonly #containers: OpenContainers;
  readonly #leaf: OpenLeaf;

  constructor(
    references: References,
    work = { characters: 0 },
    containers = new OpenContainers(),
    leaf = new OpenLeaf(references, containers, work),
  ) {
    this.#references = references;
    this.work = work;
    this.#containers = containers;
    this.#leaf = leaf;
  }

  get blocks(): Block[] {
    return this.#containers.blocks;
  }

  /** The paragraph that is open, and where its last line begins. */
  get paragraph(): { text: string; last: number } | undefined {
    return this.#leaf.paragraph;
  }

  get leaf(): OpenLeaf["state"] {
    return this.#leaf.state;
  }

  /** Nothing is open: what follows can be read without what came before. */
  get isFree(): boolean {
    return this.#containers.depth === 0 && this.#leaf.isNone;
  }

  /** Goes on behind the first of its blocks, where nothing was open. */
  behind(blocks: number): BlockParser {
    const containers = new OpenContainers(this.blocks.slice(0, blocks));
    return new BlockParser(this.#references, this.work, containers);
  }

  /** Goes on from here on its own, with no blocks yet. What is finished within what is open is shared. */
  branch(growing: boolean): BlockParser {
    const containers = this.#containers.branch();
    const leaf = this.#leaf.branch(containers, growing);
    return new BlockParser(this.#references, this.work, containers, leaf);
  }

  /** `goesOn`: a further piece of the line before. `whole`: no further piece of it comes. */
  line(text: string, goesOn: boolean, whole: boolean): void {
    this.work.characters += text.length + 1;
    if (goesOn) return this.#leaf.goOn(text);
    const { depth, rest } = this.#containers.around(new Line(text), this.#leaf.isFenced);
    if (depth === this.#containers.depth) return this.#read(rest, whole);
    if (this.#leaf.isParagraph && this.#containers.isFurtherIn(depth, rest) && !this.#begins(rest))
      return this.#leaf.readIndented(rest, whole);
    this.#leaf.end();
    const item = this.#containers.nextItem(depth, rest);
    if (item === undefined) {
      this.#containers.closeTo(depth);
      this.#read(rest, whole);
    } else if (!item.rest.isBlank) this.#read(item.rest, whole);
  }

  /** The end of the text, or of what there is of it. */
  end(growing: boolean): void {
    this.#leaf.end(growing);
    this.#containers.closeTo(0);
  }

  /** Something that was read without a label's meaning, now with it. */
  readAgain(use: Use, anew: MadeAnew): void {
    this.work.characters += use.source.length;
    const inline = this.#references.readAgain(use);
    if (!this.#containers.remake(use.place, inline, anew))
      this.#leaf.remake(use.place, inline, anew);
  }

  /** A line's own text, where the innermost container has it. */
  #read(line: Line, whole: boolean): void {
    if (!this.#closesFoldInHtml(line) && this.#leaf.readFenced(line)) return;
    let rest = line;
    for (;;) {
      if (rest.isBlank) {
        this.#leaf.readBlank(rest);
        return this.#containers.noteBlank();
      }
      this.#containers.settleBlank();
      if (rest.isIndented) return this.#leaf.readIndented(rest, whole);
      const nests = this.#containers.mayNest;
      const html = this.#html(rest.content, nests, whole);
      if (html !== undefined) {
        rest = new Line(html);
        if (rest.isBlank) return;
        continue;
      }
      const quoted = nests ? quotedIn(rest) : undefined;
      const item = nests && quoted === undefined ? this.#itemIn(rest) : undefined;
      if (quoted !== undefined) {
        this.#leaf.end();
        this.#containers.openQuote();
        rest = quoted;
      } else if (item !== undefined) {
        this.#leaf.end();
        this.#containers.openList(item);
        ({ rest } = item);
        if (rest.isBlank) return;
      } else return this.#leaf.read(rest, whole);
    }
  }

  /** Whether a line begins a block within a paragraph. */
  #begins(line: Line): boolean {
    if (line.isIndented) return false;
    const { content } = line;
    return (
      quotedIn(line) !== undefined ||
      itemOf(line) !== undefined ||
      detailsIn(content) !== undefined ||
      (this.#containers.hasDetails && closingIn(content) !== undefined) ||
      this.#leaf.isInterruptedBy(line)
    );
  }

  /** Blocks of HTML go on to a blank line, but not beyond the fold that they stand in. */
  #closesFoldInHtml({ content }: Line): boolean {
    const isHtml = this.#leaf.state === "html";
    return isHtml && this.#containers.hasDetails && closingIn(content) !== undefined;
  }

  /** A line that begins, names or ends a fold; what of it is still to be read. */
  #html(line: string, nests: boolean, whole: boolean): string | undefined {
    const containers = this.#containers;
    const closing = containers.hasDetails ? closingIn(line) : undefined;
    const isClosed = closing?.before === "";
    const fold = nests && !isClosed ? detailsIn(line) : undefined;
    if (fold !== undefined) {
      this.#leaf.end();
      containers.openDetails(fold.open);
      return fold.rest;
    }
    const isFirst = !isClosed && containers.awaitsSummary && this.#leaf.isNone;
    const summary = isFirst ? summaryIn(line) : undefined;
    if (summary !== undefined) {
      this.work.characters += summary.text.length;
      containers.setSummary(this.#references.readAlone(summary.text));
      return summary.rest;
    }
    if (closing === undefined) return undefined;
    if (!isBlank(closing.before)) this.#leaf.read(new Line(closing.before), whole);
    this.#leaf.end();
    containers.closeDetails();
    return closing.rest;
  }

  /** An item within a paragraph has to look like one: a line may begin with a dash or a number, and an answer be "42.". */
  #itemIn(line: Line): ItemStart | undefined {
    const item = itemOf(line);
    if (item === undefined || (item.ordered && item.rest.isBlank)) return undefined;
    if (!this.#leaf.isParagraph) return item;
    return !item.rest.isBlank && item.start === 1 ? item : undefined;
  }
}
