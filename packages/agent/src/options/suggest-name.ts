/**
 * Returns the known name that `word` is most likely a typo of, or undefined if it is too different. Ignores case, `-` and `_`:
 * `topP` suggests `top_p`. Apart from that, names of fewer than 6 letters must match exactly: `top_k` is not a typo of
 * `top_p`.
 */
export function suggestName(word: string, candidates: Iterable<string>): string | undefined {
  const normalized = normalizeName(word);
  const maxDistance = normalized.length < 6 ? 0 : normalized.length < 9 ? 1 : 2;
  let suggestion: string | undefined;
  let smallestDistance = maxDistance + 1;
  for (const name of candidates) {
    const other = normalizeName(name);
    if (Math.abs(other.length - normalized.length) >= smallestDistance) continue;
    const distance = editDistance(normalized, other);
    if (distance >= smallestDistance) continue;
    suggestion = name;
    smallestDistance = distance;
  }
  return suggestion;
}

function normalizeName(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, "");
}

/** Returns the number of characters to add, remove or change (Levenshtein distance). */
function editDistance(word: string, candidate: string): number {
  let previousRow = Array.from({ length: candidate.length + 1 }, (_, column) => column);
  for (let row = 0; row < word.length; row += 1) {
    const currentRow = [row + 1];
    for (let column = 0; column < candidate.length; column += 1) {
      const [left = 0, above = 0, diagonal = 0] = [
        currentRow[column],
        previousRow[column + 1],
        previousRow[column],
      ];
      const substitutionCost = word[row] === candidate[column] ? 0 : 1;
      currentRow.push(Math.min(left + 1, above + 1, diagonal + substitutionCost));
    }
    previousRow = currentRow;
  }
  return previousRow.at(-1) ?? 0;
}
