export interface Piece {
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
