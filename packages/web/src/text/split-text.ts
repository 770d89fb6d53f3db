/** Long text split into pieces. As text is appended, all pieces but the last stay the same. */
export interface TextPieces {
  readonly text: string;
  readonly pieces: readonly string[];
}

const maxPieceLines = 40;
const maxPieceLength = 4000;

/** Reuses the pieces of `previous` if `text` starts with the previous text. */
export function splitText(text: string, previous?: TextPieces): TextPieces {
  if (previous?.text === text) return previous;
  const reusedPieces =
    previous !== undefined && text.startsWith(previous.text) ? previous.pieces.slice(0, -1) : [];
  const pieces = [...reusedPieces];
  let start = reusedPieces.reduce((length, piece) => length + piece.length, 0);
  for (let end = findPieceEnd(text, start); end < text.length; end = findPieceEnd(text, start)) {
    pieces.push(text.slice(start, end));
    start = end;
  }
  pieces.push(text.slice(start));
  return { text, pieces };
}

/** Returns a function that splits growing text and reuses the pieces of the previous call. */
export function createStreamingSplitter(): (text: string) => TextPieces {
  let previous: TextPieces | undefined;
  return (text) => {
    previous = splitText(text, previous);
    return previous;
  };
}

/** Returns the end of the piece that starts at `start`: after a line if possible, and never inside a surrogate pair. */
function findPieceEnd(text: string, start: number): number {
  let end = start;
  for (let line = 0; line < maxPieceLines; line += 1) {
    const lineBreak = text.indexOf("\n", end);
    if (lineBreak === -1 || lineBreak - start >= maxPieceLength) break;
    end = lineBreak + 1;
    if (line === maxPieceLines - 1) return end;
  }
  if (text.length - start <= maxPieceLength) return text.length;
  if (end > start) return end;
  const cutOffset = start + maxPieceLength;
  const splitsPair = /[\uD800-\uDBFF]/.test(text.charAt(cutOffset - 1));
  return splitsPair ? cutOffset - 1 : cutOffset;
}

interface TextSegment {
  readonly text: string;
  readonly isMarked: boolean;
}

/** Splits text at the edges of the marks. Overlapping marks are merged; parts outside the text are ignored. */
export function splitByMarks(
  text: string,
  marks: readonly (readonly [start: number, end: number])[],
): TextSegment[] {
  const segments: TextSegment[] = [];
  let position = 0;
  for (const [start, end] of marks.toSorted(([a], [b]) => a - b)) {
    const segmentStart = Math.max(start, position);
    const segmentEnd = Math.min(end, text.length);
    if (segmentEnd <= segmentStart) continue;
    if (segmentStart > position)
      segments.push({ text: text.slice(position, segmentStart), isMarked: false });
    const last = segments.at(-1);
    if (last?.isMarked === true)
      segments[segments.length - 1] = {
        text: last.text + text.slice(segmentStart, segmentEnd),
        isMarked: true,
      };
    else segments.push({ text: text.slice(segmentStart, segmentEnd), isMarked: true });
    position = segmentEnd;
  }
  if (position < text.length) segments.push({ text: text.slice(position), isMarked: false });
  return segments;
}
