import type { Block, HeadingLevel } from "./blocks.ts";
import { asWritten } from "./cites.ts";
import { definitionIn, definitionWith, type Definition } from "./definitions.ts";
import {
  closesFence,
  fenceOf,
  headingOf,
  isBlank,
  isRule,
  itemOf,
  quotedIn,
  underlineOf,
  withoutIndent,
  type ItemStart,
} from "./line-forms.ts";
import type { MadeAnew } from "./made-anew.ts";
import { mathOf } from "./math-lines.ts";
import {
  asParagraph,
  isInside,
  itemFrom,
  none,
  paragraphOf,
  placeIn,
  withoutHead,
  type Container,
  type Leaf,
} from "./open-blocks.ts";
import type { References, Use } from "./references.ts";
import { cellsOf, isDashLine, sidesOf } from "./table-lines.ts";

/** Quotes and lists within one another, to any depth that a person would read. */
const deepest = 12;
/** A longer paragraph goes on in another one: layout and the search for partners are bounded by it. */
const longestParagraph = 8192;

/**
 * Blocks from lines, each of which is read once. What is in `blocks` is finished: no line to come changes it, unless by
 * defining a label that it uses. Unlike
 * CommonMark a line without its mark never continues a quote or an item ("- a" and then "**b**" below it, as models write).
 */
export class BlockParser {
  readonly blocks: Block[];
  #containers: Container[] = [];
  #leaf: Leaf = none;
  /** The line that is read has come to its end. */
  #whole = true;
  readonly #references: References;
  /** How many blocks stand before these. */
  #before = 0;
  /** It is thrown away before any other line comes. */
  #isLook = false;
  /** How many characters have been read, by this one and those that branched off. */
  readonly work: { characters: number };

  constructor(references: References, blocks: Block[] = [], work = { characters: 0 }) {
    this.#references = references;
    this.blocks = blocks;
    this.work = work;
  }

  get leaf(): Leaf["type"] | Definition["state"] {
    return this.#leaf.type === "definition" ? this.#leaf.definition.state : this.#leaf.type;
  }

  /** Nothing is open: what follows can be read without what came before. */
  get isFree(): boolean {
    return this.#containers.length === 0 && this.#leaf.type === "none";
  }

  /** Goes on from here on its own, with no blocks yet. What is finished within what is open is shared. */
  branch(growing: boolean): BlockParser {
    const branch = new BlockParser(this.#references, [], this.work);
    branch.#before = this.blocks.length;
    branch.#isLook = growing;
    branch.#containers = this.#containers.map((one) =>
      one.type === "quote"
        ? { ...one, blocks: [...one.blocks] }
        : { ...one, items: [...one.items], blocks: [...one.blocks] },
    );
    const leaf = this.#leaf;
    branch.#leaf = leaf.type === "table" ? { ...leaf, rows: [...leaf.rows] } : { ...leaf };
    return branch;
  }

