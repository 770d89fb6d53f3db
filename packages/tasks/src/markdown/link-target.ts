import { asWritten } from "./cites.ts";
import { unescapedText } from "./entities.ts";
import { unescaped } from "./labels.ts";

/** What may be linked to: nothing that a browser would run, and no place that only the writer's machine has. */
export function isLinkable(url: string): boolean {
  return /^(?:https?:\/\/[^\s/]|mailto:[^\s@]+@|\/api\/blobs\/\w)/i.test(url);
}

/** Where a link leads, and what it says there. */
export interface Target {
  destination: string;
  title?: string;
}

const deepest = 32;

/** `(destination "title")` at a place, and where it ends. Brackets may stand in a destination, in pairs. */
export function linkTarget(
  text: string,
  from: number,
): { target: Target; end: number } | undefined {
  if (text.charAt(from) !== "(") return undefined;
  const start = behindBlanks(text, from + 1);
  const found = destinationAt(text, start);
  if (found === undefined) return undefined;
  const behind = behindBlanks(text, found.end);
  const title = behind === found.end ? undefined : titleAt(text, behind);
  const end = title === undefined ? behind : behindBlanks(text, title.end);
  if (text.charAt(end) !== ")") return undefined;
  return { target: targetOf(found.written, title?.written), end: end + 1 };
}

export function targetOf(destination: string, title: string | undefined): Target {
  const target = { destination: unescapedText(asWritten(destination)) };
  return title === undefined ? target : { ...target, title: unescapedText(asWritten(title)) };
}

interface Written {
  written: string;
  end: number;
}

export function destinationAt(text: string, from: number): Written | undefined {
  return text.charAt(from) === "<" ? inAngles(text, from + 1) : upToBlankOrBracket(text, from);
}

function inAngles(text: string, from: number): Written | undefined {
  const at = unescaped(text, "<>\n", from);
  return text.charAt(at) === ">" ? { written: text.slice(from, at), end: at + 1 } : undefined;
}

function upToBlankOrBracket(text: string, from: number): Written | undefined {
  let depth = 0;
  let at = from;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === 0x7f) break;
    if (code === backslash && escapable.test(text.charAt(at + 1))) at += 1;
    else if (code === opening) depth += 1;
    else if (code === closing) depth -= 1;
    if (depth < 0 || depth > deepest) break;
  }
  return depth > 0 ? undefined : { written: text.slice(from, at), end: at };
}

const [opening, closing, backslash] = [0x28, 0x29, 0x5c];
const escapable = /[!-/:-@[-`{-~]/;

function titleAt(text: string, from: number): Written | undefined {
  const last = titleEnds[text.charAt(from)];
  if (last === undefined) return undefined;
  const end = unescaped(text, last === ")" ? "()" : last, from + 1);
  return text.charAt(end) === last
    ? { written: text.slice(from + 1, end), end: end + 1 }
    : undefined;
}

/** By what a title begins with. */
export const titleEnds: Readonly<Record<string, string>> = { '"': '"', "'": "'", "(": ")" };

function behindBlanks(text: string, from: number): number {
  let at = from;
  while (/[ \t\n]/.test(text.charAt(at))) at += 1;
  return at;
}
