/** The runs of backticks in a text. Asked for places that only grow, so that each is looked at once. */
export class CodeRuns {
  /** By length, the last first. */
  readonly #places = new Map<number, number[]>();

  constructor(text: string) {
    for (let end = text.lastIndexOf("`"); end !== -1;) {
      let start = end;
      while (text.charAt(start - 1) === "`") start -= 1;
      const length = end - start + 1;
      const places = this.#places.get(length);
      if (places === undefined) this.#places.set(length, [start]);
      else places.push(start);
      end = start === 0 ? -1 : text.lastIndexOf("`", start - 1);
    }
  }

  /** Where the next run of a length begins. */
  next(length: number, from: number): number | undefined {
    const places = this.#places.get(length) ?? [];
    while ((places.at(-1) ?? from) < from) places.pop();
    return places.at(-1);
  }
}
