/** A long text in pieces: all but the last stay the same strings while it grows. */
export interface TextPieces {
  readonly text: string;
  readonly pieces: readonly string[];
}

const pieceLines = 40;
const pieceLength = 4000;

export function textPieces(text: string, before?: TextPieces): TextPieces {
  if (before?.text === text) return before;
  const kept =
    before !== undefined && text.startsWith(before.text) ? before.pieces.slice(0, -1) : [];
  const pieces = [...kept];
  let from = kept.reduce((length, piece) => length + piece.length, 0);
  for (let end = pieceEnd(text, from); end < text.length; end = pieceEnd(text, from)) {
    pieces.push(text.slice(from, end));
    from = end;
  }
  pieces.push(text.slice(from));
  return { text, pieces };
}

/** Of a text that grows: each call knows what the one before it has cut. */
export function growingPieces(): (text: string) => TextPieces {
  let last: TextPieces | undefined;
  return (text) => {
    last = textPieces(text, last);
    return last;
  };
}

/** Behind a line where there is one; never within a character. */
function pieceEnd(text: string, from: number): number {
  let end = from;
  for (let line = 0; line < pieceLines; line += 1) {
    const next = text.indexOf("\n", end);
    if (next === -1 || next - from >= pieceLength) break;
    end = next + 1;
    if (line === pieceLines - 1) return end;
  }
  if (text.length - from <= pieceLength) return text.length;
  if (end > from) return end;
  const cut = from + pieceLength;
  const isWithin = /[\uD800-\uDBFF]/.test(text.charAt(cut - 1));
  return isWithin ? cut - 1 : cut;
}

interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

/** A text cut where marks begin and end. Marks that overlap are one; what lies outside of the text is no mark. */
export function markedPieces(
  text: string,
  marks: readonly (readonly [start: number, end: number])[],
): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const [start, end] of marks.toSorted(([one], [other]) => one - other)) {
    const from = Math.max(start, at);
    const to = Math.min(end, text.length);
    if (to <= from) continue;
    if (from > at) pieces.push({ text: text.slice(at, from), marked: false });
    const last = pieces.at(-1);
    if (last?.marked === true)
      pieces[pieces.length - 1] = { text: last.text + text.slice(from, to), marked: true };
    else pieces.push({ text: text.slice(from, to), marked: true });
    at = to;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), marked: false });
  return pieces;
}