  /** `goesOn`: a further piece of the line before. `whole`: no further piece of it comes. */
  line(line: string, goesOn: boolean, whole: boolean): void {
    this.work.characters += line.length + 1;
    this.#whole = whole;
    if (goesOn) this.#goOn(line);
    else {
      const { depth, rest } = this.#inContainers(line);
      if (this.#sibling(depth, rest)) return;
      this.#closeTo(depth);
      this.#read(rest);
    }
  }

  /** The end of the text, or of what there is of it. */
  end(growing: boolean): void {
    this.#closeTo(0, growing);
    this.#endLeaf(growing);
  }

  /** Something that was read without a label's meaning, now with it. */
  readAgain(use: Use, anew: MadeAnew): void {
    this.work.characters += use.source.length;
    const inline = this.#references.readAgain(use);
    const { place } = use;
    const [nth = 0] = place;
    const leaf = this.#leaf;
    if (nth - this.#before < this.blocks.length)
      anew.inBlocks(this.blocks, place.with(0, nth - this.#before), 0, inline);
    else if (!anew.inContainers(this.#containers, place, inline) && leaf.type === "table")
      this.#leaf = anew.table(leaf, place, place.length - 2, inline);
  }

  #goOn(piece: string): void {
    const leaf = this.#leaf;
    if (leaf.type === "paragraph") this.#addToParagraph(leaf, piece, "");
    else if (leaf.type === "code") leaf.text += asWritten(piece);
    else if (leaf.type === "math") this.#growMath(leaf, piece, "");
    else {
      this.#endLeaf();
      this.#leaf = { type: "paragraph", text: piece, last: 0 };
    }
  }

  /** How many of the open containers a line is in, and what of it stands there. */
  #inContainers(line: string): { depth: number; rest: string } {
    const inFence = this.#leaf.type === "code" || this.#leaf.type === "math";
    let rest = line;
    for (const [depth, container] of this.#containers.entries()) {
      if (container.type === "quote") {
        const quoted = quotedIn(rest);
        if (quoted === undefined) return { depth, rest };
        rest = quoted;
      } else if (!isBlank(rest)) {
        // Code in an item goes on to its closing fence, however far out models write its lines.
        if (!inFence && !isInside(container, rest)) return { depth, rest };
        rest = withoutIndent(rest, container.item.inner);
      }
    }
    return { depth: this.#containers.length, rest };
  }

  /** The next item of the list that the line is no longer inside of. */
  #sibling(depth: number, rest: string): boolean {
    const list = this.#containers[depth];
    if (list?.type !== "list") return false;
    const item = itemOf(rest);
    if (item === undefined || item.ordered !== list.ordered) return false;
    this.#closeTo(depth + 1);
    this.#endLeaf();
    list.loose ||= list.blank;
    list.items.push(itemFrom(list));
    Object.assign(list, { item, blocks: [], loose: list.blank, blank: false });
    if (!isBlank(item.text)) this.#read(item.text);
    return true;
  }

  /** A line's own text, where the innermost container has it. */
  #read(line: string): void {
    let rest = line;
    const leaf = this.#leaf;
    if (leaf.type === "code") return this.#addCode(leaf, rest);
    if (leaf.type === "math") return this.#addMath(leaf, rest);
    for (;;) {
      if (isBlank(rest)) return this.#blank();
      this.#settleBlank();
      const nests = this.#containers.length < deepest;
      const quoted = nests ? quotedIn(rest) : undefined;
      const item = nests && quoted === undefined ? this.#itemIn(rest) : undefined;
      if (quoted !== undefined) {
        this.#endLeaf();
        this.#containers.push({ type: "quote", blocks: [] });
        rest = quoted;
      } else if (item !== undefined) {
        this.#endLeaf();
        const { ordered, start } = item;
        const empty = { items: [], blocks: [], loose: false, blank: false };
        this.#containers.push({ type: "list", ordered, start, item, ...empty });
        rest = item.text;
        if (isBlank(rest)) return;
      } else return this.#readLeaf(rest);
    }
  }

  /** An item within a paragraph has to look like one: a line may begin with a dash, or with the number of a year. */
  #itemIn(line: string): ItemStart | undefined {
    const item = itemOf(line);
    const inParagraph = this.#leaf.type === "paragraph" || this.#leaf.type === "definition";
    if (item === undefined || !inParagraph) return item;
    return item.text !== "" && item.start < 100 ? item : undefined;
  }

  #readLeaf(line: string): void {
    const fence = fenceOf(line);
    const heading = headingOf(line);
    const math = mathOf(line);
    const level = underlineOf(line);
    if (this.#leaf.type === "definition" && (level !== undefined || isDashLine(line)))
      this.#leaf = asParagraph(this.#leaf);
    const leaf = this.#leaf;
    if (fence !== undefined) {
      this.#endLeaf();
      this.#leaf = { type: "code", fence, text: "", empty: true };
    } else if (heading !== undefined) {
      this.#endLeaf();
      this.#addHeading(heading.level, heading.text);
    } else if (level !== undefined && leaf.type === "paragraph" && leaf.last === 0) {
      this.#leaf = none;
      this.#addHeading(level, leaf.text);
    } else if (isRule(line)) {
      this.#endLeaf();
      this.#add({ type: "rule" });
    } else if (math !== undefined) {
      this.#endLeaf();
      const { closing, text, closed } = math;
      if (closed) this.#add({ type: "math", text: asWritten(text), closed });
      else this.#leaf = { type: "math", closing, source: line.trim(), text };
    } else if (leaf.type === "table" && line.includes("|")) {
      leaf.rows.push(this.#cells(cellsOf(line, leaf.sides.length), leaf.rows.length + 1));
    } else if (leaf.type === "paragraph") this.#growParagraph(leaf, line);
    else if (leaf.type === "definition") this.#growDefinition(leaf, line);
    else this.#begin(line);
  }

  #begin(line: string): void {
    this.#endLeaf();
    const text = line.trimStart();
    const definition = this.#whole ? definitionIn(text) : undefined;
    if (definition === undefined) this.#leaf = { type: "paragraph", text, last: 0 };
    else this.#define(definition, text);
  }

  /** `text` is what has been read since the last of it that cannot be anything else. */
  #define(definition: Definition, text: string): void {
    const isOne = definition.state === "untitled" || definition.state === "whole";
    if (isOne) this.#references.define(definition.label, definition.url);
    this.#leaf = { type: "definition", definition, text: isOne ? "" : text };
  }

  #growDefinition({ definition, text }: Leaf & { type: "definition" }, line: string): void {
    const read = text === "" ? line.trimStart() : `${text}\n${line}`;
    const fits = this.#whole && read.length <= longestParagraph;
    const grown = fits ? definitionWith(definition, line) : undefined;
    if (grown !== undefined) this.#define(grown, read);
    else if (text === "") this.#begin(line);
    else {
      const paragraph = paragraphOf(text);
      this.#leaf = paragraph;
      this.#growParagraph(paragraph, line);
    }
  }

