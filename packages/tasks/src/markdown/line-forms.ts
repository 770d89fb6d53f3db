const tabWidth = 4;
const space = 0x20;
const tab = 0x09;

/** A line, or what is left of it within its containers. A tab goes to the next fourth column of the whole line. */
export class Line {
  readonly text: string;
  readonly #column: number;
  /** The columns of the blanks that it begins with. */
  readonly indent: number;
  /** The text behind these. */
  readonly content: string;

  constructor(text: string, column = 0) {
    let at = 0;
    let width = column;
    for (; ; at += 1) {
      const code = text.charCodeAt(at);
      if (code === space) width += 1;
      else if (code === tab) width += tabWidth - (width % tabWidth);
      else break;
    }
    this.text = text;
    this.#column = column;
    this.indent = width - column;
    this.content = at === 0 ? text : text.slice(at);
  }

  get isBlank(): boolean {
    return isBlank(this.content);
  }

  /** So far in that it is code, unless it continues a paragraph. */
  get isIndented(): boolean {
    return this.indent >= tabWidth;
  }

  /** Without so many columns of blanks at its beginning, or as many as there are. */
  without(columns: number): Line {
    const most = this.#column + Math.min(columns, this.indent);
    let at = 0;
    let column = this.#column;
    while (column < most) {
      column += this.text.charCodeAt(at) === tab ? tabWidth - (column % tabWidth) : 1;
      at += 1;
    }
    return at === 0 ? this : new Line(" ".repeat(column - most) + this.text.slice(at), most);
  }

  /** What stands behind so many characters of the content. */
  behind(characters: number): Line {
    return new Line(this.content.slice(characters), this.#column + this.indent + characters);
  }
}

/** Columns from which a line is code. */
export const codeIndent = tabWidth;

const fence = /^(`{3,}|~{3,})([^]*)$/;
const heading = /^(#{1,6})(?:[ \t]+(.*))?$/;
const item = /^(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]|$)/;
const rule = /^([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const underline = /^(?:=+|-+)[ \t]*$/;
const boxToTick = /^\[([ xX])\][ \t]+(?=\S)/;

export interface Fence {
  mark: string;
  indent: number;
  /** What stands behind the mark. */
  info: string;
}

export function fenceOf({ content, indent }: Line): Fence | undefined {
  const [, mark, info = ""] = fence.exec(content) ?? [];
  if (mark === undefined || (mark.startsWith("`") && info.includes("`"))) return undefined;
  return { mark, indent, info: info.trim() };
}

export function closesFence({ content, isIndented }: Line, { mark }: Fence): boolean {
  if (isIndented || !content.startsWith(mark)) return false;
  const found = content.trimEnd();
  return found === mark.charAt(0).repeat(found.length);
}

export function headingOf({ content }: Line): { level: number; text: string } | undefined {
  const [, hashes, text = ""] = heading.exec(content) ?? [];
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

/** The level of the heading that the lines before become. */
export function underlineOf({ content }: Line): 1 | 2 | undefined {
  if (!underline.test(content)) return undefined;
  return content.startsWith("=") ? 1 : 2;
}

export interface ItemStart {
  ordered: boolean;
  /** The bullet, or what stands behind the number: other ones begin another list. */
  delimiter: string;
  start: number;
  /** The columns before its mark. */
  own: number;
  /** The columns before its text: lines that stand so far in belong to it. */
  inner: number;
  rest: Line;
  checked?: boolean;
}

export function itemOf(line: Line): ItemStart | undefined {
  if (line.isIndented) return undefined;
  const mark = item.exec(line.content)?.[0];
  if (mark === undefined || rule.test(line.content)) return undefined;
  const behind = line.behind(mark.length);
  // Further in begins code.
  const gap = behind.isBlank || behind.indent > tabWidth ? 1 : behind.indent;
  const text = behind.without(gap);
  const [box = "", tick] = boxToTick.exec(text.text) ?? [];
  return {
    ordered: mark.length > 1,
    delimiter: mark.slice(-1),
    start: mark.length > 1 ? Number.parseInt(mark, 10) : 1,
    own: line.indent,
    inner: line.indent + mark.length + gap,
    rest: tick === undefined ? text : text.behind(box.length),
    ...(tick === undefined ? {} : { checked: tick !== " " }),
  };
}

/** What is quoted; undefined where nothing is. */
export function quotedIn(line: Line): Line | undefined {
  if (line.isIndented || !line.content.startsWith(">")) return undefined;
  return line.behind(1).without(1);
}

export function isRule({ content }: Line): boolean {
  return rule.test(content);
}

export function isBlank(text: string): boolean {
  return text === "" || text.trim() === "";
}

/** A formula on lines of its own, between `$$` and `$$` or between `\[` and `\]`. */
type MathStart = { closing: string; text: string; closed: boolean };

export function mathOf(line: string): MathStart | undefined {
  const closing = closings[line.slice(0, 2)];
  if (closing === undefined) return undefined;
  const text = line.slice(2).trimEnd();
  const end = text.indexOf(closing);
  // `\[` is also an escaped bracket.
  if (end === -1 && closing === "\\]" && text.trim() !== "" && !signs.test(text)) return undefined;
  if (end === -1) return { closing, text: text.trim(), closed: false };
  const whole = end === text.length - 2 && end > 0;
  const formula = text.slice(0, end).trim();
  // `\[1\]` is how some write brackets.
  if (!whole || formula === "" || (closing === "\\]" && numbers.test(formula))) return undefined;
  return { closing, text: formula, closed: true };
}

const closings: Readonly<Record<string, string>> = { $$: "$$", "\\[": "\\]" };

const signs = /[\\^_=+<>{}]/;
const numbers = /^[\d\s,;-]*$/;
