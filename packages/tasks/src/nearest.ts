/**
 * The candidate that a mistyped word most likely means, or undefined where none is near. Case, `-` and `_` do not count:
 * `baseUrl` is `base_url`. Where no spelling is near, a part will do: `url` is `base_url`.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const all = [...candidates];
  const typed = plain(word);
  let best: string | undefined;
  let least = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const candidate of all) {
    const other = plain(candidate);
    if (Math.abs(other.length - typed.length) >= least || other === "") continue;
    const distance = editDistance(typed, other);
    // As far as it is long means that no letter is the same.
    if (distance >= least || distance >= Math.max(typed.length, other.length)) continue;
    best = candidate;
    least = distance;
  }
  if (best !== undefined || typed.length < 3) return best;
  return all.find((candidate) => isPart(typed, candidate));
}

/** The question that ends a message, with its space, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates);
  return found === undefined ? "" : ` did you mean ${found}?`;
}

function isPart(word: string, candidate: string): boolean {
  const whole = plain(candidate);
  const parts = candidate.toLowerCase().split(/[^a-z\d]+/);
  return whole.startsWith(word) || whole.endsWith(word) || parts.includes(word);
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, "");
}

/** How many letters must be added, removed, changed or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(costs: readonly number[], column: number): number {
  return costs[column] ?? Number.POSITIVE_INFINITY;
}
