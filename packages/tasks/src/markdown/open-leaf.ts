import type { HeadingLevel, Inline, Table } from "./blocks.ts";
import { asWritten } from "./cites.ts";
import { footnoteIn, footnoteKey } from "./footnotes.ts";
import { commentClosing, commentOpening } from "./html-forms.ts";
import { definitionIn, definitionWith, type Definition } from "./definitions.ts";
import {
  closesFence,
  fenceOf,
  headingOf,
  isBlank,
  isRule,
  underlineOf,
  withoutIndent,
  type Fence,
} from "./line-forms.ts";
import type { MadeAnew } from "./made-anew.ts";
import { mathOf } from "./math-lines.ts";
import type { OpenContainers } from "./open-containers.ts";
import type { Place, References } from "./references.ts";
import { cellsOf, isDashLine, sidesOf } from "./table-lines.ts";

/** A longer paragraph goes on in another one: layout and the search for partners are bounded by it. */
const longestParagraph = 8192;
/** A title that goes on and on is none, most likely: words are not held back for it. */
const longestHidden = 200;

type Leaf =
  | { type: "none" }
  /** `last` is where its last line begins. `note`: it is what that footnote says. */
  | { type: "paragraph"; text: string; last: number; note?: string }
  | { type: "comment"; source: string }
  /** `text` is what a paragraph begins with if no more of it comes. */
  | { type: "definition"; definition: Definition; text: string }
  | { type: "code"; fence: Fence; text: string; empty: boolean }
  | { type: "math"; closing: string; source: string; text: string }
  | Table;

const none: Leaf = { type: "none" };

/** The block of text that lines go into, at most one at a time. When it ends it stands in the innermost container. */
export class OpenLeaf {
  #leaf: Leaf = none;
  readonly #references: References;
  readonly #containers: OpenContainers;
  readonly #work: { characters: number };
  /** It is thrown away before any other line comes. */
  #isLook = false;

  constructor(references: References, containers: OpenContainers, work: { characters: number }) {
    this.#references = references;
    this.#containers = containers;
    this.#work = work;
  }

