/*
 * How lines begin that are more than text. An indented line is never code: in what models write it mostly belongs to a list
 * item. So each form may stand anywhere.
 */

const tabWidth = 4;

const fence = /^[ \t]*(`{3,}|~{3,})([^]*)$/;
const heading = /^[ \t]*(#{1,6})(?:[ \t]+(.*))?$/;
const item = /^[ \t]*([-*+]|\d{1,9}[.)])(?:([ \t]+)(.*))?$/;
const quote = /^[ \t]*> ?/;
const rule = /^[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const underline = /^[ \t]*(=|-)\1{2,}[ \t]*$/;
const boxToTick = /^\[([ xX])\][ \t]+(?=\S)/;

export interface Fence {
  mark: string;
  indent: number;
  language: string;
}

export function fenceOf(line: string): Fence | undefined {
  const [, mark, info = ""] = fence.exec(line) ?? [];
  if (mark === undefined || (mark.startsWith("`") && info.includes("`"))) return undefined;
  return { mark, indent: indentOf(line), language: /[^\s{},]+/.exec(info)?.[0] ?? "" };
}

export function closesFence(line: string, { mark, indent }: Fence): boolean {
  const found = line.trim();
  const same = found.startsWith(mark) && found === mark.charAt(0).repeat(found.length);
  return same && indentOf(line) < indent + tabWidth;
}

export function headingOf(line: string): { level: number; text: string } | undefined {
  const [, hashes, text = ""] = heading.exec(line) ?? [];
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

/** The level of the heading that the line before becomes. */
export function underlineOf(line: string): 1 | 2 | undefined {
  const mark = underline.exec(line)?.[1];
  return mark === undefined ? undefined : mark === "=" ? 1 : 2;
}

export interface ItemStart {
  ordered: boolean;
  start: number;
  /** Of the mark. */
  own: number;
  /** Of the text behind it. */
  inner: number;
  text: string;
  checked?: boolean;
}

export function itemOf(line: string): ItemStart | undefined {
  const [, mark, gap = " ", text = ""] = item.exec(line) ?? [];
  if (mark === undefined || rule.test(line)) return undefined;
  const ordered = mark.length > 1;
  // The whole answer may be "42."
  if (ordered && text === "") return undefined;
  const own = indentOf(line);
  const inner = own + mark.length + Math.min(widthOf(gap), tabWidth);
  const start = ordered ? Number.parseInt(mark, 10) : 1;
  const [box = "", tick] = boxToTick.exec(text) ?? [];
  return {
    ordered,
    start,
    own,
    inner,
    text: text.slice(box.length),
    ...(tick === undefined ? {} : { checked: tick !== " " }),
  };
}

/** What is quoted; undefined where nothing is. */
export function quotedIn(line: string): string | undefined {
  const mark = quote.exec(line)?.[0];
  return mark === undefined ? undefined : line.slice(mark.length);
}

export function isRule(line: string): boolean {
  return rule.test(line);
}

export function isBlank(line: string): boolean {
  return line.trim() === "";
}

export function indentOf(line: string): number {
  return widthOf(line.slice(0, line.length - line.trimStart().length));
}

function widthOf(blanks: string): number {
  let width = 0;
  for (const one of blanks) width += one === "\t" ? tabWidth : 1;
  return width;
}

/** Without so many columns of blanks at its beginning, or as many as there are. */
export function withoutIndent(line: string, columns: number): string {
  let at = 0;
  let width = 0;
  while (width < columns && (line.charAt(at) === " " || line.charAt(at) === "\t")) {
    width += line.charAt(at) === "\t" ? tabWidth : 1;
    at += 1;
  }
  return " ".repeat(Math.max(0, width - columns)) + line.slice(at);
}
