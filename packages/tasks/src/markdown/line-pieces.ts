/** A longer line is read in pieces, so that what has been read of it need not be read again when more comes. */
export const longestPiece = 4096;
/** So far back a blank is looked for. */
const reach = 200;

export interface Piece {
  text: string;
  /** Where the next one begins. */
  next: number;
  /** False: what follows belongs to the same line. */
  ended: boolean;
}

/** The line at a place, or as much of it as is read at once; undefined while its end has not come. */
export function nextPiece(text: string, from: number): Piece | undefined {
  const window = text.slice(from, from + longestPiece + 1);
  const end = window.indexOf("\n");
  if (end !== -1)
    return { text: withoutReturn(window.slice(0, end)), next: from + end + 1, ended: true };
  if (window.length <= longestPiece) return undefined;
  const cut = cutOf(window);
  return { text: window.slice(0, cut), next: from + cut, ended: false };
}

export function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** Behind a blank; else anywhere but within a character or a cite. */
function cutOf(window: string): number {
  const blank = window.lastIndexOf(" ", longestPiece - 1);
  if (blank >= longestPiece - reach) return blank + 1;
  const cite = Math.max(
    window.lastIndexOf("\u{FDD0}", longestPiece),
    window.lastIndexOf("\u{FDD1}", longestPiece),
  );
  const end = window.indexOf("\u{FDD2}", cite);
  if (cite > longestPiece - 12 && (end === -1 || end >= longestPiece)) return cite;
  const code = window.charCodeAt(longestPiece - 1);
  return code >= 0xd800 && code <= 0xdbff ? longestPiece - 1 : longestPiece;
}