  /** Goes on from here on its own, in a branch of the containers. */
  branch(containers: OpenContainers, isLook: boolean): OpenLeaf {
    const branch = new OpenLeaf(this.#references, containers, this.#work);
    const leaf = this.#leaf;
    branch.#leaf = leaf.type === "table" ? { ...leaf, rows: [...leaf.rows] } : { ...leaf };
    branch.#isLook = isLook;
    return branch;
  }

  get state(): Leaf["type"] | Definition["state"] {
    return this.#leaf.type === "definition" ? this.#leaf.definition.state : this.#leaf.type;
  }

  get isNone(): boolean {
    return this.#leaf.type === "none";
  }

  get isFenced(): boolean {
    return ["code", "math", "comment"].includes(this.#leaf.type);
  }

  /** What may define something is one until it does. */
  get isParagraph(): boolean {
    return this.#leaf.type === "paragraph" || this.#leaf.type === "definition";
  }

  /** A further piece of the line before. */
  goOn(piece: string): void {
    const leaf = this.#leaf;
    if (leaf.type === "paragraph") this.#addToParagraph(leaf, piece, "");
    else if (leaf.type === "code") leaf.text += asWritten(piece);
    else if (leaf.type === "math") this.#addMath(leaf, piece, "");
    else {
      this.end();
      this.#leaf = { type: "paragraph", text: piece, last: 0 };
    }
  }

  /** A line of code or of a formula, whatever it looks like. No formula has a blank line: what began like one was text. */
  readFenced(line: string): boolean {
    const leaf = this.#leaf;
    if (leaf.type === "code") this.#addCode(leaf, line);
    else if (leaf.type === "comment") this.#addComment(leaf, line);
    else if (leaf.type === "math" && !isBlank(line)) this.#addMath(leaf, line.trim(), "\n");
    else return false;
    return true;
  }

  /** `whole`: no further piece of the line comes. */
  read(line: string, whole: boolean): void {
    const fence = fenceOf(line);
    const heading = headingOf(line);
    const math = mathOf(line);
    const level = underlineOf(line);
    if (this.#leaf.type === "definition" && (level !== undefined || isDashLine(line)))
      this.#leaf = asParagraph(this.#leaf);
    const leaf = this.#leaf;
    if (line.trimStart().startsWith(commentOpening)) {
      this.end();
      const comment = { type: "comment", source: "" } as const;
      this.#leaf = comment;
      this.#addComment({ ...comment }, line.trim());
    } else if (fence !== undefined) {
      this.end();
      this.#leaf = { type: "code", fence, text: "", empty: true };
    } else if (heading !== undefined) {
      this.end();
      this.#addHeading(heading.level, heading.text);
    } else if (
      level !== undefined &&
      leaf.type === "paragraph" &&
      leaf.last === 0 &&
      leaf.note === undefined
    ) {
      this.#leaf = none;
      this.#addHeading(level, leaf.text);
    } else if (isRule(line)) {
      this.end();
      this.#containers.add({ type: "rule" });
    } else if (math !== undefined) {
      this.end();
      const { closing, text, closed } = math;
      if (closed) this.#containers.add({ type: "math", text: asWritten(text), closed });
      else this.#leaf = { type: "math", closing, source: line.trim(), text };
    } else if (leaf.type === "table" && line.includes("|")) {
      leaf.rows.push(this.#cells(cellsOf(line, leaf.sides.length), leaf.rows.length + 1));
    } else if (leaf.type !== "table" && footnoteIn(line) !== undefined) this.#begin(line, whole);
    else if (leaf.type === "paragraph") this.#growParagraph(leaf, line);
    else if (leaf.type === "definition") this.#growDefinition(leaf, line, whole);
    else this.#begin(line, whole);
  }

  /** Other text in it. */
  remake(place: Place, inline: Inline[], anew: MadeAnew): void {
    const leaf = this.#leaf;
    if (leaf.type === "table") this.#leaf = anew.table(leaf, place, place.length - 2, inline);
  }

  /** `growing`: for now. `closed`: its closing mark has come. */
  end(growing = false, closed = false): void {
    const leaf = this.#leaf;
    this.#leaf = none;
    switch (leaf.type) {
      case "none":
        return;
      case "paragraph": {
        const text = growing ? withoutHead(leaf.text, leaf.last) : leaf.text;
        if (leaf.note !== undefined)
          this.#containers.add({
            type: "footnote",
            label: leaf.note,
            inline: this.#inline(text.trimEnd(), growing),
          });
        else if (!isBlank(text))
          this.#containers.add({
            type: "paragraph",
            inline: this.#inline(text.trimEnd(), growing),
          });
        return;
      }
      case "definition": {
        const isShort = leaf.text.length < longestHidden;
        const hidden = growing && isShort && leaf.definition.state !== "label";
        if (leaf.text !== "" && !hidden) {
          this.#leaf = paragraphOf(leaf.text);
          this.end(growing);
        }
        return;
      }
      case "code": {
        const language = asWritten(leaf.fence.language);
        this.#containers.add({ type: "code", language, text: leaf.text, closed });
        return;
      }
      case "math":
        if (closed || growing)
          this.#containers.add({ type: "math", text: asWritten(leaf.text), closed });
        else this.#containers.add({ type: "paragraph", inline: this.#inline(leaf.source) });
        return;
      case "comment":
        // One that never ends hides nothing.
        if (!closed && !growing)
          this.#containers.add({ type: "paragraph", inline: this.#inline(leaf.source) });
        return;
      case "table":
        this.#containers.add(leaf);
    }
  }

