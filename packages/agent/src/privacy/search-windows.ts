/** How many characters are searched in one step. */
const windowSize = 512 * 1024;
/** More than any pattern with bounded quantifiers reads around the start of a match: a PEM block has at most 20,200 characters. */
const contextLength = 32 * 1024;
const matchesPerStep = 1000;

/**
 * Finds the same matches as a global expression on the complete text, but in steps of bounded time. `onMatch` returns
 * the position at which the search continues. A lookbehind, a lookahead and a failed attempt may read 32 Ki characters
 * around the start of a match; a match itself may have any length.
 *
 * Expressions are shared: between two steps another search may use the same one, so `lastIndex` is set again
 * after each step.
 */
export function* searchInWindows(
  expression: RegExp,
  text: string,
  onMatch: (match: RegExpExecArray, index: number) => number,
): Generator<void> {
  let matches = 0;
  for (let position = 0; position < text.length;) {
    const end = findWindowEnd(text, position);
    const pieceStart = Math.max(0, position - contextLength);
    const piece = text.slice(pieceStart, end + contextLength);
    const isTruncated = pieceStart + piece.length < text.length;
    expression.lastIndex = position - pieceStart;
    for (let match = expression.exec(piece); match !== null; match = expression.exec(piece)) {
      const index = pieceStart + match.index;
      if (index >= end) break;
      if (isTruncated && match.index + match[0].length === piece.length) {
        expression.lastIndex = index;
        match = expression.exec(text) ?? match;
      }
      position = onMatch(match, index);
      matches += 1;
      if (matches % matchesPerStep === 0) yield;
      expression.lastIndex = position - pieceStart;
    }
    position = Math.max(position, end);
    yield;
  }
}

/** Returns the end of the window that starts at `start`. Does not split a surrogate pair. */
function findWindowEnd(text: string, start: number): number {
  const end = Math.min(start + windowSize, text.length);
  return (text.charCodeAt(end) & 0xfc00) === 0xdc00 ? end + 1 : end;
}
