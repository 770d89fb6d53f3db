/** A longer line is read in pieces, so that what has been read of it need not be read again when more comes. */
const longest = 4096;
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
  const window = text.slice(from, from + longest + 1);
  const end = window.indexOf("\n");
  if (end !== -1)
    return { text: withoutReturn(window.slice(0, end)), next: from + end + 1, ended: true };
  if (window.length <= longest) return undefined;
  const cut = cutOf(window);
  return { text: window.slice(0, cut), next: from + cut, ended: false };
}

export function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** Behind a blank; else anywhere but within a character or a cite. */
function cutOf(window: string): number {
  const blank = window.lastIndexOf(" ", longest - 1);
  if (blank >= longest - reach) return blank + 1;
  const cite = Math.max(
    window.lastIndexOf("\u{FDD0}", longest),
    window.lastIndexOf("\u{FDD1}", longest),
  );
  if (cite > longest - 12 && window.indexOf("\u{FDD2}", cite) === -1) return cite;
  const code = window.charCodeAt(longest - 1);
  return code >= 0xd800 && code <= 0xdbff ? longest - 1 : longest;
}