  #growParagraph(leaf: Leaf & { type: "paragraph" }, line: string): void {
    if (!this.#makeTable(leaf, line)) this.#addToParagraph(leaf, line, "\n");
  }

  #addCode(leaf: Leaf & { type: "code" }, line: string): void {
    if (closesFence(line, leaf.fence)) return this.#endLeaf(false, true);
    leaf.text += (leaf.empty ? "" : "\n") + asWritten(withoutIndent(line, leaf.fence.indent));
    leaf.empty = false;
  }

  /** No formula has a blank line: what began like one was text. */
  #addMath(leaf: Leaf & { type: "math" }, line: string): void {
    const trimmed = line.trim();
    if (trimmed === "") return this.#blank();
    this.#growMath(leaf, trimmed, "\n");
  }

  #growMath(leaf: Leaf & { type: "math" }, line: string, between: string): void {
    const closed = line.endsWith(leaf.closing);
    const text = closed ? line.slice(0, -leaf.closing.length).trimEnd() : line;
    leaf.source += between + line;
    leaf.text += text === "" ? "" : (leaf.text === "" ? "" : between) + text;
    if (closed) this.#endLeaf(false, true);
    else if (leaf.source.length > longestParagraph) this.#endLeaf();
  }

  /** The paragraph's last line is the head if this line has its dashes. */
  #makeTable(leaf: Leaf & { type: "paragraph" }, line: string): boolean {
    const head = leaf.text.slice(leaf.last);
    const sides = head.includes("|") ? sidesOf(head, line) : undefined;
    if (sides === undefined) return false;
    leaf.text = leaf.text.slice(0, Math.max(0, leaf.last - 1));
    this.#endLeaf();
    this.#leaf = { type: "table", head: this.#cells(cellsOf(head), 0), rows: [], sides };
    return true;
  }

  #cells(cells: readonly string[], row: number) {
    return cells.map((cell, at) => this.#inline(cell, false, row, at));
  }

  #addToParagraph(leaf: Leaf & { type: "paragraph" }, line: string, between: string): void {
    if (leaf.text.length + line.length > longestParagraph) {
      this.#endLeaf();
      this.#leaf = { type: "paragraph", text: line, last: 0 };
    } else {
      if (between !== "") leaf.last = leaf.text.length + between.length;
      leaf.text += between + line;
    }
  }

  #addHeading(level: number, text: string): void {
    this.#add({ type: "heading", level: level as HeadingLevel, inline: this.#inline(text.trim()) });
  }

  #blank(): void {
    this.#endLeaf();
    for (const one of this.#containers) if (one.type === "list") one.blank = true;
  }

  /** A block after a blank line makes an item loose if both are directly in it. */
  #settleBlank(): void {
    const inner = this.#containers.at(-1);
    if (inner?.type === "list") inner.loose ||= inner.blank && inner.blocks.length > 0;
    for (const one of this.#containers) if (one.type === "list") one.blank = false;
  }

  #closeTo(depth: number, growing = false): void {
    if (this.#containers.length <= depth) return;
    this.#endLeaf(growing);
    while (this.#containers.length > depth) {
      const container = this.#containers.pop();
      if (container?.type === "quote") this.#add(container);
      else if (container !== undefined) {
        const { type, ordered, start, items } = container;
        items.push(itemFrom(container));
        this.#add({ type, ordered, start, items });
      }
    }
  }

  #endLeaf(growing = false, closed = false): void {
    const leaf = this.#leaf;
    this.#leaf = none;
    switch (leaf.type) {
      case "none":
        return;
      case "paragraph": {
        const text = growing ? withoutHead(leaf.text, leaf.last) : leaf.text;
        if (!isBlank(text))
          this.#add({ type: "paragraph", inline: this.#inline(text.trimEnd(), growing) });
        return;
      }
      case "definition": {
        const hidden = growing && leaf.definition.state !== "label";
        if (leaf.text !== "" && !hidden) {
          this.#leaf = paragraphOf(leaf.text);
          this.#endLeaf(growing);
        }
        return;
      }
      case "code": {
        const language = asWritten(leaf.fence.language);
        this.#add({ type: "code", language, text: leaf.text, closed });
        return;
      }
      case "math":
        if (closed || growing) this.#add({ type: "math", text: asWritten(leaf.text), closed });
        else this.#add({ type: "paragraph", inline: this.#inline(leaf.source) });
        return;
      case "table":
        this.#add(leaf);
    }
  }

  #inline(text: string, growing = false, row?: number, cell?: number) {
    this.work.characters += text.length;
    const references = this.#references;
    const inline = references.read(text, growing);
    if (references.hasMissed && !this.#isLook) {
      const inTable = row === undefined || cell === undefined ? [] : [row, cell];
      const nth = this.#before + this.blocks.length;
      references.remember(text, [nth, ...placeIn(this.#containers), ...inTable]);
    }
    return inline;
  }

  #add(block: Block): void {
    (this.#containers.at(-1)?.blocks ?? this.blocks).push(block);
  }
}
