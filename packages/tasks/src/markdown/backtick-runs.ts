/** The runs of backticks in the text. Positions passed to `findNext` must increase, so that each run is visited once. */
export class BacktickRuns {
  /** Start positions by length of the run, in descending order. */
  readonly #positions = new Map<number, number[]>();

  constructor(text: string) {
    for (let end = text.lastIndexOf("`"); end !== -1;) {
      let start = end;
      while (text.charAt(start - 1) === "`") start -= 1;
      const length = end - start + 1;
      const positions = this.#positions.get(length);
      if (positions === undefined) this.#positions.set(length, [start]);
      else positions.push(start);
      end = start === 0 ? -1 : text.lastIndexOf("`", start - 1);
    }
  }

  /** Returns the position of the next run with this length. */
  findNext(length: number, from: number): number | undefined {
    const positions = this.#positions.get(length) ?? [];
    while ((positions.at(-1) ?? from) < from) positions.pop();
    return positions.at(-1);
  }
}
