import { restoreMarkers } from "./citation-marks.ts";
import { unescapeText } from "./entities.ts";
import { findUnescaped } from "./link-labels.ts";

/** True for URLs that are safe to link: web and mail addresses, and blobs of this server. */
export function isLinkable(url: string): boolean {
  return /^(?:https?:\/\/[^\s/]|mailto:[^\s@]+@|\/api\/blobs\/\w)/i.test(url);
}

/** The destination and title of a link. */
export interface LinkTarget {
  destination: string;
  title?: string;
}

const maxParenthesisDepth = 32;

/** Parses `(destination "title")` at a position. A destination may contain balanced parentheses. */
export function parseInlineTarget(
  text: string,
  from: number,
): { target: LinkTarget; end: number } | undefined {
  if (text.charAt(from) !== "(") return undefined;
  const start = skipWhitespace(text, from + 1);
  const destination = parseDestination(text, start);
  if (destination === undefined) return undefined;
  const titleStart = skipWhitespace(text, destination.end);
  const title = titleStart === destination.end ? undefined : parseTitle(text, titleStart);
  const end = title === undefined ? titleStart : skipWhitespace(text, title.end);
  if (text.charAt(end) !== ")") return undefined;
  return { target: createLinkTarget(destination.source, title?.source), end: end + 1 };
}

export function createLinkTarget(destination: string, title: string | undefined): LinkTarget {
  const target = { destination: unescapeText(restoreMarkers(destination)) };
  return title === undefined ? target : { ...target, title: unescapeText(restoreMarkers(title)) };
}

interface ParsedSource {
  source: string;
  end: number;
}

export function parseDestination(text: string, from: number): ParsedSource | undefined {
  return text.charAt(from) === "<"
    ? parseAngleDestination(text, from + 1)
    : parseBareDestination(text, from);
}

function parseAngleDestination(text: string, from: number): ParsedSource | undefined {
  const position = findUnescaped(text, "<>\n", from);
  return text.charAt(position) === ">"
    ? { source: text.slice(from, position), end: position + 1 }
    : undefined;
}

function parseBareDestination(text: string, from: number): ParsedSource | undefined {
  let depth = 0;
  let position = from;
  for (; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code <= 0x20 || code === 0x7f) break;
    if (code === backslash && escapableCharacter.test(text.charAt(position + 1))) position += 1;
    else if (code === openingParenthesis) depth += 1;
    else if (code === closingParenthesis) depth -= 1;
    if (depth < 0 || depth > maxParenthesisDepth) break;
  }
  return depth > 0 ? undefined : { source: text.slice(from, position), end: position };
}

const [openingParenthesis, closingParenthesis, backslash] = [0x28, 0x29, 0x5c];
const escapableCharacter = /[!-/:-@[-`{-~]/;

function parseTitle(text: string, from: number): ParsedSource | undefined {
  const closingQuote = titleClosings[text.charAt(from)];
  if (closingQuote === undefined) return undefined;
  const end = findUnescaped(text, closingQuote === ")" ? "()" : closingQuote, from + 1);
  return text.charAt(end) === closingQuote
    ? { source: text.slice(from + 1, end), end: end + 1 }
    : undefined;
}

/** Closing quote by opening quote. */
export const titleClosings: Readonly<Record<string, string>> = { '"': '"', "'": "'", "(": ")" };

function skipWhitespace(text: string, from: number): number {
  let position = from;
  while (/[ \t\n]/.test(text.charAt(position))) position += 1;
  return position;
}
