import type { HeadingLevel, Inline, Table } from "./blocks.ts";
import { asWritten } from "./cites.ts";
import { footnoteIn, footnoteKey } from "./footnotes.ts";
import { commentClosing, commentOpening, htmlBlockIn, type HtmlEnd } from "./html-forms.ts";
import { definedTarget, definitionIn, definitionWith, type Definition } from "./definitions.ts";
import { unescapedText } from "./entities.ts";
import {
  closesFence,
  codeIndent,
  fenceOf,
  headingOf,
  isBlank,
  isRule,
  Line,
  mathOf,
  underlineOf,
  type Fence,
} from "./line-forms.ts";
import type { MadeAnew } from "./made-anew.ts";
import type { OpenContainers } from "./open-containers.ts";
import type { Place, References } from "./references.ts";
import { cellsOf, isDashLine, sidesOf } from "./table-lines.ts";

/** A longer paragraph goes on in another one: layout and the search for partners are bounded by it. */
const longestParagraph = 8192;
/** A title that goes on and on is none, most likely: words are not held back for it. */
const longestHidden = 200;
const emptyCell: Inline[] = [];

type Leaf =
  | { type: "none" }
  /** `last` is where its last line begins. `note`: it is what that footnote says. */
  | { type: "paragraph"; text: string; last: number; note?: string }
  | { type: "comment"; source: string }
  /** `text` is what a paragraph begins with if no more of it comes. */
  | { type: "definition"; definition: Definition; text: string; isFirst?: boolean }
  | { type: "code"; fence: Fence; text: string; empty: boolean }
  /** `blank` are the blank lines that have come since. */
  | { type: "indented"; text: string; blank: string }
  | { type: "html"; text: string; end: HtmlEnd }
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
  /** How many the open table may still get, one per character: a wide head above short rows would have their product. */
  #emptyCells = 0;

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
    branch.#emptyCells = this.#emptyCells;
    return branch;
  }

  get state(): Leaf["type"] | Definition["state"] {
    return this.#leaf.type === "definition" ? this.#leaf.definition.state : this.#leaf.type;
  }

  get isNone(): boolean {
    return this.#leaf.type === "none";
  }

  /** It goes on to a closing mark. */
  get isFenced(): boolean {
    return ["code", "math", "comment"].includes(this.#leaf.type);
  }

  get paragraph(): { text: string; last: number } | undefined {
    return this.#leaf.type === "paragraph" ? this.#leaf : undefined;
  }

  /** What may define something is one until it does. */
  get isParagraph(): boolean {
    return this.#leaf.type === "paragraph" || this.#leaf.type === "definition";
  }

  /** A further piece of the line before. */
  goOn(piece: string): void {
    const leaf = this.#leaf;
    if (leaf.type === "paragraph") this.#addToParagraph(leaf, piece, "");
    else if (leaf.type === "code" || leaf.type === "indented") leaf.text += asWritten(piece);
    else if (leaf.type === "html") this.#addHtml(leaf, piece, "");
    else if (leaf.type === "math") this.#addMath(leaf, piece, "");
    else {
      this.end();
      this.#leaf = { type: "paragraph", text: piece, last: 0 };
    }
  }

  /** A line of fenced code, of HTML or of a formula, whatever it looks like. A blank line ends some of them. */
  readFenced(line: Line): boolean {
    const leaf = this.#leaf;
    if (leaf.type === "code") this.#addCode(leaf, line);
    else if (leaf.type === "comment") this.#addComment(leaf, line.text);
    else if (leaf.type === "html" && !(leaf.end === "blank line" && line.isBlank))
      this.#addHtml(leaf, line.text, "\n");
    else if (leaf.type === "math" && !line.isBlank) this.#addMath(leaf, line.text.trim(), "\n");
    else return false;
    return true;
  }

  readBlank(line: Line): void {
    const leaf = this.#leaf;
    if (leaf.type === "indented") leaf.blank += `\n${line.without(codeIndent).text}`;
    else this.end();
  }

  /** A line that stands so far in that it is code, unless it continues a paragraph. */
  readIndented(line: Line, whole: boolean): void {
    const leaf = this.#leaf;
    if (leaf.type === "indented") {
      leaf.text += `${leaf.blank}\n${asWritten(line.without(codeIndent).text)}`;
      leaf.blank = "";
    } else if (leaf.type === "paragraph") this.#addToParagraph(leaf, line.content, "\n");
    else if (leaf.type === "definition") this.#growDefinition(leaf, line.content, whole);
    else {
      this.end();
      this.#leaf = {
        type: "indented",
        text: asWritten(line.without(codeIndent).text),
        blank: "",
      };
    }
  }

  /** Whether a line is more than the next one of a paragraph. */
  isInterruptedBy(line: Line): boolean {
    const { content } = line;
    return (
      content.startsWith(commentOpening) ||
      fenceOf(line) !== undefined ||
      headingOf(line) !== undefined ||
      htmlBlockIn(content, true) !== undefined ||
      isRule(line) ||
      mathOf(content) !== undefined ||
      footnoteIn(content) !== undefined
    );
  }

  /** `whole`: no further piece of the line comes. */
  read(line: Line, whole: boolean): void {
    const { content } = line;
    if (!mayBeMore.test(content)) return this.#readWords(content, whole);
    const fence = fenceOf(line);
    const heading = headingOf(line);
    const math = mathOf(content);
    const level = underlineOf(line);
    if (this.#leaf.type === "definition" && (level !== undefined || isDashLine(content)))
      this.#leaf = asParagraph(this.#leaf);
    const leaf = this.#leaf;
    const html = htmlBlockIn(content, this.isParagraph);
    if (content.startsWith(commentOpening)) {
      this.end();
      const comment = { type: "comment", source: "" } as const;
      this.#leaf = comment;
      this.#addComment({ ...comment }, content.trimEnd());
    } else if (fence !== undefined) {
      this.end();
      this.#leaf = { type: "code", fence, text: "", empty: true };
    } else if (heading !== undefined) {
      this.end();
      this.#addHeading(heading.level, heading.text);
    } else if (html !== undefined) {
      this.end();
      const begun = { type: "html", text: "", end: html } as const;
      this.#leaf = begun;
      this.#addHtml({ ...begun }, line.text, "");
    } else if (level !== undefined && leaf.type === "paragraph" && leaf.note === undefined) {
      this.#leaf = none;
      this.#addHeading(level, leaf.text);
    } else if (isRule(line)) {
      this.end();
      this.#containers.add({ type: "rule" });
    } else if (math !== undefined) {
      this.end();
      const { closing, text, closed } = math;
      if (closed) this.#containers.add({ type: "math", text: asWritten(text), closed });
      else this.#leaf = { type: "math", closing, source: content.trimEnd(), text };
    } else if (footnoteIn(content) !== undefined && !(leaf.type === "table" && isRow(content)))
      this.#begin(content, whole);
    else this.#readWords(content, whole);
  }

  /** A line that is nothing but text. */
  #readWords(line: string, whole: boolean): void {
    const leaf = this.#leaf;
    if (leaf.type === "paragraph") this.#growParagraph(leaf, line);
    else if (leaf.type === "definition") this.#growDefinition(leaf, line, whole);
    else if (leaf.type === "table" && (isRow(line) || definitionIn(line) === undefined))
      this.#addRow(leaf, line);
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
        const language = asWritten(languageOf(leaf.fence.info));
        this.#containers.add({ type: "code", language, text: leaf.text, closed });
        return;
      }
      case "indented":
        this.#containers.add({ type: "code", language: "", text: leaf.text, closed: !growing });
        return;
      case "html": {
        const text = { type: "text", text: leaf.text, html: true } as const;
        this.#containers.add({ type: "paragraph", inline: [text], html: true });
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

  #addCode(leaf: Leaf & { type: "code" }, line: Line): void {
    if (closesFence(line, leaf.fence)) return this.end(false, true);
    leaf.text += (leaf.empty ? "" : "\n") + asWritten(line.without(leaf.fence.indent).text);
    leaf.empty = false;
  }

  #addHtml(leaf: Leaf & { type: "html" }, line: string, between: string): void {
    this.#leaf = { ...leaf, text: leaf.text + between + asWritten(line) };
    const isLast = leaf.end !== "blank line" && leaf.end.test(line);
    if (isLast || this.#leaf.text.length > longestParagraph) this.end();
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
    if (!isBlank(rest)) this.read(new Line(rest), true);
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
    // First: to cut a text that has just grown is to copy it.
    if (!isDashLine(line)) return false;
    const head = leaf.text.slice(leaf.last);
    const sides = head.includes("|") ? sidesOf(head, line) : undefined;
    if (sides === undefined) return false;
    leaf.text = leaf.text.slice(0, Math.max(0, leaf.last - 1));
    this.end();
    this.#leaf = { type: "table", head: this.#cells(cellsOf(head), 0), rows: [], sides };
    this.#emptyCells = head.length + line.length;
    return true;
  }

  /** With as many cells as the head: further ones are left out, missing ones are empty. */
  #addRow({ rows, sides }: Table, line: string): void {
    const columns = sides.length;
    const row = this.#cells(cellsOf(line, columns).slice(0, columns), rows.length + 1);
    this.#emptyCells += line.length;
    const missing = Math.min(columns - row.length, this.#emptyCells);
    this.#emptyCells -= missing;
    for (let nth = 0; nth < missing; nth += 1) row.push(emptyCell);
    rows.push(row);
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

  #growDefinition(leaf: Leaf & { type: "definition" }, line: string, whole: boolean): void {
    const { definition, text } = leaf;
    const read = text === "" ? line : `${text}\n${line}`;
    const fits = whole && read.length <= longestParagraph;
    const grown = fits ? definitionWith(definition, line) : undefined;
    if (grown !== undefined) this.#define(grown, read, leaf.isFirst);
    else if (text === "") this.#begin(line, whole);
    else {
      const paragraph = paragraphOf(text);
      this.#leaf = paragraph;
      this.#growParagraph(paragraph, line);
    }
  }

  #begin(text: string, whole: boolean): void {
    this.end();
    const note = footnoteIn(text);
    if (note !== undefined) {
      if (whole) this.#references.define(footnoteKey(note.label), { destination: "" });
      this.#leaf = { type: "paragraph", text: note.text, last: 0, note: note.label };
      return;
    }
    const definition = whole ? definitionIn(text) : undefined;
    if (definition === undefined) this.#leaf = { type: "paragraph", text, last: 0 };
    else this.#define(definition, text);
  }

  /** `text` is what has been read since the last of it that cannot be anything else. `isFirst`: it counts without its title. */
  #define(definition: Definition, text: string, isFirst?: boolean): void {
    const isOne = definition.state === "untitled" || definition.state === "whole";
    let counts = isFirst;
    if (isOne) {
      const target = definedTarget(definition);
      if (isFirst) this.#references.redefine(definition.label, target);
      else if (isFirst === undefined) counts = this.#references.define(definition.label, target);
    }
    const begun = { definition, text: isOne ? "" : text };
    this.#leaf = {
      type: "definition",
      ...begun,
      ...(counts === undefined ? {} : { isFirst: counts }),
    };
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

/** Certainly: without a bar, a definition ends the table, unlike in GFM. */
function isRow(line: string): boolean {
  return line.includes("|");
}

/** Lines that may be more than text begin like this. */
const mayBeMore = /^[-`~#<=*_$\\:|[\uFDD1]/;

/** The first word behind a fence. */
function languageOf(info: string): string {
  return unescapedText(/[^\s{},]+/.exec(info)?.[0] ?? "");
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