  #addCode(leaf: Leaf & { type: "code" }, line: string): void {
    if (closesFence(line, leaf.fence)) return this.end(false, true);
    leaf.text += (leaf.empty ? "" : "\n") + asWritten(withoutIndent(line, leaf.fence.indent));
    leaf.empty = false;
  }

  #addMath(leaf: Leaf & { type: "math" }, line: string, between: string): void {
    const closed = line.endsWith(leaf.closing);
    const text = closed ? line.slice(0, -leaf.closing.length).trimEnd() : line;
    leaf.source += between + line;
    leaf.text += text === "" ? "" : (leaf.text === "" ? "" : between) + text;
    if (closed) this.end(false, true);
    else if (leaf.source.length > longestParagraph) this.end();
  }

  /** What stands behind its end is text. */
  #addComment(leaf: Leaf & { type: "comment" }, line: string): void {
    const from = leaf.source === "" ? commentOpening.length : 0;
    const end = line.indexOf(commentClosing, from);
    this.#leaf = { type: "comment", source: leaf.source + (leaf.source === "" ? "" : "\n") + line };
    if (end === -1) {
      if (this.#leaf.source.length > longestParagraph) this.end();
      return;
    }
    this.end(false, true);
    const rest = line.slice(end + commentClosing.length);
    if (!isBlank(rest)) this.read(rest, true);
  }

  #addHeading(level: number, text: string): void {
    this.#containers.add({
      type: "heading",
      level: level as HeadingLevel,
      inline: this.#inline(text.trim()),
    });
  }

  #growParagraph(leaf: Leaf & { type: "paragraph" }, line: string): void {
    if (leaf.note !== undefined || !this.#makeTable(leaf, line))
      this.#addToParagraph(leaf, line, "\n");
  }

  /** The paragraph's last line is the head if this line has its dashes. */
  #makeTable(leaf: Leaf & { type: "paragraph" }, line: string): boolean {
    const head = leaf.text.slice(leaf.last);
    const sides = head.includes("|") ? sidesOf(head, line) : undefined;
    if (sides === undefined) return false;
    leaf.text = leaf.text.slice(0, Math.max(0, leaf.last - 1));
    this.end();
    this.#leaf = { type: "table", head: this.#cells(cellsOf(head), 0), rows: [], sides };
    return true;
  }

  #addToParagraph(leaf: Leaf & { type: "paragraph" }, line: string, between: string): void {
    if (leaf.text.length + line.length > longestParagraph) {
      this.end();
      this.#leaf = { type: "paragraph", text: line, last: 0 };
    } else {
      if (between !== "") leaf.last = leaf.text.length + between.length;
      leaf.text += between + line;
    }
  }

  #growDefinition(
    { definition, text }: Leaf & { type: "definition" },
    line: string,
    whole: boolean,
  ): void {
    const read = text === "" ? line.trimStart() : `${text}\n${line}`;
    const fits = whole && read.length <= longestParagraph;
    const grown = fits ? definitionWith(definition, line) : undefined;
    if (grown !== undefined) this.#define(grown, read);
    else if (text === "") this.#begin(line, whole);
    else {
      const paragraph = paragraphOf(text);
      this.#leaf = paragraph;
      this.#growParagraph(paragraph, line);
    }
  }

  #begin(line: string, whole: boolean): void {
    this.end();
    const text = line.trimStart();
    const note = footnoteIn(text);
    if (note !== undefined) {
      if (whole) this.#references.define(footnoteKey(note.label), "");
      this.#leaf = { type: "paragraph", text: note.text, last: 0, note: note.label };
      return;
    }
    const definition = whole ? definitionIn(text) : undefined;
    if (definition === undefined) this.#leaf = { type: "paragraph", text, last: 0 };
    else this.#define(definition, text);
  }

  /** `text` is what has been read since the last of it that cannot be anything else. */
  #define(definition: Definition, text: string): void {
    const isOne = definition.state === "untitled" || definition.state === "whole";
    if (isOne) this.#references.define(definition.label, definition.url);
    this.#leaf = { type: "definition", definition, text: isOne ? "" : text };
  }

  #cells(cells: readonly string[], row: number): Inline[][] {
    return cells.map((cell, at) => this.#inline(cell, false, row, at));
  }

  #inline(text: string, growing = false, row?: number, cell?: number): Inline[] {
    this.#work.characters += text.length;
    const references = this.#references;
    const inline = references.read(text, growing);
    if (references.hasMissed && !this.#isLook) {
      const inTable = row === undefined || cell === undefined ? [] : [row, cell];
      references.remember(text, [...this.#containers.nextPlace, ...inTable]);
    }
    return inline;
  }
}

function paragraphOf(text: string): Leaf & { type: "paragraph" } {
  return { type: "paragraph", text, last: text.lastIndexOf("\n") + 1 };
}

/** What might define something, as what it is if it does not. */
function asParagraph(leaf: Leaf & { type: "definition" }): Leaf {
  return leaf.text === "" ? leaf : paragraphOf(leaf.text);
}

/** While a text grows, a last line that looks like the head of a table is not shown before the next one tells. */
function withoutHead(text: string, last: number): string {
  return text.slice(last).trimStart().startsWith("|") ? text.slice(0, Math.max(0, last - 1)) : text;
}
