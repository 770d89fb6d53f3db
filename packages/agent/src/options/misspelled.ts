/**
 * The known name that a word most likely means, undefined where it may well be a word of its own. Case, `-` and `_` do not
 * count: `topP` is `top_p`. Short names differ by a letter and mean something else: `top_k` is not `top_p`.
 */
export function misspelled(word: string, known: Iterable<string>): string | undefined {
  const typed = plain(word);
  const most = typed.length < 6 ? 0 : typed.length < 9 ? 1 : 2;
  let best: string | undefined;
  let least = most + 1;
  for (const name of known) {
    const other = plain(name);
    if (Math.abs(other.length - typed.length) >= least) continue;
    const distance = lettersBetween(typed, other);
    if (distance >= least) continue;
    best = name;
    least = distance;
  }
  return best;
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, "");
}

/** How many letters must be added, removed or changed. */
function lettersBetween(from: string, to: string): number {
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 0; row < from.length; row += 1) {
    const current = [row + 1];
    for (let column = 0; column < to.length; column += 1) {
      const [left = 0, above = 0, before = 0] = [current[column], last[column + 1], last[column]];
      const changed = from[row] === to[column] ? 0 : 1;
      current.push(Math.min(left + 1, above + 1, before + changed));
    }
    last = current;
  }
  return last.at(-1) ?? 0;
}
