import { withoutMarks } from "@deltawire/tasks/chats";

/*
 * A picture's text does not wrap by itself. Widths are in units of the size of the letters, guessed by their kind: exact
 * enough to fill a card, and the same everywhere.
 */

/** Of megabytes only the beginning is looked at. */
const mostRead = 2000;

/** The beginning of what a model wrote in Markdown, on one line. */
export function firstWordsIn(markdown: string): string {
  return firstWords(withoutMarks(markdown.slice(0, mostRead)));
}

/** The beginning of a text on one line. */
export function firstWords(text: string, most = 200): string {
  return text
    .slice(0, mostRead)
    .trim()
    .replaceAll(/\s+/g, " ")
    .slice(0, most)
    .replace(/[\uD800-\uDBFF]$/, "");
}

/** A text in so many lines at the most, the last with a sign where more follows. */
export function cutLines(text: string, width: number, most: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest !== "" && lines.length < most) {
    const isLast = lines.length === most - 1;
    const whole = fitting(rest, width);
    if (whole === rest.length) return [...lines, rest];
    if (isLast) {
      lines.push(`${rest.slice(0, fitting(rest, width - widthOf("…"))).trimEnd()}…`);
      break;
    }
    const at = breakAt(rest, whole);
    lines.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  return lines;
}

/** How many units of a text fit. */
function fitting(text: string, width: number): number {
  let used = 0;
  let at = 0;
  for (const character of text) {
    used += widthOf(character);
    if (used > width && at > 0) return at;
    at += character.length;
  }
  return at;
}

/** At a blank, or beside a character that is a word of its own; within a word only where there is no other place. */
function breakAt(text: string, end: number): number {
  // What closes a sentence does not begin a line: there is room for it in the margin.
  if (/[。，、；：？！）」』》.,;:!?)]/.test(text[end] ?? "")) return end + 1;
  if (isWide(text.codePointAt(end) ?? 0) || text[end] === " ") return end;
  for (let at = end; at > end / 3; at -= 1)
    if (text[at - 1] === " " || isWide(text.charCodeAt(at - 1))) return at;
  return end;
}

function widthOf(character: string): number {
  if (isWide(character.codePointAt(0) ?? 0)) return 1.02;
  if (/[ilIjtfr.,:;'|!()[\] ]/.test(character)) return 0.36;
  if (/[mwMW@%]/.test(character)) return 0.9;
  if (/[A-Z]/.test(character)) return 0.7;
  return 0.58;
}

function isWide(code: number): boolean {
  return (
    (code >= 0x11_00 && code <= 0x11_5f) ||
    (code >= 0x2e_80 && code <= 0xa4_cf) ||
    (code >= 0xac_00 && code <= 0xd7_a3) ||
    (code >= 0xf9_00 && code <= 0xfa_ff) ||
    (code >= 0xfe_30 && code <= 0xff_60) ||
    code >= 0x1_f3_00
  );
}

/** Whether a text begins in a script that is written from right to left. */
export function isRightToLeft(text: string): boolean {
  const strong = /[\p{L}]/u.exec(text)?.[0] ?? "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(strong);
}
