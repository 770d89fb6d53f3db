/** Longer lines are parsed in chunks, so that a growing line is not parsed from its start again. */
export const maxLineChunk = 4096;
/** How far back to look for a space to split at. */
const maxLookback = 200;

export interface LineChunk {
  text: string;
  /** Position of the next chunk. */
  next: number;
  /** False if the next chunk continues the same line. */
  isLineEnd: boolean;
}

/** Returns the line at a position, or its first chunk. Undefined for a short line without an end. */
export function nextLineChunk(text: string, from: number): LineChunk | undefined {
  const window = text.slice(from, from + maxLineChunk + 1);
  const end = window.indexOf("\n");
  if (end !== -1)
    return {
      text: stripCarriageReturn(window.slice(0, end)),
      next: from + end + 1,
      isLineEnd: true,
    };
  if (window.length <= maxLineChunk) return undefined;
  const splitIndex = findSplitIndex(window);
  return { text: window.slice(0, splitIndex), next: from + splitIndex, isLineEnd: false };
}

export function stripCarriageReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** Splits after a space if there is one, and never inside a surrogate pair or a citation. */
function findSplitIndex(window: string): number {
  const space = window.lastIndexOf(" ", maxLineChunk - 1);
  if (space >= maxLineChunk - maxLookback) return space + 1;
  const cite = Math.max(
    window.lastIndexOf("\u{FDD0}", maxLineChunk),
    window.lastIndexOf("\u{FDD1}", maxLineChunk),
  );
  const end = window.indexOf("\u{FDD2}", cite);
  if (cite > maxLineChunk - 12 && (end === -1 || end >= maxLineChunk)) return cite;
  const code = window.charCodeAt(maxLineChunk - 1);
  return code >= 0xd800 && code <= 0xdbff ? maxLineChunk - 1 : maxLineChunk;
}
