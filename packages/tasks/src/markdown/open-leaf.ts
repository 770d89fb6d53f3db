import type { HeadingLevel, MarkdownInline } from "./ast.ts";
import { restoreMarkers } from "./citation-marks.ts";
import { parseFootnoteDefinition, footnoteKey } from "./footnotes.ts";
import { commentClosing, commentOpening, findHtmlBlockEnd, type HtmlEnd } from "./html-patterns.ts";
import {
  toLinkTarget,
  startDefinition,
  continueDefinition,
  type LinkDefinition,
} from "./link-definitions.ts";
import { unescapeText } from "./entities.ts";
import {
  closesFence,
  codeIndent,
  parseFence,
  parseHeading,
  isBlank,
  isThematicBreak,
  MarkdownLine,
  parseMathStart,
  parseSetextUnderline,
  type CodeFence,
} from "./block-starts.ts";
import type { BlockReplacer } from "./block-replacer.ts";
import type { OpenContainers } from "./open-containers.ts";
import type { InlinePath, LinkReferences } from "./link-references.ts";
import { isDelimiterRow, OpenTable, parseColumnAligns, type ParseCell } from "./open-table.ts";

/** Longer paragraphs are split, to bound layout and the matching of delimiters. In characters. */
const maxParagraphLength = 8192;
/** A possible definition is hidden up to this length; a longer one is most likely text. */
const maxHiddenLength = 200;

type LeafState =
  | { type: "none" }
  /** `lastLineStart`: index of its last line. `footnoteLabel`: set if it defines a footnote. */
  | { type: "paragraph"; text: string; lastLineStart: number; footnoteLabel?: string }
  | { type: "comment"; source: string }
  /** `text`: the source, which becomes a paragraph if the definition turns out to be invalid. */
  | { type: "definition"; definition: LinkDefinition; text: string; isFirst?: boolean }
  | { type: "code"; fence: CodeFence; text: string; isEmpty: boolean }
  /** `pendingBlankLines`: the blank lines since the last line of code. */
  | { type: "indented"; text: string; pendingBlankLines: string }
  | { type: "html"; text: string; end: HtmlEnd }
  | { type: "math"; closing: string; source: string; text: string }
  | { type: "table"; table: OpenTable };

const noLeaf: LeafState = { type: "none" };

/** The open leaf block, at most one at a time. When it ends, it is added to the innermost container. */
export class OpenLeaf {
  #leaf: LeafState = noLeaf;
  readonly #references: LinkReferences;
  readonly #containers: OpenContainers;
  readonly #work: { characters: number };
  /** True for a branch that is discarded before the next line. */
  #isPreview = false;
  readonly #parseCell: ParseCell = (text, row, cell) => this.#parseInline(text, false, row, cell);

  constructor(
    references: LinkReferences,
    containers: OpenContainers,
    work: { characters: number },
  ) {
    this.#references = references;
    this.#containers = containers;
    this.#work = work;
  }

