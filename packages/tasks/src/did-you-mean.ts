/**
 * Returns the candidate that a mistyped word most likely means, or undefined if none is close. Ignores case, `-` and `_`, so
 * `baseUrl` matches `base_url`. If no spelling is close, a part is enough: `url` matches `base_url`.
 */
export function findClosestMatch(word: string, candidates: Iterable<string>): string | undefined {
  const candidateList = [...candidates];
  const normalizedWord = normalizeWord(word);
  let best: string | undefined;
  let maxDistance = Math.max(1, Math.floor(normalizedWord.length / 3)) + 1;
  for (const candidate of candidateList) {
    const other = normalizeWord(candidate);
    if (Math.abs(other.length - normalizedWord.length) >= maxDistance || other === "") continue;
    const distance = editDistance(normalizedWord, other);
    // A distance equal to the length means that no letter is the same.
    if (distance >= maxDistance || distance >= Math.max(normalizedWord.length, other.length))
      continue;
    best = candidate;
    maxDistance = distance;
  }
  if (best !== undefined || normalizedWord.length < 3) return best;
  return candidateList.find((candidate) => isWordOf(normalizedWord, candidate));
}

/** Returns ` (did you mean x?)`, to be appended to a message; "" if no candidate is close. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const match = findClosestMatch(word, candidates);
  return match === undefined ? "" : ` (did you mean ${match}?)`;
}

function isWordOf(word: string, candidate: string): boolean {
  const normalizedCandidate = normalizeWord(candidate);
  const parts = candidate.toLowerCase().split(/[^a-z\d]+/);
  return (
    normalizedCandidate.startsWith(word) ||
    normalizedCandidate.endsWith(word) ||
    parts.includes(word)
  );
}

function normalizeWord(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, "");
}

/** Damerau–Levenshtein distance: the number of letters to insert, delete, replace or swap with their neighbor. */
function editDistance(from: string, to: string): number {
  let secondLastRow: number[] = [];
  let lastRow = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const currentRow = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      let cost = Math.min(
        costAt(lastRow, column) + 1,
        costAt(currentRow, column - 1) + 1,
        costAt(lastRow, column - 1) + (isSame ? 0 : 1),
      );
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && isSwap)
        cost = Math.min(cost, costAt(secondLastRow, column - 2) + 1);
      currentRow.push(cost);
    }
    secondLastRow = lastRow;
    lastRow = currentRow;
  }
  return costAt(lastRow, to.length);
}

function costAt(costs: readonly number[], column: number): number {
  return costs[column] ?? Number.POSITIVE_INFINITY;
}
