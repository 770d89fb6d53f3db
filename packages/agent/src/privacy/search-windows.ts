/** How much of a text is searched between two steps. */
const windowSize = 512 * 1024;
/** More than any pattern with bounded loops reads before or behind the start of a match: a PEM block has 20,200 characters. */
const context = 32 * 1024;
const matchesPerStep = 1000;

/**
 * Finds the matches of a global expression as `exec` does on the complete text, in steps of bounded time. `take` returns
 * where the search goes on. A lookbehind, a lookahead and a failed attempt may read 32 Ki characters around the start of a
 * match; a match itself may have any length.
 *
 * Expressions are shared: between two steps another search may use the same one, so `lastIndex` is set after each.
 */
export function* searchInWindows(
  expression: RegExp,
  text: string,
  take: (found: RegExpExecArray, index: number) => number,
): Generator<void> {
  let matches = 0;
  for (let at = 0; at < text.length;) {
    const end = windowEnd(text, at);
    const from = Math.max(0, at - context);
    const piece = text.slice(from, end + context);
    const isCut = from + piece.length < text.length;
    expression.lastIndex = at - from;
    for (let found = expression.exec(piece); found !== null; found = expression.exec(piece)) {
      const index = from + found.index;
      if (index >= end) break;
      if (isCut && found.index + found[0].length === piece.length) {
        expression.lastIndex = index;
        found = expression.exec(text) ?? found;
      }
      at = take(found, index);
      matches += 1;
      if (matches % matchesPerStep === 0) yield;
      expression.lastIndex = at - from;
    }
    at = Math.max(at, end);
    yield;
  }
}

/** Not between the two halves of a surrogate pair. */
function windowEnd(text: string, at: number): number {
  const end = Math.min(at + windowSize, text.length);
  return (text.charCodeAt(end) & 0xfc00) === 0xdc00 ? end + 1 : end;
}
