const tabWidth = 4;
const space = 0x20;
const tab = 0x09;

/** A line, or the rest of it inside its containers. Tab stops are 4 columns, counted from the start of the complete line. */
export class MarkdownLine {
  readonly text: string;
  readonly #column: number;
  /** Width of the leading whitespace, in columns. */
  readonly indent: number;
  /** The text after the leading whitespace. */
  readonly content: string;

  constructor(text: string, column = 0) {
    let index = 0;
    let width = column;
    for (; ; index += 1) {
      const code = text.charCodeAt(index);
      if (code === space) width += 1;
      else if (code === tab) width += tabWidth - (width % tabWidth);
      else break;
    }
    this.text = text;
    this.#column = column;
    this.indent = width - column;
    this.content = index === 0 ? text : text.slice(index);
  }

  get isBlank(): boolean {
    return isBlank(this.content);
  }

  /** True if the line is indented like code. Inside a paragraph, such a line is text. */
  get isIndented(): boolean {
    return this.indent >= tabWidth;
  }

  /** Removes at most `columns` columns of leading whitespace. */
  withoutIndent(columns: number): MarkdownLine {
    const targetColumn = this.#column + Math.min(columns, this.indent);
    let index = 0;
    let column = this.#column;
    while (column < targetColumn) {
      column += this.text.charCodeAt(index) === tab ? tabWidth - (column % tabWidth) : 1;
      index += 1;
    }
    return index === 0
      ? this
      : new MarkdownLine(" ".repeat(column - targetColumn) + this.text.slice(index), targetColumn);
  }

  /** Returns the rest of the line after the first `characters` characters of the content. */
  after(characters: number): MarkdownLine {
    return new MarkdownLine(
      this.content.slice(characters),
      this.#column + this.indent + characters,
    );
  }
}

/** Indentation of code, in columns. */
export const codeIndent = tabWidth;

const fencePattern = /^(`{3,}|~{3,})([^]*)$/;
const headingPattern = /^(#{1,6})(?:[ \t]+(.*))?$/;
const itemPattern = /^(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]|$)/;
const rulePattern = /^([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const underlinePattern = /^(?:=+|-+)[ \t]*$/;
const checkboxPattern = /^\[([ xX])\][ \t]+(?=\S)/;

export interface CodeFence {
  marker: string;
  indent: number;
  /** The info string after the fence. */
  info: string;
}

export function parseFence({ content, indent }: MarkdownLine): CodeFence | undefined {
  const [, mark, info = ""] = fencePattern.exec(content) ?? [];
  if (mark === undefined || (mark.startsWith("`") && info.includes("`"))) return undefined;
  return { marker: mark, indent, info: info.trim() };
}

export function closesFence({ content, isIndented }: MarkdownLine, { marker }: CodeFence): boolean {
  if (isIndented || !content.startsWith(marker)) return false;
  const marks = content.trimEnd();
  return marks === marker.charAt(0).repeat(marks.length);
}

export function parseHeading({
  content,
}: MarkdownLine): { level: number; text: string } | undefined {
  const [, hashes, text = ""] = headingPattern.exec(content) ?? [];
  if (hashes === undefined) return undefined;
  return { level: hashes.length, text: withoutClosingHashes(text.trim()) };
}

function withoutClosingHashes(text: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === "#") end -= 1;
  if (end === 0) return "";
  return end < text.length && /[ \t]/.test(text.charAt(end - 1))
    ? text.slice(0, end).trimEnd()
    : text;
}

/** Returns the level of the heading that the preceding lines become. */
export function parseSetextUnderline({ content }: MarkdownLine): 1 | 2 | undefined {
  if (!underlinePattern.test(content)) return undefined;
  return content.startsWith("=") ? 1 : 2;
}

export interface ListItemStart {
  ordered: boolean;
  /** The bullet, or the character after the number. Another delimiter starts another list. */
  delimiter: string;
  start: number;
  /** Indentation of the marker, in columns. */
  markerIndent: number;
  /** Indentation of the text, in columns: lines with this indentation belong to the item. */
  contentIndent: number;
  rest: MarkdownLine;
  checked?: boolean;
}

export function parseListItemStart(line: MarkdownLine): ListItemStart | undefined {
  if (line.isIndented) return undefined;
  const mark = itemPattern.exec(line.content)?.[0];
  if (mark === undefined || rulePattern.test(line.content)) return undefined;
  const afterMarker = line.after(mark.length);
  // A larger gap is indented code.
  const gap = afterMarker.isBlank || afterMarker.indent > tabWidth ? 1 : afterMarker.indent;
  const text = afterMarker.withoutIndent(gap);
  const [box = "", tick] = checkboxPattern.exec(text.text) ?? [];
  return {
    ordered: mark.length > 1,
    delimiter: mark.slice(-1),
    start: mark.length > 1 ? Number.parseInt(mark, 10) : 1,
    markerIndent: line.indent,
    contentIndent: line.indent + mark.length + gap,
    rest: tick === undefined ? text : text.after(box.length),
    ...(tick === undefined ? {} : { checked: tick !== " " }),
  };
}

/** Returns the quoted part of a line. Undefined if it is not a quote. */
export function parseQuote(line: MarkdownLine): MarkdownLine | undefined {
  if (line.isIndented || !line.content.startsWith(">")) return undefined;
  return line.after(1).withoutIndent(1);
}

export function isThematicBreak({ content }: MarkdownLine): boolean {
  return rulePattern.test(content);
}

export function isBlank(text: string): boolean {
  return text === "" || text.trim() === "";
}

/** The first line of a display formula between `$$` and `$$`, or `\[` and `\]`. */
type MathStart = { closing: string; text: string; closed: boolean };

export function parseMathStart(line: string): MathStart | undefined {
  const closing = mathClosings[line.slice(0, 2)];
  if (closing === undefined) return undefined;
  const text = line.slice(2).trimEnd();
  const end = text.indexOf(closing);
  // `\[` is also an escaped bracket.
  if (end === -1 && closing === "\\]" && text.trim() !== "" && !formulaSigns.test(text))
    return undefined;
  if (end === -1) return { closing, text: text.trim(), closed: false };
  const isWholeLine = end === text.length - 2 && end > 0;
  const formula = text.slice(0, end).trim();
  // `\[1\]` is an escaped bracket.
  if (!isWholeLine || formula === "" || (closing === "\\]" && numberListPattern.test(formula)))
    return undefined;
  return { closing, text: formula, closed: true };
}

const mathClosings: Readonly<Record<string, string>> = { $$: "$$", "\\[": "\\]" };

const formulaSigns = /[\\^_=+<>{}]/;
const numberListPattern = /^[\d\s,;-]*$/;
