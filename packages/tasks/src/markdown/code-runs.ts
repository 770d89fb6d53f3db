/** The runs of backticks in a text. Asked for places that only grow, so that each is looked at once. */
export class CodeRuns {
  /** By length, the last first. */
  readonly #places = new Map<number, number[]>();

  constructor(text: string) {
    for (const { 0: run, index } of [...text.matchAll(/`+/g)].toReversed()) {
      const places = this.#places.get(run.length);
      if (places === undefined) this.#places.set(run.length, [index]);
      else places.push(index);
    }
  }

  /** Where the next run of a length begins. */
  next(length: number, from: number): number | undefined {
    const places = this.#places.get(length) ?? [];
    while ((places.at(-1) ?? from) < from) places.pop();
    return places.at(-1);
  }
}