  /** Returns a copy that continues independently, in a branch of the containers. */
  branch(containers: OpenContainers, isPreview: boolean): OpenLeaf {
    const branch = new OpenLeaf(this.#references, containers, this.#work);
    const leaf = this.#leaf;
    branch.#leaf = leaf.type === "table" ? { ...leaf, table: leaf.table.branch() } : { ...leaf };
    branch.#isPreview = isPreview;
    return branch;
  }

  get state(): LeafState["type"] | LinkDefinition["state"] {
    return this.#leaf.type === "definition" ? this.#leaf.definition.state : this.#leaf.type;
  }

  get isEmpty(): boolean {
    return this.#leaf.type === "none";
  }

  /** True if the leaf continues to a closing delimiter. */
  get isFenced(): boolean {
    return ["code", "math", "comment"].includes(this.#leaf.type);
  }

  get paragraph(): { text: string; lastLineStart: number } | undefined {
    return this.#leaf.type === "paragraph" ? this.#leaf : undefined;
  }

  /** True for a paragraph, including a possible definition. */
  get isParagraph(): boolean {
    return this.#leaf.type === "paragraph" || this.#leaf.type === "definition";
  }

  /** Appends another chunk of the previous line. */
  appendChunk(piece: string): void {
    const leaf = this.#leaf;
    if (leaf.type === "paragraph") this.#addToParagraph(leaf, piece, "");
    else if (leaf.type === "code" || leaf.type === "indented") leaf.text += restoreMarkers(piece);
    else if (leaf.type === "html") this.#addHtml(leaf, piece, "");
    else if (leaf.type === "math") this.#addMath(leaf, piece, "");
    else {
      this.end();
      this.#leaf = { type: "paragraph", text: piece, lastLineStart: 0 };
    }
  }

  /** Reads a line of fenced code, HTML, a comment or a formula. Returns false if the line does not belong to it. */
  readFenced(line: MarkdownLine): boolean {
    const leaf = this.#leaf;
    if (leaf.type === "code") this.#addCode(leaf, line);
    else if (leaf.type === "comment") this.#addComment(leaf, line.text);
    else if (leaf.type === "html" && !(leaf.end === "blank line" && line.isBlank))
      this.#addHtml(leaf, line.text, "\n");
    else if (leaf.type === "math" && !line.isBlank) this.#addMath(leaf, line.text.trim(), "\n");
    else return false;
    return true;
  }

  readBlank(line: MarkdownLine): void {
    const leaf = this.#leaf;
    if (leaf.type === "indented")
      leaf.pendingBlankLines += `\n${line.withoutIndent(codeIndent).text}`;
    else this.end();
  }

  /** Reads a line with the indentation of code. Inside a paragraph it is text. */
  readIndented(line: MarkdownLine, isComplete: boolean): void {
    const leaf = this.#leaf;
    if (leaf.type === "indented") {
      leaf.text += `${leaf.pendingBlankLines}\n${restoreMarkers(line.withoutIndent(codeIndent).text)}`;
      leaf.pendingBlankLines = "";
    } else if (leaf.type === "paragraph") this.#addToParagraph(leaf, line.content, "\n");
    else if (leaf.type === "definition") this.#continueDefinition(leaf, line.content, isComplete);
    else {
      this.end();
      this.#leaf = {
        type: "indented",
        text: restoreMarkers(line.withoutIndent(codeIndent).text),
        pendingBlankLines: "",
      };
    }
  }

  /** True if a line interrupts a paragraph. */
  isInterruptedBy(line: MarkdownLine): boolean {
    const { content } = line;
    return (
      content.startsWith(commentOpening) ||
      parseFence(line) !== undefined ||
      parseHeading(line) !== undefined ||
      findHtmlBlockEnd(content, true) !== undefined ||
      isThematicBreak(line) ||
      parseMathStart(content) !== undefined ||
      parseFootnoteDefinition(content) !== undefined
    );
  }

  /** `isComplete`: the last chunk of the line. */
  read(line: MarkdownLine, isComplete: boolean): void {
    const { content } = line;
    if (!blockStartPattern.test(content)) return this.#readText(content, isComplete);
    const fence = parseFence(line);
    const heading = parseHeading(line);
    const math = parseMathStart(content);
    const level = parseSetextUnderline(line);
    if (this.#leaf.type === "definition" && (level !== undefined || isDelimiterRow(content)))
      this.#leaf = toParagraph(this.#leaf);
    const leaf = this.#leaf;
    const html = findHtmlBlockEnd(content, this.isParagraph);
    if (content.startsWith(commentOpening)) {
      this.end();
      const comment = { type: "comment", source: "" } as const;
      this.#leaf = comment;
      this.#addComment({ ...comment }, content.trimEnd());
    } else if (fence !== undefined) {
      this.end();
      this.#leaf = { type: "code", fence, text: "", isEmpty: true };
    } else if (heading !== undefined) {
      this.end();
      this.#addHeading(heading.level, heading.text);
    } else if (html !== undefined) {
      this.end();
      const htmlLeaf = { type: "html", text: "", end: html } as const;
      this.#leaf = htmlLeaf;
      this.#addHtml({ ...htmlLeaf }, line.text, "");
    } else if (
      level !== undefined &&
      leaf.type === "paragraph" &&
      leaf.footnoteLabel === undefined
    ) {
      this.#leaf = noLeaf;
      this.#addHeading(level, leaf.text);
    } else if (isThematicBreak(line)) {
      this.end();
      this.#containers.add({ type: "rule" });
    } else if (math !== undefined) {
      this.end();
      const { closing, text, closed } = math;
      if (closed) this.#containers.add({ type: "math", text: restoreMarkers(text), closed });
      else this.#leaf = { type: "math", closing, source: content.trimEnd(), text };
    } else if (
      parseFootnoteDefinition(content) !== undefined &&
      !(leaf.type === "table" && hasBar(content))
    )
      this.#startParagraph(content, isComplete);
    else this.#readText(content, isComplete);
  }

  /** Reads a line without block syntax. */
  #readText(line: string, isComplete: boolean): void {
    const leaf = this.#leaf;
    if (leaf.type === "paragraph") this.#continueParagraph(leaf, line);
    else if (leaf.type === "definition") this.#continueDefinition(leaf, line, isComplete);
    else if (leaf.type === "table" && (hasBar(line) || startDefinition(line) === undefined))
      leaf.table.addRow(line, this.#parseCell);
    else this.#startParagraph(line, isComplete);
  }

  /** Replaces the inline content of a cell, if the leaf is a table. */
  replaceInline(path: InlinePath, inline: MarkdownInline[], replacer: BlockReplacer): void {
    const leaf = this.#leaf;
    if (leaf.type === "table") leaf.table.replaceInline(path, inline, replacer);
  }

  /** Ends the leaf. `isStreaming`: more text will follow, as in a preview. `isClosed`: its closing delimiter was read. */
  end(isStreaming = false, isClosed = false): void {
    const leaf = this.#leaf;
    this.#leaf = noLeaf;
    switch (leaf.type) {
      case "none":
        return;
      case "paragraph": {
        const text = isStreaming ? withoutTableHead(leaf.text, leaf.lastLineStart) : leaf.text;
        if (leaf.footnoteLabel !== undefined)
          this.#containers.add({
            type: "footnote",
            label: leaf.footnoteLabel,
            inline: this.#parseInline(text.trimEnd(), isStreaming),
          });
        else if (!isBlank(text))
          this.#containers.add({
            type: "paragraph",
            inline: this.#parseInline(text.trimEnd(), isStreaming),
          });
        return;
      }
      case "definition": {
        const isShort = leaf.text.length < maxHiddenLength;
        const isHidden = isStreaming && isShort && leaf.definition.state !== "label";
        if (leaf.text !== "" && !isHidden) {
          this.#leaf = createParagraph(leaf.text);
          this.end(isStreaming);
        }
        return;
      }
      case "code": {
        const language = restoreMarkers(parseLanguage(leaf.fence.info));
        this.#containers.add({ type: "code", language, text: leaf.text, closed: isClosed });
        return;
      }
      case "indented":
        this.#containers.add({ type: "code", language: "", text: leaf.text, closed: !isStreaming });
        return;
      case "html": {
        const text = { type: "text", text: leaf.text, html: true } as const;
        this.#containers.add({ type: "paragraph", inline: [text], html: true });
        return;
      }
      case "math":
        if (isClosed || isStreaming)
          this.#containers.add({ type: "math", text: restoreMarkers(leaf.text), closed: isClosed });
        else this.#containers.add({ type: "paragraph", inline: this.#parseInline(leaf.source) });
        return;
      case "comment":
        // An unclosed comment is shown as text.
        if (!isClosed && !isStreaming)
          this.#containers.add({ type: "paragraph", inline: this.#parseInline(leaf.source) });
        return;
      case "table":
        this.#containers.add(leaf.table.block);
    }
  }

  #addCode(leaf: LeafState & { type: "code" }, line: MarkdownLine): void {
    if (closesFence(line, leaf.fence)) return this.end(false, true);
    leaf.text +=
      (leaf.isEmpty ? "" : "\n") + restoreMarkers(line.withoutIndent(leaf.fence.indent).text);
    leaf.isEmpty = false;
  }

  #addHtml(leaf: LeafState & { type: "html" }, line: string, separator: string): void {
    this.#leaf = { ...leaf, text: leaf.text + separator + restoreMarkers(line) };
    const isLast = leaf.end !== "blank line" && leaf.end.test(line);
    if (isLast || this.#leaf.text.length > maxParagraphLength) this.end();
  }

  #addMath(leaf: LeafState & { type: "math" }, line: string, separator: string): void {
    const isClosed = line.endsWith(leaf.closing);
    const text = isClosed ? line.slice(0, -leaf.closing.length).trimEnd() : line;
    leaf.source += separator + line;
    leaf.text += text === "" ? "" : (leaf.text === "" ? "" : separator) + text;
    if (isClosed) this.end(false, true);
    else if (leaf.source.length > maxParagraphLength) this.end();
  }

  /** Adds a line to a comment. The rest of the line after the comment is read as another line. */
  #addComment(leaf: LeafState & { type: "comment" }, line: string): void {
    const from = leaf.source === "" ? commentOpening.length : 0;
    const end = line.indexOf(commentClosing, from);
    this.#leaf = { type: "comment", source: leaf.source + (leaf.source === "" ? "" : "\n") + line };
    if (end === -1) {
      if (this.#leaf.source.length > maxParagraphLength) this.end();
      return;
    }
    this.end(false, true);
    const rest = line.slice(end + commentClosing.length);
    if (!isBlank(rest)) this.read(new MarkdownLine(rest), true);
  }

  #addHeading(level: number, text: string): void {
    this.#containers.add({
      type: "heading",
      level: level as HeadingLevel,
      inline: this.#parseInline(text.trim()),
    });
  }

  #continueParagraph(leaf: LeafState & { type: "paragraph" }, line: string): void {
    if (leaf.footnoteLabel !== undefined || !this.#tryStartTable(leaf, line))
      this.#addToParagraph(leaf, line, "\n");
  }

  /** Turns the last line of a paragraph into a table head if this line is its delimiter row. */
  #tryStartTable(leaf: LeafState & { type: "paragraph" }, line: string): boolean {
    // Checked first, because slicing a string that has just been appended to would copy it.
    if (!isDelimiterRow(line)) return false;
    const head = leaf.text.slice(leaf.lastLineStart);
    const align = head.includes("|") ? parseColumnAligns(head, line) : undefined;
    if (align === undefined) return false;
    leaf.text = leaf.text.slice(0, Math.max(0, leaf.lastLineStart - 1));
    this.end();
    const table = OpenTable.start({ head, delimiters: line, align }, this.#parseCell);
    this.#leaf = { type: "table", table };
    return true;
  }

  #addToParagraph(leaf: LeafState & { type: "paragraph" }, line: string, separator: string): void {
    if (leaf.text.length + line.length > maxParagraphLength) {
      this.end();
      this.#leaf = { type: "paragraph", text: line, lastLineStart: 0 };
    } else {
      if (separator !== "") leaf.lastLineStart = leaf.text.length + separator.length;
      leaf.text += separator + line;
    }
  }

  #continueDefinition(
    leaf: LeafState & { type: "definition" },
    line: string,
    isComplete: boolean,
  ): void {
    const { definition, text } = leaf;
    const source = text === "" ? line : `${text}\n${line}`;
    const canContinue = isComplete && source.length <= maxParagraphLength;
    const nextDefinition = canContinue ? continueDefinition(definition, line) : undefined;
    if (nextDefinition !== undefined) this.#define(nextDefinition, source, leaf.isFirst);
    else if (text === "") this.#startParagraph(line, isComplete);
    else {
      const paragraph = createParagraph(text);
      this.#leaf = paragraph;
      this.#continueParagraph(paragraph, line);
    }
  }

  #startParagraph(text: string, isComplete: boolean): void {
    this.end();
    const footnote = parseFootnoteDefinition(text);
    if (footnote !== undefined) {
      const { label } = footnote;
      if (isComplete) this.#references.define(footnoteKey(label), { destination: "" });
      this.#leaf = {
        type: "paragraph",
        text: footnote.text,
        lastLineStart: 0,
        footnoteLabel: label,
      };
      return;
    }
    const definition = isComplete ? startDefinition(text) : undefined;
    if (definition === undefined) this.#leaf = { type: "paragraph", text, lastLineStart: 0 };
    else this.#define(definition, text);
  }

  /**
   * `text`: the source after the part that is already a valid definition. `isFirst`: whether this is the first definition of its
   * label; undefined if that is not known yet.
   */
  #define(definition: LinkDefinition, text: string, isFirst?: boolean): void {
    const isDefined = definition.state === "untitled" || definition.state === "complete";
    let isEffective = isFirst;
    if (isDefined) {
      const target = toLinkTarget(definition);
      if (isFirst) this.#references.redefine(definition.label, target);
      else if (isFirst === undefined)
        isEffective = this.#references.define(definition.label, target);
    }
    this.#leaf = {
      type: "definition",
      definition,
      text: isDefined ? "" : text,
      ...(isEffective === undefined ? {} : { isFirst: isEffective }),
    };
  }

  #parseInline(text: string, isStreaming = false, row?: number, cell?: number): MarkdownInline[] {
    this.#work.characters += text.length;
    const references = this.#references;
    const inline = references.parse(text, isStreaming);
    if (references.hasUndefinedLabels && !this.#isPreview) {
      const cellPath = row === undefined || cell === undefined ? [] : [row, cell];
      references.addUse(text, [...this.#containers.nextPath, ...cellPath]);
    }
    return inline;
  }
}

/** Unlike in GFM, a definition without a bar ends a table. */
function hasBar(line: string): boolean {
  return line.includes("|");
}

/** Matches the start of lines that may have block syntax. */
const blockStartPattern = /^[-`~#<=*_$\\:|[\uFDD1]/;

/** Returns the first word of an info string. */
function parseLanguage(info: string): string {
  return unescapeText(/[^\s{},]+/.exec(info)?.[0] ?? "");
}

function createParagraph(text: string): LeafState & { type: "paragraph" } {
  return { type: "paragraph", text, lastLineStart: text.lastIndexOf("\n") + 1 };
}

/** Turns a possible definition back into a paragraph. */
function toParagraph(leaf: LeafState & { type: "definition" }): LeafState {
  return leaf.text === "" ? leaf : createParagraph(leaf.text);
}

/** While streaming, hides a last line that looks like a table head until the next line arrives. */
function withoutTableHead(text: string, lastLineStart: number): string {
  return text.slice(lastLineStart).trimStart().startsWith("|")
    ? text.slice(0, Math.max(0, lastLineStart - 1))
    : text;
}
